/* Reference of i8 and u8 products: exact integer sums, then double precision. Also their awkward
 * cases. */
#include "check/awkward.h"
#include "ops/gemm/int8.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings between the sum and d: alpha, scale · scale, alpha times that, the sum as a float,
 * their product, the additions of c and bias, and one spare. */
#define ROUNDINGS 8

/* All inputs in double precision. Matrices are broadcast to d's batch, vectors to M or N. Absent
 * inputs are NULL. */
typedef struct dense {
    double *x[INT8_OPERANDS];
    int64_t m, n, k;
    const tenon_epilogue *epilogue;
    tenon_dtype bias, d;
} dense;

static bool read_all(const tenon_tensor *const *views, dense *o)
{
    const tenon_tensor *d = views[GEMM_D];
    const int64_t rows[] = {o->m, o->k, o->m, o->m}, cols[] = {o->k, o->n, o->n, o->n};
    bool whole = true;
    for (int i = GEMM_A; i < INT8_OPERANDS; i++) {
        bool of_rows = i == INT8_VECTOR(INT8_SCALE_A) || i == INT8_VECTOR(INT8_ZERO_A);
        if (views[i] == NULL || i == GEMM_D || (i == GEMM_C && o->epilogue->beta == 0))
            continue;
        o->x[i] = i < GEMM_D ? tn_gemm_read_matrix(views[i], d, rows[i], cols[i])
                             : tn_host_read(views[i], 1, of_rows ? &o->m : &o->n);
        whole &= o->x[i] != NULL;
    }
    return whole;
}

/* Returns an entry of a vector, or `absent` if there is no such vector. */
static double entry(const dense *o, int vector, int64_t i, double absent)
{
    const double *x = o->x[INT8_VECTOR(vector)];
    return x != NULL ? x[i] : absent;
}

static int32_t wrap(int64_t x)
{
    uint32_t low = (uint32_t)(uint64_t)x;
    return low < 0x80000000U ? (int32_t)low : (int32_t)((int64_t)low - 0x100000000);
}

/* Returns the sum including an i32 bias. */
static int32_t integer_sum(const dense *o, int64_t batch, int64_t i, int64_t j)
{
    const double *a = o->x[GEMM_A] + (batch * o->m + i) * o->k;
    const double *b = o->x[GEMM_B] + batch * o->k * o->n + j;
    int64_t za = (int64_t)entry(o, INT8_ZERO_A, i, 0), zb = (int64_t)entry(o, INT8_ZERO_B, j, 0);
    int64_t sum = 0;
    for (int64_t l = 0; l < o->k && o->epilogue->alpha != 0; l++)
        sum += ((int64_t)a[l] - za) * ((int64_t)b[l * o->n] - zb);
    if (o->x[GEMM_BIAS] != NULL && o->bias == TENON_DTYPE_I32)
        sum += (int64_t)o->x[GEMM_BIAS][(batch * o->m + i) * o->n + j];
    return wrap(sum);
}

static double whole_result(const dense *o, int64_t at, int32_t sum)
{
    const tenon_activation *activation = &o->epilogue->activation;
    double x = wrap((int64_t)sum + (o->x[GEMM_C] != NULL ? (int64_t)o->x[GEMM_C][at] : 0));
    if (activation->kind == TENON_ACTIVATION_IDENTITY)
        return x;
    x = x > 0 ? x : 0;
    return activation->kind == TENON_ACTIVATION_CLIPPED_RELU && x > activation->alpha
               ? activation->alpha
               : x;
}

/* Returns the argument of the activation. */
static tn_bounded real_result(const dense *o, int64_t at, int64_t i, int64_t j, int32_t sum)
{
    double alpha = o->epilogue->alpha, beta = o->epilogue->beta, acc = sum, value = 0;
    double magnitude = 0, flushed = 6;
    if (alpha != 0) {
        double sa = entry(o, INT8_SCALE_A, i, 1), sb = entry(o, INT8_SCALE_B, j, 1);
        value = alpha * (sa * sb) * acc;
        magnitude = fabs(value);
        flushed += fabs(acc) * (fabs(alpha) * (1 + fabs(sa) + fabs(sb)) + 1 + fabs(sa * sb));
    }
    if (o->x[GEMM_C] != NULL) {
        value += beta * o->x[GEMM_C][at];
        magnitude += fabs(beta * o->x[GEMM_C][at]);
        flushed += fabs(beta) + fabs(o->x[GEMM_C][at]);
    }
    if (o->x[GEMM_BIAS] != NULL && o->bias != TENON_DTYPE_I32) {
        value += o->x[GEMM_BIAS][at];
        magnitude += fabs(o->x[GEMM_BIAS][at]);
    }
    double u = tn_roundoff(TENON_DTYPE_F32), least = tn_least_normal(TENON_DTYPE_F32);
    return (tn_bounded){value, tn_gamma(ROUNDINGS, u) * magnitude + flushed * least};
}

static double saturate(double x, double low)
{
    return x < low ? low : x > low + 255 ? low + 255 : x;
}

/* Returns the rounded byte. If the error bound of the quotient includes a tie, it may be rounded
 * either way. */
