/* The solvers gather_backward/scan and gather_backward/sorted: each row of the gradient examines
 * all indices, or finds its own after they were sorted. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"
#include "ops/gather/internal.h"

#include <stddef.h>
#include <string.h>

/* Least elements per work-item of a CPU, to be worth its launch. A GPU's work-item has a vector of
 * a row. */
#define CPU_CHUNK 8192
#define GPU_GROUP 64
/* Least pairs per work-item of the sort, and the maximum number of work-items. */
#define CPU_BLOCK  4096
#define CPU_BLOCKS 64
#define GPU_BLOCK  256
#define GPU_BLOCKS 4096

/* Offsets of the parts of the workspace, in 32-bit integers. */
typedef struct sort_layout {
    int64_t block, blocks;
    int64_t pairs[2]; /* rows, then positions; passes alternate between the two */
    int64_t counts, totals, end;
    int32_t passes;
} sort_layout;

static sort_layout layout_of(tenon_context *context, const gather_backward_problem *p)
{
    bool is_cpu = context->device.is_cpu;
    int64_t count = p->list.count, even = tn_round_up(count, 32);
    sort_layout l = {.block = tn_max_i64(is_cpu ? CPU_BLOCK : GPU_BLOCK,
                                         tn_ceil_div(count, is_cpu ? CPU_BLOCKS : GPU_BLOCKS))};
    l.blocks = tn_ceil_div(count, l.block);
    l.pairs[1] = 2 * even;
    l.counts = 4 * even;
    l.totals = l.counts + l.blocks * GATHER_DIGITS;
    l.end = l.totals + GATHER_DIGITS;
    /* The row number `size` represents indices out of range. */
    for (int64_t most = p->size; most > 0; most /= GATHER_DIGITS)
        l.passes++;
    return l;
}

static int64_t elements_of(const gather_backward_problem *p)
{
    int64_t count = 1;
    for (uint32_t d = 0; d < p->rank; d++)
        count *= p->shape[d];
    return count;
}

/* Configures either solver; `more` is the additional work of one. */
static const char *gather_backward_configure(tenon_context *context,
                                             const gather_backward_problem *p, tn_work more,
                                             tn_choice *choice)
{
    const double elements = (double)elements_of(p) * (double)(p->size + p->list.count);
    const tn_work both = {.launches = 1,
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = elements,
                          .bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &both);
    tn_choice_add(context, choice, &more);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s%s", p->dtype,
                      tn_lanes(context, p->dtype), tn_gpu_option(context),
                      tn_gpu_registers_option(context));
    return NULL;
}

static const char *configure_scan(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const gather_backward_problem *p = (const gather_backward_problem *)problem;
    const int64_t vectors = tn_ceil_div(elements_of(p), (context->device.is_cpu ? 4 : 1) *
                                                            (int64_t)tn_lanes(context, p->dtype));
    const double looks = (double)p->size * (double)p->list.count * (double)vectors;
    return gather_backward_configure(context, p, (tn_work){.scalar = looks}, choice);
}

static const char *configure_sorted(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const gather_backward_problem *p = (const gather_backward_problem *)problem;
    const sort_layout l = layout_of(context, p);
    /* A pass counts digits per block, computes prefix sums of the counts, and moves the pairs. */
    const tn_work passes = {.launches = 3.0 * l.passes,
                            .follows = true,
                            .groups = (double)l.blocks,
                            .scalar = 5.0 * l.passes * (double)l.blocks *
                                      ((double)l.block + 0.4 * GATHER_DIGITS)};
    *TN_LAYOUT(sort_layout, choice) = l;
    choice->workspace = (uint64_t)l.end * sizeof(int32_t);
    return gather_backward_configure(context, p, passes, choice);
}

/* Records the three launches of a pass, which differ only in kernel and sizes. */
static tenon_status record_pass(const char *caller, tn_recording *recording,
                                const gather_sort_args *args)
{
    static const char *const kernels[] = {"digit_counts", "digit_places", "place_pairs"};
    const bool is_cpu = recording->context->device.is_cpu;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(gather_sort_args, workspace), sizeof(int32_t)},
        {TN_PATCH_OFFSET, GATHER_INDICES, offsetof(gather_sort_args, offset), sizeof(int32_t)}};
    char text[TN_OPTIONS_SIZE];
    tn_build_options(recording->context, text, "%s", tn_gpu_option(recording->context));
    for (int k = 0; k < 3; k++) {
        bool has_indices = k != 1;
        int64_t items = has_indices ? args->blocks : GATHER_DIGITS;
        tn_launch launch = {.source = "gather/sort",
                            .options = text,
                            .kernel = kernels[k],
                            .dimensions = 1,
                            .local = {is_cpu ? 1 : GPU_GROUP},
                            .operands = {GATHER_INDICES, TN_WORKSPACE},
                            .operand_count = 2,
                            TN_ARGS(*args),
                            TN_PATCHES(patches)};
        if (!has_indices) {
            launch.operands[0] = TN_WORKSPACE;
            launch.operand_count = 1;
        }
        launch.global[0] = (size_t)tn_round_up(items, (int64_t)launch.local[0]);
        TN_TRY(tn_record(caller, recording, &launch));
    }
    return TENON_OK;
}

