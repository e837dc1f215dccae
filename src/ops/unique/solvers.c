/* The solvers unique/serial and unique/blocks. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/sort/internal.h"
#include "ops/unique/internal.h"

#include <stddef.h>

/* Least elements per block, and the maximum number of blocks. */
#define CPU_BLOCK  8192
#define CPU_BLOCKS 64
#define GPU_BLOCK  256
#define GPU_BLOCKS 2048
#define GPU_GROUP  64

/* The layout of a choice: the division of the line, and the parts of the workspace in bytes. */
typedef struct unique_layout {
    int64_t blocks, length;
    bool packs; /* x is copied to a line first */
    int64_t packed, keys, order, counts, end;
} unique_layout;

static int64_t size_of(const unique_problem *p)
{
    return (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
}

static bool is_sorted(const unique_problem *p)
{
    return (p->flags & UNIQUE_RUNS) == 0;
}

/* Returns the problem of sorting the line, with its operands x, y and indices. */
static sort_problem sort_of(const unique_problem *p, const unique_layout *l)
{
    sort_problem sort;
    tn_problem_begin(&sort.head, sizeof sort);
    sort.head.workspace_limit = tn_frame_room(p->head.workspace_limit, (uint64_t)l->end);
    sort.dtype = p->dtype;
    sort.flags = SORT_HAS_INDICES;
    for (uint32_t v = 0; v < SORT_VIEWS; v++)
        sort.operand[v] = v <= SORT_INDICES ? v : v == SORT_PAYLOAD ? SORT_X : SORT_Y;
    sort.limit = p->elements;
    sort.space = (tn_axis_space){.size = p->elements, .rank = 1, .shape = {1}};
    sort.space.axis[SORT_X] = l->packs ? 1 : p->stride[UNIQUE_SPACE_X][0];
    sort.space.axis[SORT_Y] = sort.space.axis[SORT_INDICES] = 1;
    return sort;
}

static int64_t add_part(unique_layout *l, int64_t bytes)
{
    const int64_t at = l->end;
    l->end += tn_round_up(bytes, TN_WORKSPACE_ALIGNMENT);
    return at;
}

static void set_options(tenon_context *context, const unique_problem *p, tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_KEY=%u%s", (unsigned)size_of(p),
                      tn_gpu_option(context));
}

/* In the worst case all elements differ, and each is compared with all others. */
static const char *configure_serial(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const unique_problem *p = (const unique_problem *)problem;
    const double n = (double)p->elements;
    const tn_work work = {.launches = 1,
                          .groups = 1,
                          .items = 1,
                          .scalar = is_sorted(p) ? 4 * n * n : 8 * n,
                          .bytes = n * (double)size_of(p)};
    tn_choice_add(context, choice, &work);
    set_options(context, p, choice);
    return NULL;
}

static const char *configure_blocks(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const unique_problem *p = (const unique_problem *)problem;
    const bool is_cpu = context->device.is_cpu;
    const int64_t n = p->elements, least = is_cpu ? CPU_BLOCK : GPU_BLOCK;
    unique_layout *l = TN_LAYOUT(unique_layout, choice);
    if (n == 0)
        return "x is empty";
    l->length = tn_max_i64(least, tn_ceil_div(n, is_cpu ? CPU_BLOCKS : GPU_BLOCKS));
    l->blocks = tn_ceil_div(n, l->length);
    l->packs = p->rank > 1;
    l->counts = add_part(l, 2 * l->blocks * (int64_t)sizeof(int32_t));
    l->packed = l->packs ? add_part(l, n * size_of(p)) : 0;
    l->keys = is_sorted(p) ? add_part(l, n * size_of(p)) : l->packed;
    l->order = is_sorted(p) ? add_part(l, n * (int64_t)sizeof(int32_t)) : 0;
    choice->workspace = (uint64_t)l->end;
    if (is_sorted(p)) {
        const sort_problem sort = sort_of(p, l);
        choice->time = tn_problem_time(context, &tn_sort_family, &sort.head);
    }
    const tn_work work = {.launches = l->packs ? 3 : 2,
                          .groups = (double)l->blocks,
                          .items = (double)l->blocks,
                          .scalar = 12 * (double)n,
                          .bytes = (double)n * (4.0 * (double)size_of(p) + 8)};
    tn_choice_add(context, choice, &work);
    set_options(context, p, choice);
    return NULL;
}

/* Sets the arguments that follow from the problem. */
static unique_args args_of(const unique_problem *p, const unique_layout *l)
{
    const int64_t size = size_of(p);
    const sort_problem sort = sort_of(p, l);
    sort_args keys;
    tn_sort_args_fill(&sort, &keys);
    unique_args args = {.rank = (tenon_i64)p->rank,
                        .y_step = p->step[UNIQUE_Y],
                        .first_step = p->step[UNIQUE_FIRST],
                        .counts_step = p->step[UNIQUE_COUNTS],
                        .sign = keys.sign,
                        .negative_zero = keys.negative_zero,
                        .flip = keys.flip,
                        .infinity = keys.infinity,
                        .toggle = keys.toggle,
                        .capacity = p->capacity,
                        .elements = p->elements,
                        .length = l->length,
                        .blocks = l->blocks,
                        .keys_at = l->keys / size,
                        .keys_step = 1,
                        .order_at = l->order / (int64_t)sizeof(int32_t),
                        .blocks_at = l->counts / (int64_t)sizeof(int32_t),
                        .flags = (tenon_i32)(p->flags | (is_sorted(p) ? UNIQUE_HAS_ORDER : 0))};
    memcpy(args.shape, p->shape, sizeof args.shape);
    memcpy(args.stride, p->stride, sizeof args.stride);
    return args;
}

