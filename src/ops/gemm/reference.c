/* Reference of GEMM, in plain C and double precision. */
#include "base/checked.h"
#include "check/host.h"
#include "ops/gemm/matrix.h"
#include "ops/gemm/mixed.h"

#include <math.h>
#include <stdlib.h>

/* Roundings of a result after the sum of products: alpha · sum, beta · c, the two additions of the
 * epilogue, the rounding of alpha and beta to the type, and one spare. */
#define EPILOGUE_ROUNDINGS 8
/* Minimum length of a block. A kernel that processes K in blocks scales and adds the sum of each
 * block separately. */
#define LEAST_BLOCK 32
/* Roundings per product on matrix units, which may truncate instead of rounding. */
#define CUT_OFF 2.5
/* (1 + 2^-11)^2 - 1: both factors keep 11 bits. */
#define TF32_ERROR (0x1p-10 + 0x1p-22)

/* Magnitude below which gemm/mfma may flush factors of f16 to zero. */
#define MFMA_FLUSHED 0x1p-14

/* All operands in double precision, broadcast to d's batch. */
typedef struct dense_operands {
    double *a, *b, *c, *bias;
    int64_t m, n, k;
    double per_product; /* roundings of the sum per product */
    double input_error; /* relative error of a product due to rounded factors */
    double flushed;     /* magnitude below which a factor may be flushed to zero, in addition to the
                           usual flushing */
} dense_operands;

/* Sets the error bound. It depends on the solver if one is named, and on whether a solver that
 * rounds to TF32 may serve. */
static void choose_bound(const tenon_gemm_params *params, tenon_dtype dtype, dense_operands *x)
{
    const tn_solver *solver = tn_solver_named(&tn_gemm_family, params->solver);
    const bool units = solver != NULL && tn_gemm_is_matrix(solver);
    const bool rounds = dtype == TENON_DTYPE_F32 && (params->flags & TENON_GEMM_ALLOW_TF32) != 0 &&
                        (units || params->solver == NULL);
    x->per_product = units || rounds ? CUT_OFF : 1;
    x->input_error = rounds ? TF32_ERROR : 0;
    x->flushed =
        units && dtype == TENON_DTYPE_F16 && tn_is_solver(solver, &tn_gemm_mfma) ? MFMA_FLUSHED : 0;
}

double *tn_gemm_read_matrix(const tenon_tensor *view, const tenon_tensor *d, int64_t rows,
                            int64_t cols)
{
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, d->shape, sizeof shape);
    shape[d->rank - 2] = rows;
    shape[d->rank - 1] = cols;
    return view != NULL ? tn_host_read(view, d->rank, shape) : NULL;
}

/* Columns of b that are summed at a time for all rows; they stay in a cache. */
#define STRIP 32

/* Sums of the products for a strip of a row of d. */
typedef struct strip_sums {
    double value[STRIP], magnitude[STRIP], factors[STRIP];
} strip_sums;

/* Computes the sums of a strip. Each element is summed in the order of K; the loop over the strip
 * is innermost, so compilers can vectorize it. */
static void sum_strip(const dense_operands *x, int64_t batch, int64_t i, int64_t first,
                      strip_sums *sums)
{
    const int64_t count = tn_min_i64(STRIP, x->n - first);
    const double *a = x->a + (batch * x->m + i) * x->k, *b = x->b + batch * x->k * x->n + first;
    double *restrict value = sums->value, *restrict magnitude = sums->magnitude;
    *sums = (strip_sums){0};
    for (int64_t l = 0; l < x->k; l++) {
        const double factor = a[l], *row = b + l * x->n;
        for (int64_t j = 0; j < count; j++) {
            const double product = factor * row[j];
            value[j] += product;
            magnitude[j] += fabs(product);
        }
    }
    for (int64_t l = 0; l < x->k && x->flushed != 0; l++)
        for (int64_t j = 0; j < count; j++)
            sums->factors[j] += fabs(a[l]) + fabs(b[l * x->n + j]);
}

