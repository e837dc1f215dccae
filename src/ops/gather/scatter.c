/* The solvers scan and sorted of scatter and gather_backward: each key examines all tuples, or the
 * tuples are sorted by their keys. */
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
    int64_t pairs[2]; /* keys, then positions; passes alternate between the two */
    int64_t counts, totals, end;
    int32_t passes;
} sort_layout;

static sort_layout layout_of(tenon_context *context, const scatter_problem *p)
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
    /* The key `keys` represents tuples out of range. */
    for (int64_t most = p->keys; most > 0; most /= GATHER_DIGITS)
        l.passes++;
    return l;
}

static const char *configure_scan(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    const int64_t vectors =
        tn_ceil_div(tn_scatter_columns(p),
                    (context->device.is_cpu ? 4 : 1) * (int64_t)tn_lanes(context, p->dtype));
    const tn_work looks = {.scalar = (double)p->keys * (double)p->list.count * (double)vectors};
    tn_choice_add(context, choice, &looks);
    tn_scatter_configure(context, p, choice);
    return NULL;
}

static const char *configure_sorted(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    const sort_layout l = layout_of(context, p);
    /* A pass counts digits per block, computes prefix sums of the counts, and moves the pairs. */
    const tn_work passes = {.launches = 3.0 * l.passes,
                            .follows = true,
                            .groups = (double)l.blocks,
                            .scalar = 5.0 * l.passes * (double)l.blocks *
                                      ((double)l.block + 0.4 * GATHER_DIGITS)};
    *TN_LAYOUT(sort_layout, choice) = l;
    choice->workspace = (uint64_t)l.end * sizeof(int32_t);
    tn_choice_add(context, choice, &passes);
    tn_scatter_configure(context, p, choice);
    return NULL;
}

/* Records the three launches of a pass, which differ only in kernel and sizes. */
static tenon_status record_pass(const char *caller, tn_recording *recording,
                                const scatter_problem *p, const gather_sort_args *args)
{
    static const char *const kernels[] = {"digit_counts", "digit_places", "place_pairs"};
    const bool is_cpu = recording->context->device.is_cpu;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(gather_sort_args, workspace), sizeof(int32_t)},
        {TN_PATCH_OFFSET, GATHER_INDICES, offsetof(gather_sort_args, offset),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->index_type)}};
    char text[TN_OPTIONS_SIZE], tuple[GATHER_TUPLE_SIZE];
    tn_build_options(recording->context, text, "%s%s", tn_gpu_option(recording->context),
                     tn_gather_tuple_options(p->index_type, &p->tuple, tuple));
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
                                const scatter_problem *p, const sort_layout *l, int64_t *sorted_at)
{
    for (int32_t pass = 0; pass < l->passes; pass++) {
        const gather_sort_args args = {.list = p->list,
                                       .tuple = p->tuple,
                                       .keys = p->keys,
                                       .block = l->block,
                                       .blocks = l->blocks,
                                       .from_at = l->pairs[(pass + 1) % 2],
                                       .to_at = l->pairs[pass % 2],
                                       .counts_at = l->counts,
                                       .totals_at = l->totals,
                                       .shift = 8 * pass};
        if (l->blocks > 0)
            TN_TRY(record_pass(caller, recording, p, &args));
        *sorted_at = args.to_at;
    }
    return TENON_OK;
}

/* Divides the columns into pieces, and `count` keys or pairs, among work-items. */
static void cut(tenon_context *context, const scatter_problem *p, int64_t count, scatter_args *args,
                tn_launch *launch)
{
    bool is_cpu = context->device.is_cpu;
    int64_t inner = p->shape[p->rank - 1];
    args->lines = tn_scatter_columns(p) / inner;
    args->chunk = is_cpu ? CPU_CHUNK : (int64_t)tn_lanes(context, p->dtype);
    args->pieces = tn_ceil_div(inner, args->chunk);
    args->each = is_cpu ? tn_max_i64(CPU_CHUNK / inner, 1) : 1;
    args->items = args->pieces * args->lines * tn_ceil_div(count, args->each);
    launch->dimensions = 1;
    launch->local[0] = is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(args->items, (int64_t)launch->local[0]);
}

static scatter_args args_of(const scatter_problem *p, int64_t sorted_at)
{
    scatter_args args = {.list = p->list,
                         .tuple = p->tuple,
                         .sorted_at = sorted_at,
                         .keys = p->keys,
                         .key_rank = p->key_rank,
                         .rank = (int64_t)p->rank,
                         .sign = tn_scatter_sign(p),
                         .op = (tenon_i32)p->op};
    memcpy(args.key_shape, p->key_shape, sizeof p->key_shape);
    memcpy(args.key_stride, p->key_stride, sizeof p->key_stride);
    memcpy(args.shape, p->shape, sizeof p->shape);
    memcpy(args.stride, p->stride, sizeof p->stride);
    return args;
}

static tenon_status record_updates(const char *caller, tn_recording *recording,
                                   const scatter_problem *p, const tn_choice *choice,
                                   int64_t sorted_at)
{
    const bool sorted = tn_is_solver(choice->solver, &tn_scatter_sorted);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GATHER_FROM, offsetof(scatter_args, update_offset), size},
        {TN_PATCH_OFFSET, GATHER_TO, offsetof(scatter_args, y_offset), size},
        sorted ? (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(scatter_args, workspace),
                            sizeof(int32_t)}
               : (tn_patch){TN_PATCH_OFFSET, GATHER_INDICES, offsetof(scatter_args, index_offset),
                            (uint32_t)tenon_dtype_size((tenon_dtype)p->index_type)}};
    scatter_args args = args_of(p, sorted_at);
    tn_launch launch = {
        .source = "gather/scatter",
        .options = choice->options,
        .kernel = sorted ? "sorted" : "scan",
        .operands = {GATHER_FROM, sorted ? TN_WORKSPACE : GATHER_INDICES, GATHER_TO},
        .operand_count = GATHER_OPERANDS,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    if (p->list.count == 0)
        return TENON_OK;
    cut(recording->context, p, sorted ? p->list.count : p->keys, &args, &launch);
    return tn_record(caller, recording, &launch);
}

static tenon_status launch_scan(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    TN_TRY(tn_scatter_begin(caller, recording, p));
    return record_updates(caller, recording, p, choice, 0);
}

static tenon_status launch_sorted(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    int64_t sorted_at = 0;
    TN_TRY(tn_scatter_begin(caller, recording, p));
    TN_TRY(record_sort(caller, recording, p, TN_LAYOUT(const sort_layout, choice), &sorted_at));
    return record_updates(caller, recording, p, choice, sorted_at);
}

const tn_solver tn_scatter_scan = {
    .name = "scan",
    .serves = "everything; each row examines all indices; best for few rows or few indices",
    .configure = configure_scan,
    .launch = launch_scan};

const tn_solver tn_scatter_sorted = {
    .name = "sorted",
    .serves = "everything; sorts the indices by the rows that they select",
    .needs = "workspace of about 20 bytes per index",
    .configure = configure_sorted,
    .launch = launch_sorted};
