/* A Vulkan layer between a program and the driver, which works until a file appears: then every submission is answered as a driver
 * answers when the GPU is lost, or when it has no memory left. The file, whose name is in BROKEN_GPU, says which by its first byte: `l`
 * for lost, `m` for memory, and `a` for memory that cannot be allocated while all else works.
 *
 * What is declared here is what Vulkan's headers declare, as far as it is used. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define FAILED (-3)
#define NO_MEMORY (-2)
#define LOST (-4)
#define INSTANCE_LINK 47
#define DEVICE_LINK 48

typedef void (*any)(void);
typedef any (*get)(void *, const char *);
typedef int (*create_instance)(const void *, const void *, void **);
typedef int (*create_device)(void *, const void *, const void *, void **);
typedef int (*submit)(void *, unsigned, const void *, void *);
typedef int (*allocate)(void *, const void *, const void *, void *);

/* The next in the chain of layers: how it is found while an instance or a device is made. */
struct link {
    struct link *next;
    get instance, device;
};
struct header {
    int type;
    struct header *next;
    int function;
    struct link *link;
};

static get next_instance, next_device;
static submit next_submit;
static allocate next_allocate;

/* How the GPU is broken: a letter, or nothing. */
static int broken(void) {
    const char *name = getenv("BROKEN_GPU");
    FILE *file = name ? fopen(name, "r") : NULL;
    int how = file ? fgetc(file) : 0;
    if (file)
        fclose(file);
    return how;
}

static struct header *find(const void *info, int type) {
    struct header *one = (struct header *)info;
    while (one && !(one->type == type && one->function == 0))
        one = one->next;
    return one;
}

static int queue_submit(void *queue, unsigned count, const void *what, void *fence) {
    int how = broken();
    return how == 'l' ? LOST : how == 'm' ? NO_MEMORY : next_submit(queue, count, what, fence);
}

static int allocate_memory(void *device, const void *what, const void *how, void *memory) {
    return broken() == 'a' ? NO_MEMORY : next_allocate(device, what, how, memory);
}

static int make_instance(const void *info, const void *how, void **instance) {
    struct header *header = find(((struct header *)info)->next, INSTANCE_LINK);
    if (!header)
        return FAILED;
    next_instance = header->link->instance;
    header->link = header->link->next;
    return ((create_instance)next_instance(NULL, "vkCreateInstance"))(info, how, instance);
}

static int make_device(void *physical, const void *info, const void *how, void **device) {
    struct header *header = find(((struct header *)info)->next, DEVICE_LINK);
    if (!header)
        return FAILED;
    get instance = header->link->instance;
    next_device = header->link->device;
    header->link = header->link->next;
    int outcome = ((create_device)instance(NULL, "vkCreateDevice"))(physical, info, how, device);
    if (outcome == SUCCESS) {
        next_submit = (submit)next_device(*device, "vkQueueSubmit");
        next_allocate = (allocate)next_device(*device, "vkAllocateMemory");
    }
    return outcome;
}

static any device_address(void *device, const char *name);
any broken_gpu_instance_address(void *instance, const char *name);

static any own(const char *name) {
    static const struct {
        const char *name;
        any address;
    } all[] = {
        {"vkGetInstanceProcAddr", (any)broken_gpu_instance_address},
        {"vkGetDeviceProcAddr", (any)device_address},
        {"vkCreateInstance", (any)make_instance},
        {"vkCreateDevice", (any)make_device},
        {"vkQueueSubmit", (any)queue_submit},
        {"vkAllocateMemory", (any)allocate_memory},
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (!strcmp(name, all[k].name))
            return all[k].address;
    return NULL;
}

static any device_address(void *device, const char *name) {
    any found = own(name);
    return found ? found : next_device(device, name);
}

any broken_gpu_instance_address(void *instance, const char *name) {
    any found = own(name);
    return found ? found : next_instance ? next_instance(instance, name) : NULL;
}

/* Where the loader begins. */
struct negotiation {
    int type;
    void *next;
    unsigned version;
    get instance, device, physical;
};

int vkNegotiateLoaderLayerInterfaceVersion(struct negotiation *with) {
    with->version = 2;
    with->instance = broken_gpu_instance_address;
    with->device = device_address;
    with->physical = NULL;
    return SUCCESS;
}
