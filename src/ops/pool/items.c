/* The solvers pool/items, pool/groups and pool_backward/items, for GPUs: a work-item, or a
 * work-group, per element of the output. Work-items are numbered in the order of the output's
 * memory, whatever the sizes, and use 32-bit indices. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/pool/internal.h"

#include <math.h>

#define ITEMS 128 /* per work-group */
/* Results of a work-group if they are neighbors in memory; otherwise the work-items that share a
 * result of a large window. */
#define SIDE_BY_SIDE 32
#define WINDOW_ITEMS 32
/* Sizes below this do not overflow 32-bit indices. */
#define MOST_REACH (INT64_C(1) << 29)

/* Returns true if the offsets of a plane's elements from its first one fit in 31 bits. */
static bool is_near(const int64_t size[3], const int64_t stride[POOL_RANK])
{
    int64_t span = 0, step;
    for (int d = 0; d < 3; d++)
        if (!tn_mul_i64(tn_max_i64(size[d] - 1, 0), stride[2 + d], &step) ||
            !tn_add_i64(span, step, &span))
            return false;
    return span <= INT32_MAX;
}

static bool within(int64_t x)
{
    return x > -MOST_REACH && x < MOST_REACH;
}

static bool is_narrow(const pool_problem *p)
{
    for (int d = 0; d < 3; d++) {
        int64_t reach, last;
        if (!within(p->size[d]) || !within(p->out[d]) || !within(p->start[d]) ||
            !within(p->step[d]) || !within(p->dilation[d]) || !within(p->window[d]) ||
            !tn_mul_i64(p->window[d], p->dilation[d], &reach) || !within(reach) ||
            !tn_mul_i64(p->out[d], p->step[d], &last) || !within(last))
            return false;
    }
    return is_near(p->size, p->x) && is_near(p->out, p->y) && is_near(p->out, p->indices) &&
           is_near(p->size, p->image);
}

static bool by_channels(const int64_t stride[POOL_RANK])
{
    return stride[1] == 1 && stride[4] != 1;
}

/* Returns the number of results per work-group. */
static int64_t lanes_of(const pool_problem *p)
{
    if (by_channels(p->x))
        return SIDE_BY_SIDE;
    return tn_pool_taps(p) > 16 * WINDOW_ITEMS ? 1 : ITEMS / WINDOW_ITEMS;
}

/* Estimates the work. Reads are coalesced unless each work-item has a plane of its own. */
static tn_work work_of_items(const pool_problem *p)
{
    const bool near = by_channels(p->y) ? p->x[1] == 1 : p->x[4] == 1 && p->out[2] > 1;
    const double outputs = tn_pool_elements(p, p->out);
    return (tn_work){.launches = 1,
                     .items = outputs,
                     .bytes = outputs * tn_pool_taps(p) *
                              (double)tenon_dtype_size((tenon_dtype)p->dtype),
                     .reads = near ? TN_COALESCED : TN_SHORT_ROWS};
}

/* Instructions of a work-item to divide the taps and combine the results (a guess). */
#define SHARING 100.0

static tn_work work_of_groups(const pool_problem *p)
{
    const double groups = tn_pool_elements(p, p->out) / (double)lanes_of(p);
    tn_work work = work_of_items(p);
    work.items = groups * ITEMS;
    work.instructions = groups * ITEMS * SHARING;
    work.reads = TN_COALESCED;
    return work;
}

static bool by_groups(const tn_choice *choice)
{
    return tn_is_solver(choice->solver, &tn_pool_groups);
}

static const char *pool_items_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const char *special = tn_pool_is_special(p);
    if (special != NULL)
        return special;
    if (!is_narrow(p) || tn_pool_elements(p, p->size) > INT32_MAX - ITEMS ||
        tn_pool_elements(p, p->out) > INT32_MAX - ITEMS)
        return "the images are too large";
    if (context->device.is_cpu)
        choice->never_chosen = "made for GPUs";
    const tn_work work = by_groups(choice) ? work_of_groups(p) : work_of_items(p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_POOL_MAX=%d -DTENON_ITEMS=%d",
                      p->dtype, p->kind == TENON_POOL_MAX, ITEMS);
    return NULL;
}

/* Returns a launch with a work-group for every `lanes` elements of args->line_count. */
static tn_launch make_launch(const char *source, const char *kernel, const tn_choice *choice,
                             const pool_args *args, int64_t lanes)
{
    return (tn_launch){.source = source,
                       .options = choice->options,
                       .kernel = kernel,
                       .dimensions = 1,
                       .global = {(size_t)(tn_ceil_div(args->line_count, lanes) * ITEMS)},
                       .local = {ITEMS}};
}

static tenon_status launch_forward(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const int64_t lanes = by_groups(choice) ? lanes_of(p) : ITEMS;
    pool_args args = tn_pool_arguments(p);
    args.line_count = (int64_t)tn_pool_elements(p, p->out);
    args.lines = lanes;
    args.side_by_side = by_channels(p->y);
    tn_launch launch =
        make_launch("pool/items", by_groups(choice) ? "pool_forward_groups" : "pool_forward_items",
                    choice, &args, lanes);
    return tn_pool_record_forward(caller, recording, p, &args, &launch);
}

static tenon_status launch_backward(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    pool_args args = tn_pool_arguments(p);
    args.line_count = (int64_t)tn_pool_elements(p, p->size);
    args.side_by_side = by_channels(p->x);
    tn_launch launch =
        make_launch("pool/items_backward", "pool_backward_items", choice, &args, ITEMS);
    return tn_pool_record_backward(caller, recording, p, &args, &launch);
}

const tn_solver tn_pool_items = {
    .name = "items",
    .serves = "planes whose offsets fit in 31 bits, on GPUs; a work-item per result",
    .configure = pool_items_configure,
    .launch = launch_forward};

const tn_solver tn_pool_groups = {
    .name = "groups",
    .serves = "planes whose offsets fit in 31 bits, on GPUs; a work-group shares the taps of large "
              "windows, such as a whole image",
    .configure = pool_items_configure,
    .launch = launch_forward};

const tn_solver tn_pool_backward_items = {
    .name = "items",
    .serves = "planes whose offsets fit in 31 bits, on GPUs; a work-item per result",
    .configure = pool_items_configure,
    .launch = launch_backward};
