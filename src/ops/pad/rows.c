/* The problem of padding, and pad/rows, which copies lines between their padded ends. */
#include "ops/common/walk.h"
#include "ops/pad/internal.h"

#include <stddef.h>
#include <string.h>

static bool is_padded(const pad_dimension *d)
{
    return d->y_size != d->x_size;
}

/* Returns true if two dimensions merge. The padding at either end of x must stay one block. */
static bool mergeable(const pad_dimension *outer, const pad_dimension *inner, uint32_t mode)
{
    return !is_padded(inner) && (mode == PAD_CONSTANT || !is_padded(outer)) &&
           outer->y_stride == inner->y_stride * inner->y_size &&
           (outer->x_size <= 1 || outer->x_stride == inner->x_stride * inner->x_size);
}

static void append(pad_problem *problem, pad_dimension d)
{
    pad_dimension *last = problem->dimension + problem->rank - 1;
    if (problem->rank > 0 && mergeable(last, &d, problem->mode)) {
        d.begin = last->begin * d.y_size;
        d.x_size *= last->x_size;
        d.y_size *= last->y_size;
        *last = d;
    } else {
        problem->dimension[problem->rank++] = d;
    }
}

void tn_pad_canonicalize(const tenon_pad_params *params, const tenon_tensor *x,
                         const tenon_tensor *y, pad_problem *problem)
{
    pad_dimension sorted[TENON_MAX_RANK];
    uint32_t count = 0;
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = y->dtype;
    problem->mode = params->mode;
    for (uint32_t d = 0; d < y->rank; d++) {
        if (y->shape[d] == 1 && x->shape[d] == 1)
            continue;
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1].y_stride < y->stride[d]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = (pad_dimension){y->shape[d], x->shape[d], params->begin[d], y->stride[d],
                                     x->shape[d] > 1 ? x->stride[d] : 0};
    }
    for (uint32_t d = 0; d < count; d++)
        append(problem, sorted[d]);
    if (count == 0)
        append(problem, (pad_dimension){1, 1, 0, 0, 0});
}

/* Sets no time estimate, because there is no other solver. */
static const char *pad_rows_configure(tenon_context *context, const tn_problem *problem,
                                      tn_choice *choice)
{
    tn_element_options(context, (tenon_dtype)((const pad_problem *)problem)->dtype, NULL,
                       choice->options);
    return NULL;
}

static tenon_status pad_rows_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const pad_problem *p = (const pad_problem *)problem;
    const pad_dimension *last = &p->dimension[p->rank - 1];
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {{TN_PATCH_OFFSET, PAD_Y, offsetof(pad_args, walk.offset[0]), size},
                                {TN_PATCH_OFFSET, PAD_X, offsetof(pad_args, walk.offset[1]), size},
                                {TN_PATCH_SCALAR_F64, 0, offsetof(pad_args, value), 1}};
    pad_args args = {.walk.rank = (tenon_i32)p->rank, .mode = (tenon_i32)p->mode};
    tn_launch rows = {.source = "pad/forward",
                      .options = choice->options,
                      .kernel = "forward",
                      .operands = {PAD_X, PAD_Y},
                      .operand_count = PAD_OPERANDS,
                      TN_ARGS(args),
                      TN_PATCHES(patches)};
    for (uint64_t d = 0; d < p->rank; d++) {
        args.walk.shape[d] = p->dimension[d].y_size;
        args.walk.stride[0][d] = p->dimension[d].y_stride;
        args.walk.stride[1][d] = p->dimension[d].x_stride;
        args.size[d] = p->dimension[d].x_size;
        args.begin[d] = p->dimension[d].begin;
    }
    const int64_t lanes = tn_element_lanes(recording->context, (tenon_dtype)p->dtype);
    const int64_t unit = last->y_stride == 1 && last->x_stride == 1 ? lanes : 1;
    tn_walk_cut(recording->context, (tn_stream_share){unit, 1}, &args.walk, &rows);
    return tn_record(caller, recording, &rows);
}

const tn_solver tn_pad_rows = {
    .name = "rows",
    .serves = "any strides, every mode; copies lines between their padded ends",
    .configure = pad_rows_configure,
    .launch = pad_rows_launch};
