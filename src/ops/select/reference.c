/* References of tenon_compare, tenon_classify, tenon_logic and tenon_where, their awkward cases,
 * and values that make their results differ. */
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/select/internal.h"

#include "base/checked.h"
#include "base/dtype.h"

#include <math.h>
#include <stdlib.h>

/* An element of any type: its value, exactly. */
typedef struct scalar {
    double real;
    int64_t whole;
} scalar;

static scalar load(tenon_dtype dtype, const void *element)
{
    scalar n = {0, 0};
    if (tn_dtype_is_float(dtype))
        n.real = tn_dtype_load(dtype, element);
    else
        n.whole = tn_dtype_load_whole(dtype, element);
    return n;
}

static tn_bounded compared(uint32_t kind, scalar a, scalar b)
{
    /* One member of each number is 0. */
    const bool equal = a.real == b.real && a.whole == b.whole;
    const bool less = a.real < b.real || a.whole < b.whole;
    const bool greater = a.real > b.real || a.whole > b.whole;
    const bool results[] = {equal, !equal, less, less || equal, greater, greater || equal};
    return (tn_bounded){results[kind], 0};
}

/* Returns an input broadcast to the shape of the output. */
static tenon_tensor widened(const tenon_tensor *view, const tenon_tensor *output)
{
    return tenon_tensor_broadcast(*view, output->rank, output->shape);
}

static scalar number_at(const tenon_tensor *view, const int64_t *index)
{
    return load(view->dtype, tn_host_element(view, index));
}

bool tn_compare_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_compare_params *params = given;
    const tenon_tensor *d = v[COMPARE_D];
    const tenon_tensor a = widened(v[COMPARE_A], d), b = widened(v[COMPARE_B], d);
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < tenon_tensor_elements(d); i++) {
        results[i] = compared(params->kind, number_at(&a, index), number_at(&b, index));
        tn_next_index(index, d->shape, d->rank);
    }
    return true;
}

static bool classified(uint32_t kind, double x)
{
    switch (kind) {
    case TENON_CLASSIFY_NAN:
        return isnan(x);
    case TENON_CLASSIFY_INFINITE:
        return isinf(x);
    case TENON_CLASSIFY_POSITIVE_INFINITE:
        return isinf(x) && x > 0;
    case TENON_CLASSIFY_NEGATIVE_INFINITE:
        return isinf(x) && x < 0;
    default:
        return isfinite(x);
    }
}

bool tn_classify_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_classify_params *params = given;
    const tenon_tensor *y = v[CLASSIFY_Y];
    double *x = tn_host_read(v[CLASSIFY_X], y->rank, y->shape);
    for (int64_t i = 0; x != NULL && i < tenon_tensor_elements(y); i++)
        results[i] = (tn_bounded){classified(params->kind, x[i]), 0};
    const bool is_done = x != NULL;
    free(x);
    return is_done;
}

/* Returns a / 2^b, rounded down, or a · 2^b modulo 2^64. */
static int64_t shifted(uint32_t kind, int64_t a, int64_t b, int64_t bits)
{
    const int64_t steps = b < 0 || b > bits ? bits : b;
    for (int64_t i = 0; i < steps; i++)
        a = kind == TENON_LOGIC_SHIFT_LEFT ? (int64_t)((uint64_t)a * 2) : (a - (a & 1)) / 2;
    return a;
}

static int64_t combined(uint32_t kind, tenon_dtype dtype, int64_t a, int64_t b)
{
    switch (kind) {
    case TENON_LOGIC_AND:
        return a & b;
    case TENON_LOGIC_OR:
        return a | b;
    case TENON_LOGIC_XOR:
        return a ^ b;
    case TENON_LOGIC_NOT:
        return dtype == TENON_DTYPE_BOOL ? a == 0 : ~a;
    default:
        return shifted(kind, a, b, 8 * (int64_t)tenon_dtype_size(dtype));
    }
}

bool tn_logic_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_logic_params *params = given;
    const tenon_tensor *d = v[LOGIC_D];
    const tenon_tensor a = widened(v[LOGIC_A], d),
                       b = v[LOGIC_B] != NULL ? widened(v[LOGIC_B], d) : a;
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < tenon_tensor_elements(d); i++) {
        const scalar x = number_at(&a, index), y = number_at(&b, index);
        results[i] = tn_whole_stored(d->dtype, combined(params->kind, d->dtype, x.whole, y.whole));
        tn_next_index(index, d->shape, d->rank);
    }
    return true;
}

