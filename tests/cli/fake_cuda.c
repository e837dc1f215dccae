/*
 * CUDA's driver, cuBLAS and cuDNN on the host's memory: what bench/peers calls of them, so that its
 * calls are tested where there is no card. Loaded under all three names, and preloaded for the OpenCL
 * device to say where on the bus it is. Column-major products and N C H W convolutions, as the
 * originals define them, of f32, f64, bf16 and i8.
 */
#define _GNU_SOURCE              /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FAKE __attribute__((visibility("default")))

enum { R_32F = 0, R_64F = 1, R_8I = 3, R_32I = 10, R_16BF = 14 };

/* ---- OpenCL: bus 59, slot 0, domain 1 ---- */

typedef cl_int (*device_info)(cl_device_id, cl_device_info, size_t, void *, size_t *);

FAKE cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param_name, size_t param_value_size,
                            void *param_value, size_t *param_value_size_ret)
{
    static const cl_uint place[] = {59, 0, 1};
    device_info real;
    if (param_name >= 0x4008 && param_name <= 0x400A && param_value_size >= sizeof *place) {
        memcpy(param_value, &place[param_name - 0x4008], sizeof *place);
        return CL_SUCCESS;
    }
    void *found = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    memcpy(&real, &found, sizeof real);
    return real(device, param_name, param_value_size, param_value, param_value_size_ret);
}

/* ---- the driver ---- */

FAKE int cuInit(unsigned flags)
{
    return (int)flags;
}

FAKE int cuDeviceGetByPCIBusId(int *device, const char *place)
{
    *device = 7;
    return strcmp(place, "0001:3b:00.0") == 0 ? 0 : 101;
}

FAKE int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = context;
    return device == 7 ? 0 : 101;
}

FAKE int cuCtxSetCurrent(void *context)
{
    return context != NULL ? 0 : 201;
}

FAKE int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = (uint64_t)(uintptr_t)malloc(bytes);
    return *address != 0 ? 0 : 2;
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

/* ---- elements ---- */

static double get(const void *memory, int type, int64_t at)
{
    uint32_t bits;
    float single;
    switch (type) {
    case R_32F:
        return (double)((const float *)memory)[at];
    case R_64F:
        return ((const double *)memory)[at];
    case R_8I:
        return (double)((const signed char *)memory)[at];
    default:
        bits = (uint32_t)((const uint16_t *)memory)[at] << 16;
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    }
}

static void put(void *memory, int type, int64_t at, double value)
{
    const float single = (float)value;
    uint32_t bits;
    switch (type) {
    case R_32F:
        ((float *)memory)[at] = single;
        break;
    case R_64F:
        ((double *)memory)[at] = value;
        break;
    case R_32I:
        ((int32_t *)memory)[at] = (int32_t)value;
        break;
    default:
        memcpy(&bits, &single, sizeof bits);
        ((uint16_t *)memory)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
}

/* ---- cuBLAS ---- */

FAKE int cublasCreate_v2(void **handle)
{
    *handle = handle;
    return 0;
}

/* alpha 1 and beta 0, and sums as each type wants them, or it is refused. */
static int refuses(const void *alpha, const void *beta, int type, int out, int sum)
{
    const int wanted = type == R_64F ? 70 : type == R_8I ? 72 : 68;
    const int one = type == R_64F  ? *(const double *)alpha == 1 && *(const double *)beta == 0
                    : type == R_8I ? *(const int *)alpha == 1 && *(const int *)beta == 0
                                   : *(const float *)alpha == 1 && *(const float *)beta == 0;
    return !one || sum != wanted || out != (type == R_8I ? R_32I : type);
}

FAKE int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k,
                                    const void *alpha, const void *a, int a_type, int lda,
                                    long long a_stride, const void *b, int b_type, int ldb,
                                    long long b_stride, const void *beta, void *c, int c_type,
                                    int ldc, long long c_stride, int count, int sum, int algorithm)
{
    if (handle == NULL || a_type != b_type || refuses(alpha, beta, a_type, c_type, sum) ||
        algorithm != -1 || lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m)
        return 7;
    for (int64_t i = 0; i < (int64_t)count * m * n; i++) {
        const int64_t z = i / ((int64_t)m * n), row = i % m, col = i / m % n;
        double total = 0;
        for (int64_t j = 0; j < k; j++)
            total += get(a, a_type, z * a_stride + (ta ? row * lda + j : j * lda + row)) *
                     get(b, b_type, z * b_stride + (tb ? j * ldb + col : col * ldb + j));
        put(c, c_type, z * c_stride + col * ldc + row, total);
    }
    return 0;
}

/* ---- cuDNN ---- */

/* A tensor, a filter or a convolution: what was set, in order. */
typedef struct description {
    int values[9], groups, math;
} description;

