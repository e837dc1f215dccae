/* HIP: the card that an OpenCL device of AMD's is. */
#include "absent.h"
#include "card.h"

#include <stdio.h>
#include <string.h>

/* Of cl_amd_device_attribute_query: where on the bus the device is. The domain is not told. */
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

/* The part of HIP's "0000:3b:00.0" between domain and function: that one HIP gives as 0 for all. */
static bool place_of(cl_device_id device, char place[16])
{
    topology at;
    if (clGetDeviceInfo(device, TOPOLOGY, sizeof at, &at, NULL) != CL_SUCCESS || at.type != PCIE)
        return false;
    snprintf(place, 16, ":%02x:%02x.", at.bus, at.device);
    return true;
}

/* The one device at the place. Several are there where there are several domains, or where a card
 * is divided: which of them the OpenCL device is cannot be said. */
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
        bench_leave_out("rocblas", "HIP does not start on the card at %s: it has %d there", place,
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
        (void)bench_note_absent("rocblas", "the device is no card of AMD's that says where it is");
    else if (!tried)
        card.ready = bench_card_find("HIP", names, functions) && begin(place);
    tried = true;
    return card.ready ? &card : NULL;
}
