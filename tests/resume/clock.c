/* Preloaded into a process, makes its clocks leap: some readings of any clock are hours ahead, some hours behind, as when a laptop
 * wakes, a virtual machine is moved or somebody sets the time. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_ulong calls;

int clock_gettime(clockid_t clock, struct timespec *now) {
    int outcome = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME) {
        unsigned long call = atomic_fetch_add(&calls, 1);
        now->tv_sec += (time_t)((call * 2654435761u) % 4) * 7200;
        if (call % 5 == 4)
            now->tv_sec -= 7200;
        if (now->tv_sec < 0)
            now->tv_sec = 0;
    }
    return outcome;
}
