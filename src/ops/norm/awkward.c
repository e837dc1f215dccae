/* The awkward cases of normalization: all kinds, with vectors along the sets and across them, with
 * tails and several pieces. */
#include "check/awkward.h"
#include "ops/common/gpu.h"
#include "ops/norm/internal.h"
#include "ops/registry.h"

/* Large enough for a missing epsilon to be detected. */
#define EPSILON 1.5
#define GROUPS  3

/* Shapes of x: samples, channels, height and width. The last one is always present. */
static const struct kind {
    tenon_norm_kind kind;
    uint32_t rank;
    int64_t shape[5];
} kinds[] = {{TENON_NORM_BATCH, 4, {3, 19, 5, 7}},
             {TENON_NORM_GROUP, 3, {2, 12, 83}},
             {TENON_NORM_LAYER, 2, {5, 227}},
             {TENON_NORM_RMS, 2, {21, 67}},
             {TENON_NORM_BATCH, 3, {3, 19, 37}}}; /* its lines merge */
#define KINDS (sizeof kinds / sizeof *kinds)
/* Replaces the first one for kernels that are built for more than TN_FEW_DIMENSIONS. */
static const struct kind many = {TENON_NORM_BATCH, 5, {3, 19, 2, 5, 3}};

static const tn_operation *operation_of(const norm_problem *like)
{
    const bool given = (like->flags & NORM_GIVEN) != 0;
    if (like->backward)
        return given ? &tn_operation_norm_inference_backward : &tn_operation_norm_backward;
    return given ? &tn_operation_norm_inference : &tn_operation_norm;
}

static tenon_tensor shape_of_x(const struct kind *kind, const tn_choice *choice, uint32_t number)
{
    tenon_tensor x = {.rank = kind->rank};
    memcpy(x.shape, kind->shape, sizeof kind->shape);
    x.shape[0] = tn_awkward_size(choice, number, "samples", x.shape[0]);
    if (x.rank > 2)
        x.shape[1] = tn_awkward_size(choice, number, "channels", x.shape[1]);
    if (x.rank > 3)
        x.shape[2] = tn_awkward_size(choice, number, "height", x.shape[2]);
    x.shape[x.rank - 1] = tn_awkward_size(choice, number, "width", x.shape[x.rank - 1]);
    return x;
}

/* Returns the shape of x, of a parameter or of a statistic, as selected by `like`. */
static tenon_tensor shape_of(const tenon_tensor *x, tenon_norm_kind kind, int like)
{
    const bool over_last = x->rank == 2;
    tenon_tensor view = {.rank = 1, .shape = {x->shape[1]}};
    if (like == NORM_X)
        return *x;
    if (like == NORM_MEAN && over_last)
        view.shape[0] = x->shape[0];
    if (like == NORM_MEAN && kind == TENON_NORM_GROUP) {
        view.rank = 2;
        view.shape[0] = x->shape[0];
        view.shape[1] = GROUPS;
    }
    return view;
}

/* Sets the strides, with gaps between rows. The contiguous dimension is the last one, or `channel`
 * if `across`. */
static void norm_awkward_lay_out(tenon_tensor *view, bool across, uint32_t channel, int64_t gap)
{
    uint32_t order[TENON_MAX_RANK], count = 0;
    int64_t step = 1;
    for (uint32_t d = 0; d < view->rank; d++)
        if (!across || d != channel)
            order[count++] = d;
    if (across)
        order[count++] = channel;
    while (count-- > 0) {
        view->stride[order[count]] = step;
        step = step * view->shape[order[count]] + gap;
    }
}

static tenon_tensor view_of(const norm_problem *like, const tenon_tensor *x, tenon_norm_kind kind,
                            int number, bool across)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const tenon_dtype acc = dtype == TENON_DTYPE_F64 ? dtype : TENON_DTYPE_F32;
    const int shape = tn_norm_shape_of(like->backward != 0, number);
    tenon_tensor view = shape_of(x, kind, shape);
    view.dtype = shape == NORM_X || (shape == NORM_GAMMA && !like->parameter_acc) ? dtype : acc;
    view.offset = 3 * tenon_dtype_size(view.dtype);
    norm_awkward_lay_out(&view, across && shape == NORM_X, x->rank == 2 ? 0 : 1, number % 3);
    return view;
}

/* Returns true if the kind lacks the operand, or if it is optional and absent from the problem. */
static bool is_absent(const norm_problem *like, tenon_norm_kind kind, int number, bool optional)
{
    const bool is_center =
        number == NORM_MEAN || number == (like->backward ? NORM_DBETA : NORM_BETA);
    uint32_t wanted = like->flags;
    if (is_center && kind == TENON_NORM_RMS)
        return true;
    if (is_center && (like->flags & NORM_CENTERED) == 0)
        return false;
    if (!like->backward && kind != TENON_NORM_BATCH && number >= NORM_RUNNING_MEAN)
        return true;
    if (like->backward && kind == TENON_NORM_RMS && (wanted & NORM_HAS(NORM_DBETA)) != 0)
        wanted |= NORM_HAS(NORM_DGAMMA); /* at least one gradient is required */
    return optional && (wanted & NORM_HAS(number)) == 0;
}

bool tn_norm_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const norm_problem *like = (const norm_problem *)problem;
    /* Only batch normalization, the first kind, can have given statistics. */
    const uint32_t cases = 2 * ((like->flags & NORM_GIVEN) != 0 ? 1 : KINDS);
    const bool first = number % cases / 2 == 0;
    const struct kind *kind =
        first && like->rank >= TN_FEW_DIMENSIONS ? &many : &kinds[number % cases / 2];
    tenon_norm_params *params = (tenon_norm_params *)c->params.bytes;
    if (number == cases * tn_awkward_count(choice))
        return false;
    const tenon_tensor x = shape_of_x(kind, choice, number / cases);
    tn_awkward_begin(c, operation_of(like));
    params->kind = kind->kind;
    params->groups = GROUPS;
    params->epsilon = EPSILON;
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        const int v = tn_norm_number(c->operation, i);
        if (!is_absent(like, kind->kind, v, c->operation->operands[i].optional))
            c->views[i] = view_of(like, &x, kind->kind, v, number % 2 != 0);
    }
    return true;
}
