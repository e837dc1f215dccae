/* The solvers sort/rank and sort/select, which need no workspace, and the arguments of all kernels.
 */
#include "base/checked.h"
#include "base/dtype.h"
#include "ops/common/gpu.h"
#include "ops/common/stores.h"
#include "ops/sort/internal.h"

#include <math.h>
#include <stddef.h>

/* Least comparisons per work-item of a CPU, to be worth its launch, and the maximum number of
 * pieces of a row. */
#define CPU_CHUNK  65536
#define CPU_PIECES 64
#define GPU_GROUP  64

/* The layout of a choice. */
typedef struct rank_layout {
    int64_t each, pieces, length, items; /* as in sort_args, and the number of work-items */
} rank_layout;

void tn_sort_options(tenon_context *context, const sort_problem *p, tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_KEY=%u%s%s%s",
                      (unsigned)tenon_dtype_size((tenon_dtype)p->dtype), tn_gpu_option(context),
                      choice->solver->parameter_count > 0 ? tn_stores_option(choice->values) : "",
                      p->wide != 0 ? " -DTENON_WIDE=1" : "");
}

/* Sets the rule by which keys.clh makes keys of a type's bits. */
static void fill_rule(const sort_problem *p, sort_args *args)
{
    const uint64_t all = UINT64_MAX >> (64 - 8 * tenon_dtype_size((tenon_dtype)p->dtype));
    const uint64_t highest = all ^ all >> 1;
    uint64_t infinity = 0;
    switch ((tenon_dtype)p->dtype) {
    case TENON_DTYPE_F64:
        infinity = UINT64_C(0x7ff) << 52;
        break;
    case TENON_DTYPE_F32:
        infinity = UINT64_C(0xff) << 23;
        break;
    case TENON_DTYPE_F16:
        infinity = UINT64_C(0x1f) << 10;
        break;
    case TENON_DTYPE_BF16:
        infinity = UINT64_C(0xff) << 7;
        break;
    default:
        break;
    }
    const uint64_t sign = tn_dtype_is_unsigned((tenon_dtype)p->dtype) ? 0 : highest;
    args->sign = (int64_t)sign;
    args->toggle = (int64_t)(p->descending != 0 ? sign ^ all : sign);
    args->negative_zero = infinity != 0 ? (int64_t)sign : 0;
    args->last = (int64_t)all;
    args->flip = infinity != 0 ? (int64_t)(all ^ sign) : 0;
    args->infinity = (int64_t)(infinity != 0 ? infinity : all);
}

void tn_sort_args_fill(const sort_problem *p, sort_args *args)
{
    memset(args, 0, sizeof *args);
    tn_axis_args_fill(&p->space, &args->axis);
    fill_rule(p, args);
    args->limit = p->limit;
    args->flags = (tenon_i32)p->flags;
    args->payload_size = (tenon_i32)p->payload_size;
    args->pieces = 1;
    args->each = 1;
    args->length = p->space.size;
}

tenon_status tn_sort_record(const char *caller, tn_recording *recording, const sort_problem *p,
                            const tn_choice *choice, int64_t items, tn_launch *launch)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const uint32_t index = p->wide != 0 ? sizeof(int64_t) : sizeof(int32_t);
    const uint32_t sizes[SORT_VIEWS] = {size, size, index, p->payload_size, p->payload_size};
    const uint32_t present[SORT_VIEWS] = {1, 1, p->flags & SORT_HAS_INDICES,
                                          p->flags & SORT_HAS_PAYLOAD, p->flags & SORT_HAS_PAYLOAD};
    tn_patch patches[SORT_VIEWS + 1];
    uint32_t count = 0;
    for (int v = 0; v < SORT_VIEWS; v++)
        if (present[v] != 0)
            patches[count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint16_t)p->operand[v],
                (uint16_t)(offsetof(sort_args, axis.offset) + (size_t)v * sizeof(tenon_i64)),
                sizes[v]};
    if (choice->workspace > 0)
        patches[count++] =
            (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(sort_args, workspace), 1};
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(items, (int64_t)launch->local[0]);
    launch->patches = patches;
    launch->patch_count = count;
    return tn_record(caller, recording, launch);
}