/* Returns element `at` of the dense d, the j-th of a strip. */
static tn_bounded element(const dense_operands *x, const tenon_epilogue *e, tenon_dtype dtype,
                          const strip_sums *sums, int64_t at, int64_t j)
{
    double u = tn_roundoff(dtype), k = (double)x->k, value = 0, magnitude = 0, rounded = 0;
    if (e->alpha != 0) {
        value = e->alpha * sums->value[j];
        magnitude = fabs(e->alpha) * sums->magnitude[j];
        rounded = x->input_error * magnitude + x->flushed * sums->factors[j] * fabs(e->alpha);
        magnitude += rounded;
    }
    if (x->c != NULL) {
        value += e->beta * x->c[at];
        magnitude += fabs(e->beta * x->c[at]);
    }
    if (x->bias != NULL) {
        value += x->bias[at];
        magnitude += fabs(x->bias[at]);
    }
    double roundings = k * x->per_product + k / LEAST_BLOCK + EPILOGUE_ROUNDINGS;
    if (dtype == TENON_DTYPE_F64)
        roundings *= 2; /* this reference has the same roundoff as the device */
    tn_bounded sum = {value, rounded + tn_gamma(roundings, u) * magnitude +
                                 (k + EPILOGUE_ROUNDINGS) * tn_least_normal(dtype)};
    return tn_stored(dtype, tn_activation_reference(&e->activation, dtype, sum));
}

static void strip_results(const dense_operands *x, const tenon_epilogue *e, tenon_dtype dtype,
                          int64_t batch, int64_t first, tn_bounded *results)
{
    const int64_t count = tn_min_i64(STRIP, x->n - first);
    strip_sums sums = {0};
    for (int64_t i = 0; i < x->m; i++) {
        const int64_t at = (batch * x->m + i) * x->n + first;
        if (e->alpha != 0)
            sum_strip(x, batch, i, first, &sums);
        for (int64_t j = 0; j < count; j++)
            results[at + j] = element(x, e, dtype, &sums, at + j, j);
    }
}

/* The bounds of gemm_post/two_steps are those of the product's solver with the largest ones. */
bool tn_gemm_post_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    tenon_gemm_params product = *(const tenon_gemm_params *)given;
    product.solver = NULL;
    return tn_gemm_reference(&product, v, results) &&
           tn_post_reference(v[GEMM_D], v + GEMM_POST, results);
}

/* Computes the reference, with at least `per_product` roundings for each product, and factors below
 * `flushed` flushed to zero. */
static bool reference_of(const tenon_gemm_params *params, const tenon_tensor *const *v,
                         double per_product, double flushed, tn_bounded *results)
{
    const tenon_tensor *a = v[GEMM_A], *bias = v[GEMM_BIAS], *d = v[GEMM_D];
    int64_t m = d->shape[d->rank - 2], n = d->shape[d->rank - 1], k = a->shape[a->rank - 1],
            batches = 1;
    const bool adds = tn_epilogue_adds(&params->epilogue, v[GEMM_C]);
    dense_operands x = {.a = tn_gemm_read_matrix(a, d, m, k),
                        .b = tn_gemm_read_matrix(v[GEMM_B], d, k, n),
                        .c = adds ? tn_gemm_read_matrix(v[GEMM_C], d, m, n) : NULL,
                        .bias = tn_gemm_read_matrix(bias, d, m, n),
                        .m = m,
                        .n = n,
                        .k = k};
    choose_bound(params, d->dtype, &x);
    x.per_product = fmax(x.per_product, per_product);
    x.flushed = fmax(x.flushed, flushed);
    for (uint32_t i = 0; i + 2 < d->rank; i++)
        batches *= d->shape[i];
    bool whole =
        x.a != NULL && x.b != NULL && (!adds || x.c != NULL) && (bias == NULL || x.bias != NULL);
    for (int64_t z = 0; z < batches && whole; z++)
        for (int64_t first = 0; first < n; first += STRIP)
            strip_results(&x, &params->epilogue, d->dtype, z, first, results);
    free(x.a);
    free(x.b);
    free(x.c);
    free(x.bias);
    return whole;
}

bool tn_gemm_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    return reference_of(params, v, 1, 0, results);
}

/* Both solvers are compound, so any solver of gemm may compute the sums: those on matrix units have
 * the largest bounds. Factors of two 16-bit types are converted first. */
bool tn_gemm_mixed_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    tenon_gemm_params product = *(const tenon_gemm_params *)given;
    const bool halves = v[GEMM_A]->dtype == TENON_DTYPE_F16 && v[GEMM_B]->dtype == TENON_DTYPE_F16;
    product.solver = NULL;
    return reference_of(&product, v, CUT_OFF, halves ? MFMA_FLUSHED : 0, results);
}
