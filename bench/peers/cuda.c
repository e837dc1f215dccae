#include "cuda.h"

#include "base/dtype.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of cl_nv_device_attribute_query: where on the bus the device is. */
#define PCI_BUS    0x4008
#define PCI_SLOT   0x4009
#define PCI_DOMAIN 0x400A

typedef struct driver {
    int (*init)(unsigned flags);
    int (*by_bus)(int *device, const char *place);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
} driver;

void *bench_cuda_library(const char *what, const char *const *names)
{
    for (const char *const *name = names; *name != NULL; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
        if (library != NULL)
            return library;
    }
    fprintf(stderr, "tenon-bench: %s is left out: %s\n", what, dlerror());
    return NULL;
}

bool bench_cuda_find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    /* Through memory, since ISO C has no conversion from data to functions. */
    memcpy(function, &found, sizeof found);
    if (found == NULL)
        fprintf(stderr, "tenon-bench: CUDA's libraries lack %s\n", name);
    return found != NULL;
}

/* "0000:3b:00.0", from the device and function that a slot is; false where the device's driver does not know where it is. */
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

static bool find_functions(void *library, driver *d, bench_cuda *cuda)
{
    return bench_cuda_find(library, "cuInit", &d->init) &&
           bench_cuda_find(library, "cuDeviceGetByPCIBusId", &d->by_bus) &&
           bench_cuda_find(library, "cuDevicePrimaryCtxRetain", &d->retain) &&
           bench_cuda_find(library, "cuCtxSetCurrent", &d->set_current) &&
           bench_cuda_find(library, "cuMemAlloc_v2", &cuda->allocate) &&
           bench_cuda_find(library, "cuMemFree_v2", &cuda->release) &&
           bench_cuda_find(library, "cuMemcpyHtoD_v2", &cuda->to_device) &&
           bench_cuda_find(library, "cuMemcpyDtoH_v2", &cuda->to_host) &&
           bench_cuda_find(library, "cuCtxSynchronize", &cuda->synchronize);
}

/* The card's primary context, which CUDA's libraries work in. */
static bool begin(const driver *d, const char *place)
{
    void *context;
    int device;
    const bool begun = d->init(0) == 0 && d->by_bus(&device, place) == 0 &&
                       d->retain(&context, device) == 0 && d->set_current(context) == 0;
    if (!begun)
        fprintf(stderr, "tenon-bench: CUDA does not start on the card at %s\n", place);
    return begun;
}

const bench_cuda *bench_cuda_open(const bench_session *session)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    static bench_cuda cuda;
    static bool tried;
    char place[32];
    driver d;
    if (!tried && place_of(session->device.device, place)) {
        void *library = bench_cuda_library("CUDA", names);
        cuda.ready = library != NULL && find_functions(library, &d, &cuda) && begin(&d, place);
    }
    tried = true;
    return cuda.ready ? &cuda : NULL;
}

/* A copy of an operand, as it was uploaded for Tenon. An output's values do not matter, nor a first
 * copy's take a conversion. */
static bool upload(const bench_cuda *cuda, const bench_operand *o, int copy, bench_cuda_address *at)
{
    const size_t size = tenon_dtype_size(o->view.dtype);
    const int64_t count = tenon_tensor_elements(&o->view);
    const size_t bytes = (size_t)count * size;
    if (cuda->allocate(at, bytes + 1) != 0)
        return false;
    if (o->is_output)
        return true;
    if (copy == 0)
        return cuda->to_device(*at, o->host.memory.u.svm, bytes) == 0;
    unsigned char *data = malloc(bytes + 1);
    for (int64_t i = 0; data != NULL && i < count; i++)
        tn_dtype_store(o->view.dtype, data + (size_t)i * size, (double)o->values[copy][i]);
    const bool well = data != NULL && cuda->to_device(*at, data, bytes) == 0;
    free(data);
    return well;
}

bool bench_cuda_copy(const bench_cuda *cuda, const bench_operands *operands,
                     bench_cuda_operands *copied)
{
    copied->from = operands;
    for (int c = 0; c < operands->copies; c++)
        for (uint32_t i = 0; i < operands->count; i++)
            if (operands->operand[i].view.dtype != TENON_DTYPE_INVALID &&
                !upload(cuda, &operands->operand[i], c, &copied->at[c][i])) {
                fprintf(stderr, "tenon-bench: CUDA has no memory for the operands\n");
                return false;
            }
    return true;
}

void bench_cuda_free(const bench_cuda *cuda, bench_cuda_operands *copied)
{
    for (int c = 0; copied->from != NULL && c < copied->from->copies; c++)
        for (uint32_t i = 0; i < copied->from->count; i++)
            if (copied->at[c][i] != 0)
                (void)cuda->release(copied->at[c][i]);
    copied->from = NULL;
}

double bench_cuda_element(const bench_cuda *cuda, const bench_cuda_operands *copied,
                          uint32_t number, int64_t element)
{
    const tenon_dtype dtype = copied->from->operand[number].view.dtype;
    const size_t size = tenon_dtype_size(dtype);
    unsigned char value[8];
    if (cuda->synchronize() != 0 ||
        cuda->to_host(value, copied->at[0][number] + (uint64_t)element * size, size) != 0)
        return NAN;
    return tn_dtype_load(dtype, value);
}

bool bench_cuda_agrees(const char *who, tenon_dtype dtype, double got, double wanted, int64_t terms)
{
    /* The result's rounding, and the f32 sums'; TF32 in place of f32 would be far outside. */
    const double rounding = dtype == TENON_DTYPE_BF16  ? 0x1p-8
                            : dtype == TENON_DTYPE_F16 ? 0x1p-10
                                                       : 0x1p-23;
    const double slack = rounding * fabs(wanted) + 0x1p-22 * sqrt((double)terms) * 4;
    const bool agrees = fabs(got - wanted) <= slack;
    if (!agrees)
        fprintf(stderr, "tenon-bench: %s is left out: it gives %.9g for %.9g\n", who, got, wanted);
    return agrees;
}
