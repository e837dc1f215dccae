/* HIP: opens the GPU that is an AMD OpenCL device. */
#include "absent.h"
#include "card.h"

#include <stdio.h>
#include <string.h>

/* From cl_amd_device_attribute_query: the PCI location of the device, without its domain. */
#define TOPOLOGY 0x4037
#define PCIE     1

typedef struct topology {
    cl_uint type;
    cl_uchar unused[17], bus, device, function;
} topology;

static struct {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*place)(char *place, int length, int device);
    int (*set)(int device);
} runtime;

/* Writes the part of HIP's "0000:3b:00.0" between domain and function. HIP reports function 0 for
 * all devices. */
static bool place_of(cl_device_id device, char place[16])
{
    topology at;
    if (clGetDeviceInfo(device, TOPOLOGY, sizeof at, &at, NULL) != CL_SUCCESS || at.type != PCIE)
        return false;
    snprintf(place, 16, ":%02x:%02x.", at.bus, at.device);
    return true;
}

/* Opens the only device at the PCI address. With several domains, or a partitioned GPU, several
 * devices match, and the one that is the OpenCL device cannot be identified. */
static bool begin(const char *place)
{
    int count = 0, found = 0, device = 0;
    char name[32];
    if (runtime.init(0) != 0 || runtime.count(&count) != 0)
        count = 0;
    for (int i = 0; i < count; i++)
        if (runtime.place(name, sizeof name, i) == 0 && strstr(name, place) != NULL) {
            device = i;
            found++;
        }
    const bool begun = found == 1 && runtime.set(device) == 0;
    if (!begun)
        bench_leave_out("rocblas", "HIP failed to start on the GPU at %s: %d devices match", place,
                        found);
    return begun;
}

const bench_card *bench_hip_open(const bench_session *session)
{
    static bench_card card;
    static bool tried;
    static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                        "libamdhip64.so.5", NULL};
    static const bench_card_function functions[] = {
        {"hipInit", &runtime.init},
        {"hipGetDeviceCount", &runtime.count},
        {"hipDeviceGetPCIBusId", &runtime.place},
        {"hipSetDevice", &runtime.set},
        {"hipMalloc", &card.allocate},
        {"hipFree", &card.release},
        {"hipMemcpyHtoD", &card.to_device},
        {"hipMemcpyDtoH", &card.to_host},
        {"hipDeviceSynchronize", &card.synchronize},
        {NULL, NULL},
    };
    char place[16];
    if (!tried && !place_of(session->device.device, place))
        (void)bench_note_absent("rocblas",
                                "the device is not an AMD GPU that reports its PCI address");
    else if (!tried)
        card.ready = bench_card_find("HIP", names, functions) && begin(place);
    tried = true;
    return card.ready ? &card : NULL;
}
