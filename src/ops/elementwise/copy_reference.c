/* Reference of tenon_copy, in integers of 64 bits where a double would not be exact; its awkward
 * cases. */
#include "check/awkward.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"

#include <math.h>
#include <string.h>

/* Returns an integer as a double whose rounding to a floating-point type of at most 53 bits equals
 * a single rounding of the integer. f64 itself is rounded here. */
static double real_of_whole(int64_t value, tenon_dtype to)
{
    const int64_t low = value & 2047;
    if (to == TENON_DTYPE_F64 || (value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53))
        return (double)value;
    /* The lowest bits are replaced by one that is set if any of them was: 53 bits remain. */
    return (double)((value - low) / 2048 | (low != 0)) * 2048;
}

/* Returns the integer nearest to a whole number in the range of a type. */
static int64_t saturated(double whole, tenon_dtype to)
{
    unsigned char element[8];
    tn_dtype_store(to, element, whole);
    return tn_dtype_load_whole(to, element);
}

/* Returns the lowest 64 bits of a whole number; 0 if it is not finite. */
static int64_t wrapped(double whole)
{
    if (!isfinite(whole))
        return 0;
    const uint64_t size = (uint64_t)fmod(fabs(whole), 0x1p64);
    return (int64_t)(whole < 0 ? 0 - size : size);
}

static int64_t whole_of_real(double x, tenon_dtype to, uint32_t flags)
{
    if (to == TENON_DTYPE_BOOL)
        return x != 0;
    const double whole = (flags & TENON_COPY_NEAREST) != 0 ? nearbyint(x) : trunc(x);
    return (flags & TENON_COPY_WRAP) != 0 ? wrapped(whole) : saturated(whole, to);
}

/* Returns an integer limited to the range of another type. */
static int64_t clamped(int64_t x, tenon_dtype to)
{
    const int64_t least = saturated(-(double)INFINITY, to), most = saturated((double)INFINITY, to);
    return x < least ? least : x > most ? most : x;
}

/* Returns the conversion of an element. Results of i64 are exact; a double represents all others.
 */
static tn_bounded converted(tenon_dtype from, const void *element, tenon_dtype to, uint32_t flags)
{
    unsigned char result[8];
    if (from == to)
        memcpy(result, element, tenon_dtype_size(to));
    else if (tn_dtype_is_float(from) && tn_dtype_is_float(to))
        tn_dtype_store(to, result, tn_dtype_load(from, element));
    else if (tn_dtype_is_float(from))
        tn_dtype_store_whole(to, result, whole_of_real(tn_dtype_load(from, element), to, flags));
    else if (tn_dtype_is_float(to))
        tn_dtype_store(to, result, real_of_whole(tn_dtype_load_whole(from, element), to));
    else if (to == TENON_DTYPE_BOOL || (flags & TENON_COPY_WRAP) != 0)
        tn_dtype_store_whole(to, result, tn_dtype_load_whole(from, element));
    else
        tn_dtype_store_whole(to, result, clamped(tn_dtype_load_whole(from, element), to));
    return to == TENON_DTYPE_I64 ? tn_whole(tn_dtype_load_whole(to, result))
                                 : (tn_bounded){tn_result_load(to, result), 0};
}

bool tn_copy_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_copy_params *params = given;
    const tenon_tensor *x = v[COPY_X], *y = v[COPY_Y];
    int64_t index[TENON_MAX_RANK] = {0};
    for (int64_t rows = tn_host_rows(x); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(x, index);
        for (int64_t i = 0; i < row.count; i++)
            *results++ = converted(x->dtype, row.first + i * row.step, y->dtype, params->flags);
    }
    return true;
}

/* A solver that only supports transposes lists the size of the planes in `awkward`. The case has
 * two planes, with gaps. */
bool tn_copy_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    const int64_t shape[] = {2, tn_awkward_size(choice, 0, "rows", 0),
                             tn_awkward_size(choice, 0, "columns", 0)};
    if (number == (shape[1] > 0 ? 1 : TN_LAYOUTS))
        return false;
    tn_pointwise_awkward(&tn_operation_copy, like->from, like->to, (tn_layout)number, c);
    c->params.head.flags = like->kind;
    for (int i = 0; i < COPY_OPERANDS && shape[1] > 0; i++) {
        const int along = i == COPY_X ? 1 : 2;
        tenon_tensor *view = &c->views[i];
        *view = tn_awkward_view((tenon_dtype)like->to, 3, shape, false);
        view->stride[along] = 1;
        view->stride[3 - along] = shape[along] + 1 + along;
        view->stride[0] = (shape[1] + 3) * (shape[2] + 3);
    }
    return true;
}
