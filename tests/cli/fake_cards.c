/* Preloaded replacement of the drivers and libraries of NVIDIA and AMD: the OpenCL device reports a
 * PCI address, the card's memory is the host's, and the libraries compute f32 with plain loops. The
 * test links the libraries' file names to this one. FAKE_VERSION is the number of cuDNN's
 * version. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAKE             __attribute__((visibility("default")))
#define PCI_BUS_INFO     0x410F /* cl_khr_pci_bus_info */
#define AMD_TOPOLOGY     0x4037 /* cl_amd_device_attribute_query */
#define HIP_INVALID      1
#define ROCBLAS_TOO_LONG 5
#define TRANSPOSED       1
#define ROC_TRANSPOSED   112

FAKE cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t size,
                            void *value, size_t *size_ret)
{
    static const cl_uint place[4] = {0, 0x3b, 0, 0};
    if (param_name == PCI_BUS_INFO && size == sizeof place) {
        memcpy(value, place, sizeof place);
        return CL_SUCCESS;
    }
    if (param_name == AMD_TOPOLOGY && size == 24) {
        memset(value, 0, size);
        ((cl_uint *)value)[0] = 1; /* PCIe */
        ((cl_uchar *)value)[21] = 0x3b;
        return CL_SUCCESS;
    }
    cl_int (*behind)(cl_device_id, cl_device_info, size_t, void *, size_t *);
    void *found = dlsym(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetDeviceInfo");
    memcpy(&behind, &found, sizeof behind);
    return behind(device, param_name, size, value, size_ret);
}

/* CUDA's driver. */
FAKE int cuInit(unsigned flags)
{
    return (int)flags;
}

FAKE int cuDeviceGetByPCIBusId(int *device, const char *place)
{
    *device = 0;
    return strcmp(place, "0000:3b:00.0") != 0;
}

FAKE int cuDevicePrimaryCtxRetain(void **context, int device)
{
    static int one;
    *context = &one;
    return device;
}

FAKE int cuCtxSetCurrent(void *context)
{
    return context == NULL;
}

FAKE int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = (uint64_t)(uintptr_t)malloc(bytes);
    return *address == 0;
}

FAKE int cuMemFree_v2(uint64_t address)
{
    free((void *)(uintptr_t)address);
    return 0;
}

FAKE int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

FAKE int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

FAKE int cuCtxSynchronize(void)
{
    return 0;
}

/* HIP. */
FAKE int hipInit(unsigned flags)
{
    return (int)flags;
}

FAKE int hipGetDeviceCount(int *count)
{
    *count = 2;
    return 0;
}

FAKE int hipDeviceGetPCIBusId(char *place, int length, int device)
{
    const char *name = device == 1 ? "0000:3b:00.0" : "0000:1c:00.0";
    if (length <= (int)strlen(name))
        return HIP_INVALID;
    memcpy(place, name, strlen(name) + 1);
    return 0;
}

FAKE int hipSetDevice(int device)
{
    return device != 1;
}

FAKE int hipMalloc(uint64_t *address, size_t bytes)
{
    return cuMemAlloc_v2(address, bytes);
}

FAKE int hipFree(uint64_t address)
{
    return cuMemFree_v2(address);
}

FAKE int hipMemcpyHtoD(uint64_t to, const void *from, size_t bytes)
{
    return cuMemcpyHtoD_v2(to, from, bytes);
}

FAKE int hipMemcpyDtoH(void *to, uint64_t from, size_t bytes)
{
    return cuMemcpyDtoH_v2(to, from, bytes);
}

FAKE int hipDeviceSynchronize(void)
{
    return 0;
}

/* A product of matrices of f32, stored by columns. */
typedef struct product {
    int ta, tb, m, n, k, lda, ldb, ldc;
    const float *a, *b;
    float *c;
} product;