bool tn_where_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *d = v[WHERE_D];
    const tenon_tensor condition = widened(v[WHERE_CONDITION], d), a = widened(v[WHERE_A], d),
                       b = widened(v[WHERE_B], d);
    int64_t index[TENON_MAX_RANK] = {0};
    (void)params;
    for (int64_t i = 0; i < tenon_tensor_elements(d); i++) {
        const bool chosen = number_at(&condition, index).whole != 0;
        const void *element = tn_host_element(chosen ? &a : &b, index);
        results[i] = d->dtype == TENON_DTYPE_I64
                         ? tn_whole(tn_dtype_load_whole(d->dtype, element))
                         : (tn_bounded){tn_result_load(d->dtype, element), 0};
        tn_next_index(index, d->shape, d->rank);
    }
    return true;
}

/* Begins case `number` of `kinds`: each kind in two layouts. */
static bool begin_kind(const tn_operation *operation, const tn_problem *problem, uint32_t number,
                       uint32_t kinds, tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    if (number == 2 * kinds)
        return false;
    tn_pointwise_awkward(operation, like->from, like->to, (tn_layout)(number % TN_LAYOUTS), c);
    return true;
}

bool tn_compare_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                        tn_case *c)
{
    (void)choice;
    if (!begin_kind(&tn_operation_compare, problem, number, TENON_COMPARE_GREATER_EQUAL + 1, c))
        return false;
    ((tenon_compare_params *)c->params.bytes)->kind = number / 2;
    return true;
}

bool tn_classify_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                         tn_case *c)
{
    (void)choice;
    if (!begin_kind(&tn_operation_classify, problem, number, TENON_CLASSIFY_FINITE + 1, c))
        return false;
    ((tenon_classify_params *)c->params.bytes)->kind = number / 2;
    return true;
}

bool tn_logic_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                      tn_case *c)
{
    const bool is_bool = ((const tn_pointwise_problem *)problem)->to == TENON_DTYPE_BOOL;
    const uint32_t kind = number / 2;
    (void)choice;
    if (!begin_kind(&tn_operation_logic, problem, number,
                    (is_bool ? TENON_LOGIC_NOT : TENON_LOGIC_SHIFT_RIGHT) + 1, c))
        return false;
    ((tenon_logic_params *)c->params.bytes)->kind = kind;
    if (kind == TENON_LOGIC_NOT)
        c->views[LOGIC_B].dtype = TENON_DTYPE_INVALID;
    return true;
}

bool tn_where_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                      tn_case *c)
{
    const uint32_t type = ((const tn_pointwise_problem *)problem)->to;
    (void)choice;
    if (number == TN_LAYOUTS)
        return false;
    tn_pointwise_awkward(&tn_operation_where, type, type, (tn_layout)number, c);
    c->views[WHERE_CONDITION].dtype = TENON_DTYPE_BOOL;
    c->views[WHERE_CONDITION].offset = 3;
    return true;
}

/* Writes one of a few values, so that equal ones are frequent, or of a floating-point type a NaN or
 * an infinity. Others are left as they are. */
static void put_special(tenon_dtype dtype, void *element, uint64_t *seed)
{
    static const double values[] = {0,           1, -1, -0.0, (double)INFINITY, -(double)INFINITY,
                                    (double)NAN, 2};
    const int number = (int)((tn_random(seed) + 1) * 6);
    if (number < 8 && dtype != TENON_DTYPE_BOOL)
        tn_dtype_store(dtype, element, values[number]);
}

static void fill_specially(const tenon_tensor *view, uint64_t *seed)
{
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t rows = view != NULL ? tn_host_rows(view) : 0; rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(view, index);
        for (int64_t i = 0; i < row.count; i++)
            put_special(view->dtype, row.first + i * row.step, seed);
    }
}

void tn_compare_fill(const void *params, const tenon_tensor *const *views, uint64_t *seed)
{
    (void)params;
    fill_specially(views[COMPARE_A], seed);
    fill_specially(views[COMPARE_B], seed);
}

void tn_classify_fill(const void *params, const tenon_tensor *const *views, uint64_t *seed)
{
    (void)params;
    fill_specially(views[CLASSIFY_X], seed);
}

/* Shifts need numbers near and below the number of bits. */
void tn_logic_fill(const void *given, const tenon_tensor *const *views, uint64_t *seed)
{
    const tenon_logic_params *params = given;
    if (params->kind >= TENON_LOGIC_SHIFT_LEFT && views[LOGIC_B] != NULL)
        tn_case_integers(views[LOGIC_B], tn_dtype_is_unsigned(views[LOGIC_B]->dtype) ? 0 : -2,
                         8 * (int64_t)tenon_dtype_size(views[LOGIC_B]->dtype) + 1, seed);
}
