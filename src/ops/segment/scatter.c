/* The solver segment_reduce_backward/scatter, for CPUs: each work-item reads all indices, and adds
 * the terms of its rows of dx. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/segment/launch.h"

/* Elements that are worth a work-item. There is at most one work-item per compute unit, because
 * each of them reads all indices. */
#define WORTH 16384

static bool has_lines(const segment_problem *p)
{
    return p->rank == 1 && (p->shape[0] == 1 || (p->stride[SEGMENT_ROWS][0] == 1 &&
                                                 p->stride[SEGMENT_RESULTS][0] == 1));
}

static void scatter_lay_out(const tenon_context *context, const segment_problem *p,
                            segment_layout *l)
{
    const int64_t most = (int64_t)context->device.info.compute_units,
                  elements = (p->rows + p->positions) * p->shape[0],
                  items = tn_max_i64(tn_min_i64(most, elements / WORTH), 1);
    *l = (segment_layout){.lanes = 1, .chunks = 1};
    l->each = tn_max_i64(tn_ceil_div(p->rows, items), 1);
    l->items = tn_ceil_div(p->rows, l->each);
}

static const char *scatter_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if ((p->flags & SEGMENT_HAS_INDICES) == 0)
        return "there are no indices";
    if (p->dtype != TENON_DTYPE_F32 && p->dtype != TENON_DTYPE_F64)
        return "dx cannot hold the sums of this type";
    if (!has_lines(p))
        return "the rows of dx and dy are not contiguous";
    scatter_lay_out(context, p, l);
    tn_segment_counts_plan(p, 0, l);
    choice->workspace = (uint64_t)l->counted;
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype),
                 columns = (double)p->shape[0], added = columns * (double)p->positions,
                 cleared = columns * (double)p->rows;
    const tn_work work = {.launches = l->counted > 0 ? 3 : 1,
                          .groups = (double)l->items,
                          .rate = tn_sum_rate(p->dtype),
                          .scalar = (4 * (double)l->items + 10) * (double)p->positions,
                          .vector_elements = 3 * added + cleared,
                          .bytes = (2 * added + cleared) * size};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, p->index_type, p->segment_type, true, choice);
    return NULL;
}

static tenon_status scatter_launch(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    return tn_segment_record_backward(caller, recording, (const segment_problem *)problem, choice,
                                      "segment/scatter", "segment_scatter");
}

const tn_solver tn_segment_backward_scatter = {
    .name = "scatter",
    .serves = "indices, and f32 and f64 on CPUs, with contiguous rows; each work-item reads all "
              "indices for some rows of dx",
    .needs = "workspace of a u32 for each segment, for means, if there may be as much",
    .configure = scatter_configure,
    .launch = scatter_launch};