static void multiply(const product *p)
{
    for (int j = 0; j < p->n; j++)
        for (int i = 0; i < p->m; i++) {
            double sum = 0;
            for (int l = 0; l < p->k; l++)
                sum += (double)p->a[p->ta ? i * p->lda + l : l * p->lda + i] *
                       (double)p->b[p->tb ? l * p->ldb + j : j * p->ldb + l];
            p->c[j * p->ldc + i] = (float)sum;
        }
}

/* cuBLAS. */
FAKE int cublasCreate_v2(void **handle)
{
    static int one;
    *handle = &one;
    return 0;
}

FAKE int cublasGetVersion_v2(void *handle, int *version)
{
    *version = 120205;
    return handle == NULL;
}

FAKE int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k,
                                    const void *alpha, uint64_t a, int a_type, int lda,
                                    long long a_stride, uint64_t b, int b_type, int ldb,
                                    long long b_stride, const void *beta, uint64_t c, int c_type,
                                    int ldc, long long c_stride, int count, int sum, int algorithm)
{
    (void)alpha, (void)beta, (void)b_type, (void)c_type, (void)sum, (void)algorithm;
    for (int z = 0; z < count; z++)
        multiply(&(product){ta == TRANSPOSED, tb == TRANSPOSED, m, n, k, lda, ldb, ldc,
                            (const float *)(uintptr_t)a + z * a_stride,
                            (const float *)(uintptr_t)b + z * b_stride,
                            (float *)(uintptr_t)c + z * c_stride});
    return handle == NULL || a_type != 0;
}

/* rocBLAS. */
FAKE int rocblas_create_handle(void **handle)
{
    return cublasCreate_v2(handle);
}

FAKE int rocblas_get_version_string(char *text, size_t size)
{
    static const char version[] = "4.2.1.abcdef";
    if (size < sizeof version)
        return ROCBLAS_TOO_LONG;
    memcpy(text, version, sizeof version);
    return 0;
}

FAKE int rocblas_gemm_strided_batched_ex(void *handle, int ta, int tb, int32_t m, int32_t n,
                                         int32_t k, const void *alpha, uint64_t a, int a_type,
                                         int32_t lda, int64_t a_stride, uint64_t b, int b_type,
                                         int32_t ldb, int64_t b_stride, const void *beta,
                                         uint64_t c, int c_type, int32_t ldc, int64_t c_stride,
                                         uint64_t d, int d_type, int32_t ldd, int64_t d_stride,
                                         int32_t count, int sum, int algorithm, int32_t solution,
                                         uint32_t flags)
{
    (void)a_type, (void)d, (void)d_type, (void)ldd, (void)d_stride, (void)solution, (void)flags;
    return cublasGemmStridedBatchedEx(handle, ta == ROC_TRANSPOSED, tb == ROC_TRANSPOSED, m, n, k,
                                      alpha, a, 0, lda, a_stride, b, b_type, ldb, b_stride, beta, c,
                                      c_type, ldc, c_stride, count, sum, algorithm);
}

/* cuDNN. A descriptor of any kind is a few numbers: sizes N C H W or K C R S; or padding, stride,
 * dilation and groups. */
typedef struct descriptor {
    int size[4], pad[2], stride[2], dilation[2], groups;
} descriptor;

typedef struct performance {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
} performance;

static int create_descriptor(void **made)
{
    *made = calloc(1, sizeof(descriptor));
    return *made == NULL;
}

static int destroy_descriptor(void *made)
{
    free(made);
    return 0;
}

FAKE int cudnnCreate(void **handle)
{
    return cublasCreate_v2(handle);
}

FAKE size_t cudnnGetVersion(void)
{
    const char *number = getenv("FAKE_VERSION");
    return number != NULL ? strtoul(number, NULL, 10) : 90100;
}

FAKE int cudnnCreateTensorDescriptor(void **tensor)
{
    return create_descriptor(tensor);
}

FAKE int cudnnDestroyTensorDescriptor(void *tensor)
{
    return destroy_descriptor(tensor);
}

FAKE int cudnnSetTensor4dDescriptor(descriptor *tensor, int format, int type, int n, int c, int h,
                                    int w)
{
    *tensor = (descriptor){.size = {n, c, h, w}};
    return format != 0 || type != 0;
}

