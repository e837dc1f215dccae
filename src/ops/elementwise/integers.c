/* The solver elementwise/integers, for integer types, and its reference. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/host.h"
#include "ops/elementwise/internal.h"

static tenon_status integers_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    elementwise_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launch = {.source = "elementwise/integers",
                              .options = choice->options,
                              .kernel = "integers",
                              .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launch, &args.walk,
                               tn_stored_share(recording->context, p));
}

const tn_solver tn_elementwise_integers = {.name = "integers",
                                           .serves = "integer types, any strides and broadcasts",
                                           TN_PARAMETERS(tn_stores_parameter, 1),
                                           .configure = tn_integers_configure,
                                           .launch = integers_launch};

/* Returns a power modulo 2^64 by repeated multiplication, or 1 / a^-b rounded toward zero. */
static int64_t power(int64_t a, int64_t b)
{
    uint64_t result = 1;
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
    for (int bit = 62; bit >= 0; bit--) {
        result *= result;
        if ((b >> bit & 1) != 0)
            result *= (uint64_t)a;
    }
    return (int64_t)result;
}

/* Returns the remainder with the sign of a, or with `like_b` that of b. */
static int64_t remainder_of(int64_t a, int64_t b, bool like_b)
{
    if (b == 0 || b == -1)
        return 0;
    const int64_t rest = a % b;
    return like_b && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* Returns a ∘ b in 64 bits. Sums, differences, products and powers wrap around; the caller cuts
 * them to the width of the type. */
static int64_t combine(uint32_t kind, int64_t a, int64_t b)
{
    switch (kind) {
    case TENON_ELEMENTWISE_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case TENON_ELEMENTWISE_SUBTRACT:
        return (int64_t)((uint64_t)a - (uint64_t)b);
    case TENON_ELEMENTWISE_MULTIPLY:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case TENON_ELEMENTWISE_DIVIDE:
        if (b == 0)
            return 0;
        return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    case TENON_ELEMENTWISE_MAX:
        return a > b ? a : b;
    case TENON_ELEMENTWISE_MIN:
        return a < b ? a : b;
    case TENON_ELEMENTWISE_POW:
        return power(a, b);
    default:
        return remainder_of(a, b, kind == TENON_ELEMENTWISE_REMAINDER);
    }
}

void tn_integers_reference(uint32_t kind, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *d = v[ELEMENTWISE_D];
    const tenon_tensor a = tenon_tensor_broadcast(*v[ELEMENTWISE_A], d->rank, d->shape),
                       b = tenon_tensor_broadcast(*v[ELEMENTWISE_B], d->rank, d->shape);
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t i = 0; i < tenon_tensor_elements(d); i++) {
        const int64_t x = tn_dtype_load_whole(a.dtype, tn_host_element(&a, index)),
                      y = tn_dtype_load_whole(b.dtype, tn_host_element(&b, index));
        results[i] = tn_whole_stored(d->dtype, combine(kind, x, y));
        tn_next_index(index, d->shape, d->rank);
    }
}
