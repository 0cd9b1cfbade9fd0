/* Preloaded into a process, makes its clocks leap: some readings of any clock are hours ahead, some hours behind, as when a laptop
 * wakes, a virtual machine is moved or somebody sets the time. How often they leapt is written to the file named in LEAPS at the end. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong calls, leaps;
static atomic_long before;

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("LEAPS");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (file) {
        fprintf(file, "%lu", (unsigned long)leaps);
        fclose(file);
    }
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int outcome = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME) {
        unsigned long call = atomic_fetch_add(&calls, 1);
        now->tv_sec += (time_t)((call * 2654435761u) % 4) * 7200;
        if (call % 5 == 4)
            now->tv_sec -= 7200;
        if (now->tv_sec < 0)
            now->tv_sec = 0;
        /* A monotonic clock that is hours from where it was at its last reading. */
        if (clock == CLOCK_MONOTONIC) {
            long last = atomic_exchange(&before, now->tv_sec);
            if (last != 0 && labs(now->tv_sec - last) > 3600)
                atomic_fetch_add(&leaps, 1);
        }
    }
    return outcome;
}
