/* HIP and rocBLAS. */
#include "fake_card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of three devices the second is the one; two where FAKE_CARD_TWICE is set. */
#define DEVICES 3
static int chosen = -1;

FAKE int hipInit(unsigned flags)
{
    return (int)flags;
}

FAKE int hipGetDeviceCount(int *count)
{
    *count = DEVICES;
    return 0;
}

FAKE int hipDeviceGetPCIBusId(char *place, int length, int device)
{
    const bool here = device == 1 || (device == 2 && getenv("FAKE_CARD_TWICE") != NULL);
    snprintf(place, (size_t)length, "%04x:%02x:%02x.0", device, here ? 59 : 58, 3);
    return device < DEVICES ? 0 : 101;
}

FAKE int hipSetDevice(int device)
{
    chosen = device;
    return 0;
}

/* Everything that follows is refused on another device. */
static int status(bool well)
{
    return well && chosen == 1 ? 0 : 1;
}

FAKE int hipMalloc(void **memory, size_t bytes)
{
    *memory = malloc(bytes);
    return status(*memory != NULL);
}

FAKE int hipFree(void *memory)
{
    free(memory);
    return status(true);
}

FAKE int hipMemcpyHtoD(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return status(true);
}

FAKE int hipMemcpyDtoH(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return status(true);
}

FAKE int hipDeviceSynchronize(void)
{
    return status(true);
}

FAKE int rocblas_create_handle(void **handle)
{
    *handle = handle;
    return status(true);
}

/* Alpha 1 and beta 0, D in the place of C, and sums and results as each type wants them, or it is
 * refused. */
FAKE int rocblas_gemm_strided_batched_ex(void *handle, int ta, int tb, int32_t m, int32_t n,
                                         int32_t k, const void *alpha, const void *a, int a_type,
                                         int32_t lda, int64_t a_stride, const void *b, int b_type,
                                         int32_t ldb, int64_t b_stride, const void *beta,
                                         const void *c, int c_type, int32_t ldc, int64_t c_stride,
                                         void *d, int d_type, int32_t ldd, int64_t d_stride,
                                         int32_t count, int sum, int algorithm, int32_t solution,
                                         uint32_t flags)
{
    static const fake_types known[] = {
        {TENON_DTYPE_F16, 150, 150, 151},  {TENON_DTYPE_F32, 151, 151, 151},
        {TENON_DTYPE_F64, 152, 152, 152},  {TENON_DTYPE_I8, 160, 162, 162},
        {TENON_DTYPE_BF16, 168, 168, 151}, {TENON_DTYPE_INVALID, 0, 0, 0}};
    const fake_product product = {ta == 112, tb == 112, m,   n,   k,        count,    a,       b,
                                  d,         lda,       ldb, ldd, a_stride, b_stride, d_stride};
    if (handle == NULL || ta < 111 || ta > 112 || tb < 111 || tb > 112 || a_type != b_type ||
        c != d || c_type != d_type || ldc != ldd || c_stride != d_stride || algorithm != 0 ||
        solution != 0 || flags != 0)
        return status(false);
    return status(fake_multiply(&product, alpha, beta, fake_type(known, a_type, d_type, sum)));
}