/* Returns the memory operand of the line of keys. */
static uint16_t line_of(const unique_problem *p, const unique_layout *l)
{
    return is_sorted(p) || l->packs ? TN_WORKSPACE : UNIQUE_X;
}

/* Records a launch, whose kernel and operands are set. `line` is the operand that holds the keys.
 */
static tenon_status record(const char *caller, tn_recording *recording, const unique_problem *p,
                           const tn_choice *choice, unique_args *args, uint16_t line, int64_t items,
                           tn_launch *launch)
{
    static const uint32_t present[UNIQUE_OPERANDS] = {
        0, UNIQUE_HAS_Y, UNIQUE_HAS_FIRST, UNIQUE_HAS_INVERSE, UNIQUE_HAS_COUNTS, 0};
    const uint32_t size = (uint32_t)size_of(p), index = sizeof(int32_t);
    tn_patch patches[UNIQUE_OPERANDS + 3];
    uint32_t count = 0;
    for (uint32_t v = 0; v < UNIQUE_OPERANDS; v++)
        if (present[v] == 0 || (p->flags & present[v]) != 0)
            patches[count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint16_t)v,
                (uint16_t)(offsetof(unique_args, offset) + (size_t)v * sizeof(tenon_i64)),
                v <= UNIQUE_Y ? size : index};
    patches[count++] = (tn_patch){TN_PATCH_OFFSET, line, offsetof(unique_args, keys_at), size};
    if (choice->workspace > 0) {
        patches[count++] =
            (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(unique_args, order_at), index};
        patches[count++] =
            (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(unique_args, blocks_at), index};
    }
    launch->source = "unique/unique";
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(items, (int64_t)launch->local[0]);
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->patches = patches;
    launch->patch_count = count;
    return tn_record(caller, recording, launch);
}

/* Appends the outputs to the operands of a launch. Absent ones are replaced by `count`. */
static void add_outputs(const unique_problem *p, tn_launch *launch)
{
    static const struct {
        uint32_t flag;
        uint16_t operand;
    } outputs[] = {{UNIQUE_HAS_Y, UNIQUE_Y},
                   {UNIQUE_HAS_FIRST, UNIQUE_FIRST},
                   {UNIQUE_HAS_INVERSE, UNIQUE_INVERSE},
                   {UNIQUE_HAS_COUNTS, UNIQUE_COUNTS}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        launch->operands[launch->operand_count++] =
            p->flags & outputs[i].flag ? outputs[i].operand : UNIQUE_COUNT;
    launch->operands[launch->operand_count++] = UNIQUE_COUNT;
}

static tenon_status launch_serial(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    static const unique_layout whole = {.blocks = 1};
    const unique_problem *p = (const unique_problem *)problem;
    tn_launch launch = {.kernel = "unique_serial", .operands = {UNIQUE_X}, .operand_count = 1};
    unique_args args = args_of(p, &whole);
    add_outputs(p, &launch);
    return record(caller, recording, p, choice, &args, UNIQUE_X, 1, &launch);
}

static tenon_status record_pack(const char *caller, tn_recording *recording,
                                const unique_problem *p, const tn_choice *choice)
{
    const unique_layout *l = TN_LAYOUT(const unique_layout, choice);
    tn_launch pack = {
        .kernel = "unique_pack", .operands = {UNIQUE_X, TN_WORKSPACE}, .operand_count = 2};
    unique_args args = args_of(p, l);
    args.keys_at = l->packed / size_of(p);
    return record(caller, recording, p, choice, &args, TN_WORKSPACE, l->blocks, &pack);
}

static tenon_status record_sort(const char *caller, tn_recording *recording,
                                const unique_problem *p, const unique_layout *l)
{
    const sort_problem sort = sort_of(p, l);
    tn_frame frame = tn_frame_after((uint64_t)l->end);
    tn_frame_operand(&frame, SORT_X, l->packs ? TN_WORKSPACE : UNIQUE_X, l->packs ? l->packed : 0);
    tn_frame_operand(&frame, SORT_Y, TN_WORKSPACE, l->keys);
    tn_frame_operand(&frame, SORT_INDICES, TN_WORKSPACE, l->order);
    return tn_child_record(caller, recording, &frame, &tn_sort_family, &sort.head);
}

static tenon_status launch_blocks(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const unique_problem *p = (const unique_problem *)problem;
    const unique_layout *l = TN_LAYOUT(const unique_layout, choice);
    const uint16_t line = line_of(p, l);
    tn_launch heads = {
        .kernel = "unique_heads", .operands = {line, TN_WORKSPACE}, .operand_count = 2};
    tn_launch write = {.kernel = "unique_write", .operands = {line}, .operand_count = 1};
    unique_args args = args_of(p, l);
    if (line == UNIQUE_X)
        args.keys_step = p->stride[UNIQUE_SPACE_X][0];
    add_outputs(p, &write);
    write.operands[write.operand_count++] = TN_WORKSPACE;
    if (l->packs)
        TN_TRY(record_pack(caller, recording, p, choice));
    if (is_sorted(p))
        TN_TRY(record_sort(caller, recording, p, l));
    TN_TRY(record(caller, recording, p, choice, &args, line, l->blocks, &heads));
    return record(caller, recording, p, choice, &args, line, l->blocks, &write);
}

const tn_solver tn_unique_serial = {
    .name = "serial",
    .serves = "everything; one work-item, which searches for each different element in turn",
    .configure = configure_serial,
    .launch = launch_serial};

const tn_solver tn_unique_blocks = {
    .name = "blocks",
    .serves = "x that is not empty: sorts it, unless only neighbors are merged, and counts the "
              "different elements of each block first",
    .needs = "workspace for the sorted elements and their indices, and that of the sort",
    .awkward = "size=1321",
    .configure = configure_blocks,
    .launch = launch_blocks};