FAKE int cudnnCreateFilterDescriptor(void **filter)
{
    return create_descriptor(filter);
}

FAKE int cudnnDestroyFilterDescriptor(void *filter)
{
    return destroy_descriptor(filter);
}

FAKE int cudnnSetFilter4dDescriptor(descriptor *filter, int type, int format, int k, int c, int h,
                                    int w)
{
    return cudnnSetTensor4dDescriptor(filter, format, type, k, c, h, w);
}

FAKE int cudnnCreateConvolutionDescriptor(void **conv)
{
    return create_descriptor(conv);
}

FAKE int cudnnDestroyConvolutionDescriptor(void *conv)
{
    return destroy_descriptor(conv);
}

FAKE int cudnnSetConvolution2dDescriptor(descriptor *conv, int pad_h, int pad_w, int stride_h,
                                         int stride_w, int dilation_h, int dilation_w, int mode,
                                         int type)
{
    *conv = (descriptor){.pad = {pad_h, pad_w},
                         .stride = {stride_h, stride_w},
                         .dilation = {dilation_h, dilation_w},
                         .groups = 1};
    return mode != 1 || type != 0;
}

FAKE int cudnnSetConvolutionMathType(void *conv, int math)
{
    (void)conv;
    return math != 3;
}

FAKE int cudnnSetConvolutionGroupCount(descriptor *conv, int groups)
{
    conv->groups = groups;
    return 0;
}

/* Reports a faster algorithm that uses TF32, and one that does not. */
FAKE int cudnnFindConvolutionForwardAlgorithm(void *handle, void *x, void *filter, void *conv,
                                              void *y, int asked, int *found, performance *results)
{
    (void)handle, (void)x, (void)filter, (void)conv, (void)y;
    if (asked < 2)
        return 1;
    *found = 2;
    results[0] = (performance){.algorithm = 6, .math = 1};
    results[1] = (performance){.algorithm = 1, .math = 3, .memory = 64};
    return 0;
}

/* Returns an element of the result: of an image, filter, row and column. */
static float pixel(const descriptor *x, const float *image, const descriptor *filter,
                   const float *weights, const descriptor *conv, int k, int p, int q)
{
    const int inner = filter->size[1], first = k / (filter->size[0] / conv->groups) * inner;
    double sum = 0;
    for (int c = 0; c < inner; c++)
        for (int r = 0; r < filter->size[2]; r++)
            for (int s = 0; s < filter->size[3]; s++) {
                const int h = p * conv->stride[0] - conv->pad[0] + r * conv->dilation[0],
                          w = q * conv->stride[1] - conv->pad[1] + s * conv->dilation[1];
                if (h < 0 || h >= x->size[2] || w < 0 || w >= x->size[3])
                    continue;
                sum +=
                    (double)image[((first + c) * x->size[2] + h) * x->size[3] + w] *
                    (double)weights[((k * inner + c) * filter->size[2] + r) * filter->size[3] + s];
            }
    return (float)sum;
}

FAKE int cudnnConvolutionForward(void *handle, const void *alpha, const descriptor *x,
                                 uint64_t x_at, const descriptor *filter, uint64_t filter_at,
                                 const descriptor *conv, int algorithm, uint64_t workspace,
                                 size_t bytes, const void *beta, const descriptor *y, uint64_t y_at)
{
    (void)handle, (void)alpha, (void)beta;
    if (algorithm != 1 || workspace == 0 || bytes != 64)
        return 1;
    float *result = (float *)(uintptr_t)y_at;
    for (int n = 0; n < y->size[0]; n++)
        for (int k = 0; k < y->size[1]; k++)
            for (int p = 0; p < y->size[2]; p++)
                for (int q = 0; q < y->size[3]; q++)
                    *result++ = pixel(x,
                                      (const float *)(uintptr_t)x_at +
                                          n * x->size[1] * x->size[2] * x->size[3],
                                      filter, (const float *)(uintptr_t)filter_at, conv, k, p, q);
    return 0;
}
