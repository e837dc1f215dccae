/* CUDA's driver: opens the GPU that is an NVIDIA OpenCL device. */
#include "absent.h"
#include "card.h"

#include <stdio.h>

/* From cl_nv_device_attribute_query: the PCI location of the device. */
#define PCI_BUS    0x4008
#define PCI_SLOT   0x4009
#define PCI_DOMAIN 0x400A

static struct {
    int (*init)(unsigned flags);
    int (*by_bus)(int *device, const char *place);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
} driver;

/* Writes the PCI address, for example "0000:3b:00.0". A slot holds device and function. Returns
 * false if the driver does not report the location. */
static bool place_of(cl_device_id device, char place[32])
{
    cl_uint bus, slot, domain = 0;
    if (clGetDeviceInfo(device, PCI_BUS, sizeof bus, &bus, NULL) != CL_SUCCESS ||
        clGetDeviceInfo(device, PCI_SLOT, sizeof slot, &slot, NULL) != CL_SUCCESS)
        return false;
    (void)clGetDeviceInfo(device, PCI_DOMAIN, sizeof domain, &domain, NULL);
    snprintf(place, 32, "%04x:%02x:%02x.%x", domain, bus, slot >> 3, slot & 7);
    return true;
}

/* Opens the GPU's primary context, which CUDA's libraries use. */
static bool begin(const char *place)
{
    void *context;
    int device;
    const bool begun = driver.init(0) == 0 && driver.by_bus(&device, place) == 0 &&
                       driver.retain(&context, device) == 0 && driver.set_current(context) == 0;
    if (!begun)
        bench_leave_out("cublas and cudnn", "CUDA failed to start on the GPU at %s", place);
    return begun;
}

const bench_card *bench_cuda_open(const bench_session *session)
{
    static bench_card card;
    static bool tried;
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    static const bench_card_function functions[] = {
        {"cuInit", &driver.init},
        {"cuDeviceGetByPCIBusId", &driver.by_bus},
        {"cuDevicePrimaryCtxRetain", &driver.retain},
        {"cuCtxSetCurrent", &driver.set_current},
        {"cuMemAlloc_v2", &card.allocate},
        {"cuMemFree_v2", &card.release},
        {"cuMemcpyHtoD_v2", &card.to_device},
        {"cuMemcpyDtoH_v2", &card.to_host},
        {"cuCtxSynchronize", &card.synchronize},
        {NULL, NULL},
    };
    char place[32];
    if (!tried && !place_of(session->device.device, place))
        (void)bench_note_absent("cublas and cudnn",
                                "the device is not an NVIDIA GPU that reports its PCI address");
    else if (!tried)
        card.ready = bench_card_find("CUDA", names, functions) && begin(place);
    tried = true;
    return card.ready ? &card : NULL;
}
