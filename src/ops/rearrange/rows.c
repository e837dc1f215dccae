/* rearrange/rows, which copies or fills lines. */
#include "ops/common/index.h"
#include "ops/common/walk.h"
#include "ops/rearrange/internal.h"

#include <stddef.h>
#include <string.h>

/* Sets no time estimate, because there is no other solver. */
static const char *rearrange_rows_configure(tenon_context *context, const tn_problem *problem,
                                            tn_choice *choice)
{
    const rearrange_problem *p = (const rearrange_problem *)problem;
    tn_element_options(context, (tenon_dtype)p->dtype, NULL, choice->options);
    strcat(choice->options, tn_index_option(p->index_type));
    return NULL;
}

/* The arguments of any kernel, all of which begin with the walk. */
typedef union any_args {
    walk_args walk;
    rearrange_args wrapped;
    triangle_args triangle;
    reverse_args reversed;
    one_hot_args one_hot;
} any_args;

/* A kernel, the view of the walk to which each operand belongs, and the positions of scalars. */
typedef struct kernel {
    const char *name;
    size_t args_size;
    uint32_t operand_count, views[REVERSE_OPERANDS];
    uint32_t scalar_count, scalars[2];
} kernel;

/* By rearrange_kind. */
static const kernel kernels[] = {
    {"wrapped", sizeof(rearrange_args), REARRANGE_OPERANDS, {REARRANGE_X, REARRANGE_Y}, 0, {0}},
    {"triangle",
     sizeof(triangle_args),
     REARRANGE_OPERANDS,
     {REARRANGE_X, REARRANGE_Y},
     1,
     {offsetof(triangle_args, value)}},
    {"reversed",
     sizeof(reverse_args),
     REVERSE_OPERANDS,
     {REARRANGE_X, REARRANGE_LIST, REARRANGE_Y},
     0,
     {0}},
    {"one_hot",
     sizeof(one_hot_args),
     ONE_HOT_OPERANDS,
     {REARRANGE_LIST, REARRANGE_Y},
     2,
     {offsetof(one_hot_args, on), offsetof(one_hot_args, off)}}};

/* Sets the arguments that follow the walk. */
static void put_args(const rearrange_problem *p, any_args *args)
{
    switch (p->kind) {
    case REARRANGE_WRAPPED:
        args->wrapped.flips = p->flips;
        memcpy(args->wrapped.size, p->size, sizeof p->size);
        memcpy(args->wrapped.begin, p->begin, sizeof p->begin);
        break;
    case REARRANGE_TRIANGLE:
        args->triangle.most = p->most;
        break;
    case REARRANGE_REVERSED:
        args->reversed.size = p->axis_size;
        args->reversed.step = p->axis_step;
        break;
    default:
        args->one_hot.classes = p->axis_size;
        args->one_hot.from_end = p->from_end;
    }
}

/* Sets the operands and the patches of their offsets and of scalars. Returns the number of patches.
 */
static uint32_t put_operands(const kernel *k, const rearrange_problem *p, tn_launch *launch,
                             tn_patch *patches)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < k->operand_count; i++) {
        const size_t at = offsetof(walk_args, offset) + k->views[i] * sizeof(tenon_i64);
        const uint32_t type = k->views[i] == REARRANGE_LIST ? p->index_type : p->dtype;
        launch->operands[i] = i;
        patches[count++] = (tn_patch){TN_PATCH_OFFSET, (uint16_t)i, (uint16_t)at,
                                      (uint32_t)tenon_dtype_size((tenon_dtype)type)};
    }
    for (uint32_t i = 0; i < k->scalar_count; i++)
        patches[count++] = (tn_patch){TN_PATCH_SCALAR_F64, (uint16_t)i, (uint16_t)k->scalars[i], 1};
    return count;
}

static tenon_status rearrange_rows_launch(const char *caller, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    const rearrange_problem *p = (const rearrange_problem *)problem;
    const kernel *k = &kernels[p->kind];
    const uint32_t last = p->rank - 1;
    const bool is_dense = p->stride[REARRANGE_Y][last] == 1 && p->stride[REARRANGE_X][last] <= 1;
    const int64_t lanes = tn_element_lanes(recording->context, (tenon_dtype)p->dtype);
    tn_patch patches[REVERSE_OPERANDS + 2];
    any_args args = {0};
    tn_launch launch = {.source = "rearrange/forward",
                        .options = choice->options,
                        .kernel = k->name,
                        .operand_count = k->operand_count,
                        .args = &args,
                        .args_size = k->args_size,
                        .patches = patches};
    args.walk.rank = (tenon_i32)p->rank;
    memcpy(args.walk.shape, p->shape, sizeof p->shape);
    memcpy(args.walk.stride, p->stride, sizeof p->stride);
    put_args(p, &args);
    launch.patch_count = put_operands(k, p, &launch, patches);
    tn_walk_cut(recording->context, (tn_stream_share){is_dense ? lanes : 1, 1}, &args.walk,
                &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_rearrange_rows = {.name = "rows",
                                     .serves = "everything; copies or fills lines",
                                     .configure = rearrange_rows_configure,
                                     .launch = rearrange_rows_launch};
