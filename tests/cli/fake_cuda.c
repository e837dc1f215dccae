/* CUDA's driver, cuBLAS and cuDNN. */
#include "fake_card.h"

#include <stdlib.h>
#include <string.h>

/* ---- the driver ---- */

FAKE int cuInit(unsigned flags)
{
    return (int)flags;
}

FAKE int cuDeviceGetByPCIBusId(int *device, const char *place)
{
    *device = 7;
    return strcmp(place, "0001:3b:03.0") == 0 ? 0 : 101;
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

/* ---- cuBLAS ---- */

FAKE int cublasCreate_v2(void **handle)
{
    *handle = handle;
    return 0;
}

/* Alpha 1 and beta 0, and sums and results as each type wants them, or it is refused. */
FAKE int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k,
                                    const void *alpha, const void *a, int a_type, int lda,
                                    long long a_stride, const void *b, int b_type, int ldb,
                                    long long b_stride, const void *beta, void *c, int c_type,
                                    int ldc, long long c_stride, int count, int sum, int algorithm)
{
    static const fake_types known[] = {
        {TENON_DTYPE_F32, 0, 0, 68},    {TENON_DTYPE_F64, 1, 1, 70},
        {TENON_DTYPE_F16, 2, 2, 68},    {TENON_DTYPE_I8, 3, 10, 72},
        {TENON_DTYPE_BF16, 14, 14, 68}, {TENON_DTYPE_INVALID, 0, 0, 0}};
    const fake_product product = {ta != 0, tb != 0, m,   n,   k,        count,    a,       b,
                                  c,       lda,     ldb, ldc, a_stride, b_stride, c_stride};
    if (handle == NULL || (ta | tb) >> 1 != 0 || a_type != b_type || algorithm != -1)
        return 7;
    return fake_multiply(&product, alpha, beta, fake_type(known, a_type, c_type, sum)) ? 0 : 7;
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

static tenon_dtype dtype_of(int type)
{
    return type == 0   ? TENON_DTYPE_F32
           : type == 1 ? TENON_DTYPE_F64
           : type == 2 ? TENON_DTYPE_F16
                       : TENON_DTYPE_BF16;
}

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
    const tenon_dtype type = dtype_of(x[0]);
    const int inner = f[2], first = at[1] / (f[1] / groups) * inner;
    double sum = 0;
    for (int i = 0; i < inner * f[3] * f[4]; i++) {
        const int channel = i / (f[3] * f[4]), h = at[2] * c[2] - c[0] + i / f[4] % f[3],
                  w = at[3] * c[3] - c[1] + i % f[4];
        if (h >= 0 && h < x[3] && w >= 0 && w < x[4])
            sum += fake_get(image, type,
                            (((int64_t)at[0] * x[2] + first + channel) * x[3] + h) * x[4] + w) *
                   fake_get(filter, type, (int64_t)at[1] * inner * f[3] * f[4] + i);
    }
    return sum;
}

FAKE int cudnnConvolutionForward(void *handle, const void *alpha, const description *x,
                                 const void *image, const description *filter, const void *weights,
                                 const description *convolution, int algorithm, void *workspace,
                                 size_t bytes, const void *beta, const description *y, void *result)
{
    const int *of_y = y->values;
    const tenon_dtype type = dtype_of(of_y[0]);
    if (handle == NULL || !fake_scales(alpha, beta, type) || algorithm != (of_y[0] == 0 ? 1 : 2) ||
        workspace == NULL || bytes != 64)
        return 3;
    for (int64_t i = 0; i < (int64_t)of_y[1] * of_y[2] * of_y[3] * of_y[4]; i++) {
        const int at[] = {(int)(i / of_y[4] / of_y[3] / of_y[2]),
                          (int)(i / of_y[4] / of_y[3] % of_y[2]), (int)(i / of_y[4] % of_y[3]),
                          (int)(i % of_y[4])};
        fake_put(result, type, i,
                 pixel(x->values, filter->values, convolution->values, convolution->groups, image,
                       weights, at));
    }
    return 0;
}
