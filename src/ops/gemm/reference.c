/* The reference of GEMM, in plain C and double precision. */
#include "ops/common/host.h"
#include "ops/gemm/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings of a result beyond those of the products' sum: alpha · sum, beta · c, the two additions
 * of the epilogue, the roundings of alpha and beta to the type, and one to spare. */
#define EPILOGUE_ROUNDINGS 8
/* A kernel that goes through K in blocks scales and adds each block's sum by itself. No block is
 * shorter than this. */
#define LEAST_BLOCK 32

/* All operands in double, broadcast to d's batch. */
typedef struct dense_operands {
    double *a, *b, *c, *bias;
    int64_t m, n, k;
} dense_operands;

static double *read_matrix(const tenon_tensor *view, const tenon_tensor *d, int64_t rows,
                           int64_t cols)
{
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, d->shape, sizeof shape);
    shape[d->rank - 2] = rows;
    shape[d->rank - 1] = cols;
    return view != NULL ? tn_host_read(view, d->rank, shape) : NULL;
}

static tn_bounded element(const dense_operands *x, const tenon_gemm_params *params,
                          tenon_dtype dtype, int64_t batch, int64_t i, int64_t j)
{
    const tenon_epilogue *e = &params->epilogue;
    int64_t at = (batch * x->m + i) * x->n + j;
    double u = tn_roundoff(dtype), k = (double)x->k, value = 0, magnitude = 0;
    const double *a = x->a + (batch * x->m + i) * x->k, *b = x->b + batch * x->k * x->n + j;
    for (int64_t l = 0; l < x->k && e->alpha != 0; l++) {
        value += a[l] * b[l * x->n];
        magnitude += fabs(a[l] * b[l * x->n]);
    }
    value = e->alpha != 0 ? e->alpha * value : 0;
    magnitude *= fabs(e->alpha);
    if (x->c != NULL) {
        value += e->beta * x->c[at];
        magnitude += fabs(e->beta * x->c[at]);
    }
    if (x->bias != NULL) {
        value += x->bias[at];
        magnitude += fabs(x->bias[at]);
    }
    double roundings = k + k / LEAST_BLOCK + EPILOGUE_ROUNDINGS;
    if (dtype == TENON_DTYPE_F64)
        roundings *= 2; /* this reference rounds as much as the device does */
    tn_bounded sum = {value, tn_gamma(roundings, u) * magnitude +
                                 (k + EPILOGUE_ROUNDINGS) * tn_least_normal(dtype)};
    return tn_stored(dtype, tn_activation_reference(&e->activation, dtype, sum));
}

bool tn_gemm_reference(const tenon_gemm_params *params, const tenon_tensor *a,
                       const tenon_tensor *b, const tenon_tensor *c, const tenon_tensor *bias,
                       const tenon_tensor *d, tn_bounded *results)
{
    int64_t m = d->shape[d->rank - 2], n = d->shape[d->rank - 1], k = a->shape[a->rank - 1],
            batches = 1;
    dense_operands x = {.a = read_matrix(a, d, m, k),
                        .b = read_matrix(b, d, k, n),
                        .c = params->epilogue.beta != 0 ? read_matrix(c, d, m, n) : NULL,
                        .bias = read_matrix(bias, d, m, n),
                        .m = m,
                        .n = n,
                        .k = k};
    for (uint32_t i = 0; i + 2 < d->rank; i++)
        batches *= d->shape[i];
    bool whole = x.a != NULL && x.b != NULL && (params->epilogue.beta == 0 || x.c != NULL) &&
                 (bias == NULL || x.bias != NULL);
    for (int64_t z = 0; z < batches && whole; z++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++)
                results[(z * m + i) * n + j] = element(&x, params, d->dtype, z, i, j);
    free(x.a);
    free(x.b);
    free(x.c);
    free(x.bias);
    return whole;
}
