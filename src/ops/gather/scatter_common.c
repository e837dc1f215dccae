/* Parts that the solvers of scatter and of gather's gradient have in common. */
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"
#include "ops/common/walk.h"
#include "ops/gather/internal.h"

#include <stddef.h>
#include <string.h>

int64_t tn_scatter_columns(const scatter_problem *p)
{
    int64_t count = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

int64_t tn_scatter_sign(const scatter_problem *p)
{
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    if (!tn_dtype_is_integer(dtype) || tn_dtype_is_unsigned(dtype))
        return 0;
    return (int64_t)(UINT64_C(1) << (8 * tenon_dtype_size(dtype) - 1));
}

static void put_options(tenon_context *context, const scatter_problem *p, tn_choice *choice)
{
    char tuple[GATHER_TUPLE_SIZE];
    const char *registers = tn_gpu_registers_option(context);
    tn_gather_tuple_options(p->index_type, &p->tuple, tuple);
    if (tn_dtype_is_float((tenon_dtype)p->dtype) && p->op != TENON_SCATTER_SET)
        tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s%s", p->dtype,
                          tn_lanes(context, p->dtype), tn_gpu_option(context), registers, tuple);
    else
        tn_choice_options(context, choice,
                          "-DTENON_BITS=1 -DTENON_COPY_SIZE=%u -DTENON_VW=%u%s%s%s",
                          (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype),
                          tn_element_lanes(context, (tenon_dtype)p->dtype), tn_gpu_option(context),
                          registers, tuple);
}

void tn_scatter_configure(tenon_context *context, const scatter_problem *p, tn_choice *choice)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype),
                 columns = (double)tn_scatter_columns(p),
                 zeros = p->from_zero ? columns * (double)p->keys : 0,
                 moved = columns * (double)p->list.count;
    const tn_work zero = {
        .launches = p->from_zero, .vector_elements = zeros, .bytes = zeros * size};
    const tn_work updates = {.launches = 1,
                             .follows = p->from_zero,
                             .rate = tn_sum_rate(p->dtype),
                             .vector_elements = 3 * moved,
                             .bytes = 3 * moved * size};
    if (p->from_zero)
        tn_choice_add(context, choice, &zero);
    tn_choice_add(context, choice, &updates);
    put_options(context, p, choice);
}

static void table_append(tn_space *space, int64_t size, int64_t stride)
{
    if (size == 1)
        return;
    space->shape[space->rank] = size;
    space->stride[0][space->rank++] = stride;
}

/* Returns the space of the whole table. */
static tn_space table_of(const scatter_problem *p)
{
    tn_space space = {.views = 1};
    for (uint64_t d = 0; d < p->rank; d++)
        table_append(&space, p->shape[d], p->stride[1][d]);
    for (int64_t d = 0; d < p->key_rank; d++)
        table_append(&space, p->key_shape[d], p->key_stride[d]);
    tn_space_sort(&space, 0);
    tn_space_collapse(&space);
    return space;
}

tenon_status tn_scatter_begin(const char *caller, tn_recording *recording, const scatter_problem *p)
{
    if (!p->from_zero)
        return TENON_OK;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const tn_space space = table_of(p);
    const tn_patch patches[] = {{TN_PATCH_OFFSET, GATHER_TO,
                                 offsetof(gather_zero_args, walk.offset[0]),
                                 (uint32_t)tenon_dtype_size(dtype)}};
    char options[TN_OPTIONS_SIZE];
    gather_zero_args args = {.walk.rank = (tenon_i32)space.rank};
    tn_launch zero = {.source = "gather/zero",
                      .options = options,
                      .kernel = "zero",
                      .operands = {GATHER_TO},
                      .operand_count = 1,
                      TN_ARGS(args),
                      TN_PATCHES(patches)};
    memcpy(args.walk.shape, space.shape, sizeof space.shape);
    memcpy(args.walk.stride[0], space.stride[0], sizeof space.stride[0]);
    if (space.rank == 0)
        args.walk.rank = (tenon_i32)(args.walk.shape[0] = 1);
    tn_element_options(recording->context, dtype, NULL, options);
    const bool is_dense = args.walk.stride[0][args.walk.rank - 1] == 1;
    const tn_stream_share share = {is_dense ? tn_element_lanes(recording->context, dtype) : 1, 1};
    tn_walk_cut(recording->context, share, &args.walk, &zero);
    return tn_record(caller, recording, &zero);
}