/* Records the sort. Sets *sorted_at to the offset of the sorted pairs. */
static tenon_status record_sort(const char *caller, tn_recording *recording,
                                const gather_backward_problem *p, const sort_layout *l,
                                int64_t *sorted_at)
{
    for (int32_t pass = 0; pass < l->passes; pass++) {
        const gather_sort_args args = {.list = p->list,
                                       .rows = p->size,
                                       .block = l->block,
                                       .blocks = l->blocks,
                                       .from_at = l->pairs[(pass + 1) % 2],
                                       .to_at = l->pairs[pass % 2],
                                       .counts_at = l->counts,
                                       .totals_at = l->totals,
                                       .shift = 8 * pass};
        if (l->blocks > 0)
            TN_TRY(record_pass(caller, recording, &args));
        *sorted_at = args.to_at;
    }
    return TENON_OK;
}

static void cut(tenon_context *context, const gather_backward_problem *p,
                gather_backward_args *args, tn_launch *launch)
{
    bool is_cpu = context->device.is_cpu;
    int64_t inner = p->shape[p->rank - 1];
    args->lines = elements_of(p) / inner;
    args->chunk = is_cpu ? CPU_CHUNK : (int64_t)tn_lanes(context, p->dtype);
    args->pieces = tn_ceil_div(inner, args->chunk);
    args->rows_each = is_cpu ? tn_max_i64(CPU_CHUNK / inner, 1) : 1;
    args->items = args->pieces * args->lines * tn_ceil_div(p->size, args->rows_each);
    launch->dimensions = 1;
    launch->local[0] = is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(args->items, (int64_t)launch->local[0]);
}

static tenon_status record_sums(const char *caller, tn_recording *recording,
                                const gather_backward_problem *p, const tn_choice *choice,
                                int64_t sorted_at)
{
    const bool sorted = tn_is_solver(choice->solver, &tn_gather_backward_sorted);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GATHER_FROM, offsetof(gather_backward_args, dy_offset), size},
        {TN_PATCH_OFFSET, GATHER_TO, offsetof(gather_backward_args, dx_offset), size},
        sorted ? (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE,
                            offsetof(gather_backward_args, workspace), sizeof(int32_t)}
               : (tn_patch){TN_PATCH_OFFSET, GATHER_INDICES,
                            offsetof(gather_backward_args, index_offset), sizeof(int32_t)}};
    gather_backward_args args = {
        .list = p->list, .sorted_at = sorted_at, .rows = p->size, .step = p->step, .rank = p->rank};
    tn_launch launch = {
        .source = "gather/backward",
        .options = choice->options,
        .kernel = sorted ? "backward_sorted" : "backward_scan",
        .operands = {GATHER_FROM, sorted ? TN_WORKSPACE : GATHER_INDICES, GATHER_TO},
        .operand_count = GATHER_OPERANDS,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    memcpy(args.shape, p->shape, sizeof p->shape);
    memcpy(args.stride, p->stride, sizeof p->stride);
    cut(recording->context, p, &args, &launch);
    return tn_record(caller, recording, &launch);
}

static tenon_status launch_scan(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    return record_sums(caller, recording, (const gather_backward_problem *)problem, choice, 0);
}

static tenon_status launch_sorted(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const gather_backward_problem *p = (const gather_backward_problem *)problem;
    int64_t sorted_at = 0;
    TN_TRY(record_sort(caller, recording, p, TN_LAYOUT(const sort_layout, choice), &sorted_at));
    return record_sums(caller, recording, p, choice, sorted_at);
}

const tn_solver tn_gather_backward_scan = {
    .name = "scan",
    .serves = "everything; each row examines all indices; best for few rows or few indices",
    .configure = configure_scan,
    .launch = launch_scan};

const tn_solver tn_gather_backward_sorted = {
    .name = "sorted",
    .serves = "everything; sorts the indices, then each row finds its own",
    .needs = "workspace of about 20 bytes per index",
    .configure = configure_sorted,
    .launch = launch_sorted};