static tn_bounded byte_result(const dense *o, int64_t j, tn_bounded y)
{
    double scale = entry(o, INT8_SCALE_D, j, 1), zero = entry(o, INT8_ZERO_D, j, 0);
    double u = tn_roundoff(TENON_DTYPE_F32), least = tn_least_normal(TENON_DTYPE_F32);
    double low = o->d == TENON_DTYPE_I8 ? -128 : 0, quotient = y.value / scale;
    double moved = (y.bound + least) / fabs(scale);
    double off = moved + 7 * u * (fabs(quotient) + moved) + least;
    if (isnan(quotient))
        return (tn_bounded){saturate(zero, low), 0};
    double value = saturate(nearbyint(quotient) + zero, low);
    if (isinf(quotient) || !isfinite(off))
        return (tn_bounded){value, isinf(quotient) ? 0 : 255};
    double least_value = saturate(nearbyint(quotient - off) + zero, low);
    double most_value = saturate(nearbyint(quotient + off) + zero, low);
    return (tn_bounded){value, fmax(value - least_value, most_value - value)};
}

static tn_bounded element(const dense *o, int64_t batch, int64_t i, int64_t j)
{
    int64_t at = (batch * o->m + i) * o->n + j;
    int32_t sum = integer_sum(o, batch, i, j);
    if (o->d == TENON_DTYPE_I32)
        return (tn_bounded){whole_result(o, at, sum), 0};
    tn_bounded y = tn_activation_reference(&o->epilogue->activation, TENON_DTYPE_F32,
                                           real_result(o, at, i, j, sum));
    return o->d == TENON_DTYPE_I8 || o->d == TENON_DTYPE_U8 ? byte_result(o, j, y)
                                                            : tn_stored(o->d, y);
}

bool tn_gemm_int8_reference(const void *given, const tenon_tensor *const *views,
                            tn_bounded *results)
{
    const tenon_gemm_params *params = given;
    const tenon_tensor *a = views[GEMM_A], *d = views[GEMM_D];
    dense o = {.m = d->shape[d->rank - 2],
               .n = d->shape[d->rank - 1],
               .k = a->shape[a->rank - 1],
               .epilogue = &params->epilogue,
               .bias = views[GEMM_BIAS] != NULL ? views[GEMM_BIAS]->dtype : TENON_DTYPE_INVALID,
               .d = d->dtype};
    int64_t batches = 1;
    bool whole = read_all(views, &o);
    for (uint32_t i = 0; i + 2 < d->rank; i++)
        batches *= d->shape[i];
    for (int64_t z = 0; z < batches && whole; z++)
        for (int64_t i = 0; i < o.m; i++)
            for (int64_t j = 0; j < o.n; j++)
                results[(z * o.m + i) * o.n + j] = element(&o, z, i, j);
    for (int i = 0; i < INT8_OPERANDS; i++)
        free(o.x[i]);
    return whole;
}

/* Returns an alpha that scales results to the range of bytes, well within that of f16. The sums
 * are about 2^24 if no factor is signed, and scales are about 2^-4. */
static double awkward_alpha(uint32_t present)
{
    const int scale_a = present >> INT8_SCALE_A & 1, scale_b = present >> INT8_SCALE_B & 1,
              scale_d = present >> INT8_SCALE_D & 1;
    return ldexp(1, -17 + 4 * (scale_a + scale_b - scale_d));
}

/* Returns an epilogue that keeps the result exact if d is i32. */
static tenon_epilogue awkward_epilogue(const int8_problem *like)
{
    const bool whole = like->types[GEMM_D] == TENON_DTYPE_I32;
    tenon_epilogue epilogue = tn_check_epilogue(like->gemm.flags, like->gemm.activation);
    if (epilogue.alpha != 0)
        epilogue.alpha = whole ? 1 : awkward_alpha(like->present);
    if (whole && epilogue.beta != 0)
        epilogue.beta = 1;
    if (whole)
        epilogue.activation.alpha = 1000;
    return epilogue;
}

/* Adds the vectors of the given problem, with gaps between elements. */
static void add_vectors(const int8_problem *like, tn_case *c)
{
    static const int of[] = {GEMM_A, GEMM_B, GEMM_D};
    for (int i = 0; i < INT8_VECTORS; i++) {
        const tenon_tensor *factor = &c->views[of[i % 3]];
        const tenon_dtype type = i < INT8_ZERO_A ? TENON_DTYPE_F32 : factor->dtype;
        if ((like->present >> i & 1) == 0)
            continue;
        c->views[INT8_VECTOR(i)] = tenon_tensor_view(type, 1, &factor->shape[i % 3 == 0 ? 1 : 2]);
        c->views[INT8_VECTOR(i)].stride[0] = 2;
    }
}

bool tn_gemm_int8_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                          tn_case *c)
{
    const int8_problem *like = (const int8_problem *)problem;
    tenon_gemm_params *params = (tenon_gemm_params *)c->params.bytes;
    if (number == tn_awkward_count(choice))
        return false;
    tn_awkward_begin(c, &tn_operation_gemm_int8);
    params->epilogue = awkward_epilogue(like);
    tn_gemm_awkward_views(&like->gemm, choice, number, 2, GEMM_AWKWARD_ROWS, like->types, c->views);
    add_vectors(like, c);
    return true;
}