typedef struct performance {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math, reserved[3];
} performance;

static int create(description **d)
{
    *d = calloc(1, sizeof **d);
    return *d != NULL ? 0 : 1;
}

FAKE int cudnnCreate(void **handle)
{
    *handle = handle;
    return 0;
}

FAKE int cudnnCreateTensorDescriptor(description **d)
{
    return create(d);
}

FAKE int cudnnCreateFilterDescriptor(description **d)
{
    return create(d);
}

FAKE int cudnnCreateConvolutionDescriptor(description **d)
{
    return create(d);
}

FAKE int cudnnDestroyTensorDescriptor(description *d)
{
    free(d);
    return 0;
}

FAKE int cudnnDestroyFilterDescriptor(description *d)
{
    free(d);
    return 0;
}

FAKE int cudnnDestroyConvolutionDescriptor(description *d)
{
    free(d);
    return 0;
}

FAKE int cudnnSetTensor4dDescriptor(description *d, int format, int type, int n, int c, int h,
                                    int w)
{
    const int values[] = {type, n, c, h, w};
    memcpy(d->values, values, sizeof values);
    return format == 0 ? 0 : 3;
}

FAKE int cudnnSetFilter4dDescriptor(description *d, int type, int format, int k, int c, int h,
                                    int w)
{
    return cudnnSetTensor4dDescriptor(d, format, type, k, c, h, w);
}

FAKE int cudnnSetConvolution2dDescriptor(description *d, int pad_h, int pad_w, int stride_h,
                                         int stride_w, int dilation_h, int dilation_w, int mode,
                                         int type)
{
    const int values[] = {pad_h, pad_w, stride_h, stride_w};
    memcpy(d->values, values, sizeof values);
    return mode == 1 && dilation_h == 1 && dilation_w == 1 && type <= 1 ? 0 : 3;
}

FAKE int cudnnSetConvolutionMathType(description *d, int math)
{
    d->math = math;
    return 0;
}

FAKE int cudnnSetConvolutionGroupCount(description *d, int groups)
{
    d->groups = groups;
    return 0;
}

/* The first would round f32 to TF32: it must not be taken for f32. */
FAKE int cudnnFindConvolutionForwardAlgorithm(void *handle, const description *x,
                                              const description *filter,
                                              const description *convolution, const description *y,
                                              int asked, int *found, performance *results)
{
    (void)handle;
    (void)x;
    (void)filter;
    (void)y;
    *found = asked < 2 ? asked : 2;
    for (int i = 0; i < *found; i++)
        results[i] = (performance){
            .algorithm = i == 0 ? 2 : 1, .memory = 64, .math = i == 0 ? 0 : convolution->math};
    return 0;
}

static double pixel(const int *x, const int *f, const int *c, int groups, const void *image,
                    const void *filter, const int at[4])
{
    const int type = x[0] == 9 ? R_16BF : x[0], inner = f[2],
              first = at[1] / (f[1] / groups) * inner;
    double sum = 0;
    for (int i = 0; i < inner * f[3] * f[4]; i++) {
        const int channel = i / (f[3] * f[4]), h = at[2] * c[2] - c[0] + i / f[4] % f[3],
                  w = at[3] * c[3] - c[1] + i % f[4];
        if (h >= 0 && h < x[3] && w >= 0 && w < x[4])
            sum += get(image, type,
                       (((int64_t)at[0] * x[2] + first + channel) * x[3] + h) * x[4] + w) *
                   get(filter, type, (int64_t)at[1] * inner * f[3] * f[4] + i);
    }
    return sum;
}

FAKE int cudnnConvolutionForward(void *handle, const void *alpha, const description *x,
                                 const void *image, const description *filter, const void *weights,
                                 const description *convolution, int algorithm, void *workspace,
                                 size_t bytes, const void *beta, const description *y, void *result)
{
    const int *of_y = y->values, type = of_y[0] == 9 ? R_16BF : of_y[0];
    if (handle == NULL || refuses(alpha, beta, type, type, type == R_64F ? 70 : 68) ||
        algorithm != (type == R_16BF ? 2 : 1) || workspace == NULL || bytes != 64)
        return 3;
    for (int64_t i = 0; i < (int64_t)of_y[1] * of_y[2] * of_y[3] * of_y[4]; i++) {
        const int at[] = {(int)(i / of_y[4] / of_y[3] / of_y[2]),
                          (int)(i / of_y[4] / of_y[3] % of_y[2]), (int)(i / of_y[4] % of_y[3]),
                          (int)(i % of_y[4])};
        put(result, type, i,
            pixel(x->values, filter->values, convolution->values, convolution->groups, image,
                  weights, at));
    }
    return 0;
}
