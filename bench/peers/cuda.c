/* CUDA's driver: opens the GPU that is an NVIDIA OpenCL device. */
#include "absent.h"
#include "card.h"

#include <stdio.h>

/* From cl_khr_pci_bus_info: domain, bus, device and function. (The slot that
 * cl_nv_device_attribute_query reports is the device alone on one driver, and holds the function
 * too on others.) */
#define PCI_BUS_INFO 0x410F

static struct {
    int (*init)(unsigned flags);
    int (*by_bus)(int *device, const char *place);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
} driver;

/* Writes the PCI address, for example "0000:3b:00.0". Returns false if the driver does not report
 * it. */
static bool place_of(cl_device_id device, char place[32])
{
    cl_uint at[4];
    if (clGetDeviceInfo(device, PCI_BUS_INFO, sizeof at, at, NULL) != CL_SUCCESS)
        return false;
    snprintf(place, 32, "%04x:%02x:%02x.%x", at[0], at[1], at[2], at[3]);
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