tenon_status tn_sort_record_all(const char *caller, tn_recording *recording, const sort_problem *p,
                                const tn_choice *choice, const char *source, const char *kernel,
                                const sort_args *args, int64_t items)
{
    tn_launch launch = {
        .source = source, .kernel = kernel, .operand_count = SORT_VIEWS, TN_ARGS(*args)};
    for (int v = 0; v < SORT_VIEWS; v++)
        launch.operands[v] = (uint16_t)p->operand[v];
    if (choice->workspace > 0)
        launch.operands[launch.operand_count++] = TN_WORKSPACE;
    return tn_sort_record(caller, recording, p, choice, items, &launch);
}

static const char *configure_rank(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    rank_layout *l = TN_LAYOUT(rank_layout, choice);
    const bool is_cpu = context->device.is_cpu, is_short = p->space.size <= SORT_SHORT;
    const int64_t rows = tn_axis_rows(&p->space), size = p->space.size;
    const double pairs = (double)rows * (double)size * (double)size;
    l->each = l->pieces = 1;
    if (is_cpu && is_short)
        l->each = tn_max_i64(CPU_CHUNK / (size * size), 1);
    else if (is_cpu)
        l->pieces = tn_min_i64(size, CPU_PIECES);
    else
        l->pieces = size;
    l->length = tn_ceil_div(size, l->pieces);
    l->items = tn_ceil_div(rows, l->each) * l->pieces;
    const tn_work work = {.launches = 1,
                          .items = (double)l->items,
                          .vector_elements = is_cpu ? (is_short ? 1 : 4) * pairs : 0,
                          .single_elements = is_cpu ? 8 * (double)rows * (double)size : 0,
                          .instructions = is_cpu ? 0 : 8 * pairs};
    tn_choice_add(context, choice, &work);
    tn_sort_options(context, p, choice);
    return NULL;
}

static const char *configure_select(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    rank_layout *l = TN_LAYOUT(rank_layout, choice);
    const int64_t rows = tn_axis_rows(&p->space);
    /* Insertions, if the order of the elements is random, each of which moves half of the list. */
    const double size = (double)p->space.size, k = (double)p->limit;
    const double moves = k * (1 + log(size / k)) * (k / 2 + 4);
    const bool is_cpu = context->device.is_cpu;
    const bool by_lanes =
        is_cpu && p->limit <= SORT_FEW && rows >= SORT_LANES * (int64_t)context->device.model.units;
    if (p->payload_size != 0)
        return "a payload is sorted";
    l->pieces = 1;
    l->each = is_cpu ? tn_max_i64(CPU_CHUNK / 8 / p->space.size, 1) : 1;
    if (by_lanes)
        l->each = tn_round_up(l->each, SORT_LANES);
    l->items = tn_ceil_div(rows, l->each);
    const tn_work work = {
        .launches = 1,
        .items = (double)l->items,
        .groups = (double)l->items,
        .scalar = (double)rows * (by_lanes ? size * (1 + k / 4) + 8 * k : 2 * size + 4 * moves),
        .bytes = (double)rows * size * (double)tenon_dtype_size((tenon_dtype)p->dtype),
        .reads = TN_LONG_ROWS};
    tn_choice_add(context, choice, &work);
    tn_sort_options(context, p, choice);
    return NULL;
}

static tenon_status sort_rank_launch(const char *caller, tn_recording *recording,
                                     const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    const rank_layout *l = TN_LAYOUT(const rank_layout, choice);
    sort_args args;
    tn_sort_args_fill(p, &args);
    args.each = l->each;
    args.pieces = l->pieces;
    args.length = l->length;
    return tn_sort_record_all(
        caller, recording, p, choice, "sort/rank",
        tn_is_solver(choice->solver, &tn_sort_rank) ? "rank_rows" : "select_rows", &args, l->items);
}

const tn_solver tn_sort_rank = {
    .name = "rank",
    .serves = "everything; compares every element with all others; best for short rows",
    .configure = configure_rank,
    .launch = sort_rank_launch};

const tn_solver tn_sort_select = {
    .name = "select",
    .serves = "calls without a payload; inserts elements into the sorted result; best for few "
              "results per row",
    .configure = configure_select,
    .launch = sort_rank_launch};
