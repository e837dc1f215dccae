/* The solver resize/rows, for CPUs: a launch writes tables of the weights along each dimension to
 * the workspace, and another one combines rows, then the elements of each row, in vectors along w
 * or along the channels. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/resize/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Elements of a work-item's private array; its most targets along w, counted with their channels if
 * these are fewer than lanes; and its most channels. */
#define LINE     2048
#define CHUNK    256
#define CHANNELS 64
/* Multiply-adds that are worth a work-item. */
#define WORTH 32768

/* The direction of a problem: the result (the target) is y, or dx for the gradient. */
typedef struct direction {
    const resize_problem *p;
    bool is_backward;
    const int64_t *targets, *sources; /* sizes */
    const int64_t *source_stride, *target_stride;
} direction;

static direction direction_of(const resize_problem *p)
{
    return p->is_backward ? (direction){p, true, p->in, p->out, p->y, p->x}
                          : (direction){p, false, p->out, p->in, p->x, p->y};
}

/* Tables, and the shares of work-items. */
typedef struct rows_layout {
    resize_table table[3];   /* of y */
    resize_table flipped[3]; /* of dx */
    int64_t chunk, block, bytes;
} rows_layout;

static bool resize_by_channels(const resize_problem *p)
{
    return p->x[1] == 1 && p->y[1] == 1;
}

/* Strides of dimensions of one element are 0. */
static bool resize_by_rows(const resize_problem *p)
{
    return (p->x[4] == 1 || p->in[2] == 1) && (p->y[4] == 1 || p->out[2] == 1);
}

/* Appends a table to the workspace, whose integers and numbers are counted in their own sizes. */
static resize_table add_table(int64_t targets, int64_t sources, int64_t most, int64_t number_size,
                              int64_t *bytes)
{
    resize_table table = {
        .targets = (tenon_i32)targets, .sources = (tenon_i32)sources, .most = (tenon_i32)most};
    table.first = *bytes / 4;
    table.last = table.first + targets;
    *bytes = tn_round_up(*bytes + 8 * targets, number_size);
    table.weights = *bytes / number_size;
    *bytes = tn_round_up(*bytes + most * targets * number_size, 8);
    return table;
}

/* Returns the distance of adjacent outputs in x. */
static double step_of(const resize_map *map)
{
    return fabs((double)map->step.whole + (double)map->step.rest * 0x1p-64);
}

/* Returns the most outputs whose windows contain one element. The first and the last element are
 * also in windows that lie outside. */
static int64_t most_outputs(const resize_problem *p, int d)
{
    const resize_map *map = &p->map[d];
    const double step = step_of(map), taps = (double)map->taps, out = (double)p->out[d],
                 start = (double)map->start.whole + (double)map->start.rest * 0x1p-64;
    if (step < 1e-9 || p->in[d] == 1)
        return p->out[d];
    double most = taps / step;
    if ((p->flags & RESIZE_EXTRAPOLATES) == 0) {
        const double first = ((double)map->before + 1 - start) / step,
                     last =
                         out - ((double)p->in[d] - taps + (double)map->before - 1 - start) / step;
        most = fmax(most, fmax(first, last));
    }
    return (int64_t)fmin(most + 3, out);
}

static bool is_narrow(const tenon_context *context, const resize_problem *p)
{
    return resize_by_channels(p) && p->c < (int64_t)tn_lanes(context, p->dtype);
}

/* Sets the number of targets along w for a work-item. Returns why none are possible, or NULL. */
static const char *set_chunk(const tenon_context *context, const direction *to, rows_layout *l)
{
    const int64_t most = (to->is_backward ? l->flipped : l->table)[2].most;
    l->block = resize_by_channels(to->p) ? tn_min_i64(to->p->c, CHANNELS) : 1;
    const int64_t room = LINE / l->block - 3 * most - 4;
    if (room < 0)
        return "a result has too many weights along w";
    const double step = fmin(fmax(step_of(&to->p->map[2]), 1e-6), 1e6),
                 chunk = (double)room * (to->is_backward ? step : 1 / step);
    const int64_t most_targets = is_narrow(context, to->p) ? CHUNK / to->p->c : CHUNK;
    l->chunk = tn_max_i64(chunk < (double)most_targets ? (int64_t)chunk : most_targets, 1);
    return NULL;
}

static tn_work resize_work_of(const tenon_context *context, const direction *to)
{
    const resize_problem *p = to->p;
    const double lines =
                     (double)p->n * (double)p->c * (double)to->targets[0] * (double)to->targets[1],
                 results = lines * (double)to->targets[2];
    double entries = 0, rows = 1, along = 1;
    for (int d = 0; d < 3; d++) {
        const double ratio = (double)p->out[d] / (double)p->in[d],
                     taps = (double)p->map[d].taps * (to->is_backward ? ratio : 1);
        entries += (double)(p->out[d] + (to->is_backward ? p->in[d] : 0));
        *(d < 2 ? &rows : &along) *= fmax(taps, 1);
    }
    return (tn_work){.launches = to->is_backward ? 3 : 2,
                     .items = results / tn_lanes(context, p->dtype),
                     .rate = tn_sum_rate(p->dtype),
                     .scalar = 100 * entries,
                     .vector_elements = lines * (double)to->sources[2] * rows +
                                        (resize_by_channels(p) ? 2 : 4) * results * along,
                     .single_elements = is_narrow(context, p) ? results * along : 0};
}

static const char *resize_rows_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const resize_problem *p = (const resize_problem *)problem;
    const direction to = direction_of(p);
    const int64_t size = (int64_t)tn_acc_size(p->dtype);
    rows_layout *l = TN_LAYOUT(rows_layout, choice);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (!resize_by_channels(p) && !resize_by_rows(p))
        return "neither the rows nor the channels of both images are contiguous";
    for (int d = 0; d < 3; d++) {
        l->table[d] =
            add_table(p->out[d], p->in[d], tn_min_i64(p->map[d].taps, p->in[d]), size, &l->bytes);
        if (to.is_backward)
            l->flipped[d] = add_table(p->in[d], p->out[d], most_outputs(p, d), size, &l->bytes);
    }
    const char *reason = set_chunk(context, &to, l);
    if (reason != NULL)
        return reason;
    choice->workspace = (uint64_t)l->bytes;
    const tn_work work = resize_work_of(context, &to);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      "-DTENON_DTYPE=%u -DTENON_VW=%u -DTENON_RESIZE_LINE=%d "
                      "-DTENON_RESIZE_CHUNK=%d",
                      p->dtype, tn_lanes(context, p->dtype), LINE, CHUNK);
    return NULL;
}

/* Entries of a table that a work-item computes. */
#define ENTRIES 64

static int64_t most_of(const int64_t size[3])
{
    return tn_max_i64(size[0], tn_max_i64(size[1], size[2]));
}

/* Records the tables of y, or those of dx. */
static tenon_status record_tables(const char *caller, tn_recording *recording,
                                  const resize_problem *p, const rows_layout *l, bool is_flipped)
{
    char options[TN_OPTIONS_SIZE];
    tn_patch patches[4] = {
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(resize_table_args, integers), 4},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(resize_table_args, numbers),
         (uint32_t)tn_acc_size(p->dtype)}};
    resize_table_args args = {.each = ENTRIES, .filter = tn_resize_filter(p)};
    tn_launch launch = {.source = is_flipped ? "resize/flip" : "resize/table",
                        .kernel = is_flipped ? "resize_flip_entries" : "resize_table_entries",
                        .options = options,
                        .operands = {TN_WORKSPACE, TN_WORKSPACE},
                        .operand_count = 2,
                        .dimensions = 2,
                        .local = {1, 1},
                        TN_ARGS(args),
                        .patches = patches,
                        .patch_count = 2};
    memcpy(args.table, l->table, sizeof args.table);
    memcpy(args.flipped, l->flipped, sizeof args.flipped);
    launch.global[0] = (size_t)tn_ceil_div(most_of(is_flipped ? p->in : p->out), ENTRIES);
    launch.global[1] = 3;
    tn_build_options(recording->context, options, "-DTENON_DTYPE=%u", p->dtype);
    tn_resize_patch_filter(p, &launch, patches, offsetof(resize_table_args, filter));
    return tn_record(caller, recording, &launch);
}

static resize_rows_args resize_arguments_of(const direction *to, const rows_layout *l)
{
    resize_rows_args args = {.channels = to->p->c,
                             .chunk = l->chunk,
                             .block = l->block,
                             .line_count = to->p->n * to->targets[0] * to->targets[1] *
                                           (resize_by_channels(to->p) ? 1 : to->p->c)};
    memcpy(args.x_stride, to->source_stride, sizeof args.x_stride);
    memcpy(args.y_stride, to->target_stride, sizeof args.y_stride);
    memcpy(args.table, to->is_backward ? l->flipped : l->table, sizeof args.table);
    return args;
}

/* Divides the lines among work-items. */
static void resize_divide(const tenon_context *context, const direction *to, resize_rows_args *args,
                          tn_launch *launch)
{
    const double work =
        4 * (double)(args->chunk * args->block) * (double)tn_max_i64(args->table[2].most, 1);
    const int64_t fair = tn_ceil_div(args->line_count,
                                     4 * (int64_t)context->device.info.compute_units),
                  blocks = resize_by_channels(to->p) ? tn_ceil_div(to->p->c, args->block) : 1;
    args->lines = tn_max_i64(tn_min_i64((int64_t)(WORTH / work), fair), 1);
    launch->global[0] = (size_t)(tn_ceil_div(to->targets[2], args->chunk) * blocks);
    launch->global[1] = (size_t)tn_ceil_div(args->line_count, args->lines);
}

static tenon_status resize_rows_launch(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice)
{
    const resize_problem *p = (const resize_problem *)problem;
    const rows_layout *l = TN_LAYOUT(const rows_layout, choice);
    const direction to = direction_of(p);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    /* The operands of both directions are the source and the target. */
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, RESIZE_X, offsetof(resize_rows_args, x_offset), size},
        {TN_PATCH_OFFSET, RESIZE_Y, offsetof(resize_rows_args, y_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(resize_rows_args, integers), 4},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(resize_rows_args, numbers),
         (uint32_t)tn_acc_size(p->dtype)},
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), RESIZE_SCALAR_EXTRAPOLATION,
         offsetof(resize_rows_args, extrapolation), 1}};
    resize_rows_args args = resize_arguments_of(&to, l);
    tn_launch launch = {.source = "resize/rows",
                        .kernel = resize_by_channels(p) ? "resize_channels" : "resize_rows",
                        .options = choice->options,
                        .operands = {RESIZE_X, RESIZE_Y, TN_WORKSPACE, TN_WORKSPACE},
                        .operand_count = 4,
                        .dimensions = 2,
                        .local = {1, 1}, /* PoCL compiles a kernel for each size */
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    resize_divide(recording->context, &to, &args, &launch);
    TN_TRY(record_tables(caller, recording, p, l, false));
    if (to.is_backward)
        TN_TRY(record_tables(caller, recording, p, l, true));
    return tn_record(caller, recording, &launch);
}

#define SERVES "contiguous rows or channels on CPUs; tables of weights, combined rows"
#define NEEDS  "workspace for the weights along each dimension"

const tn_solver tn_resize_rows = {.name = "rows",
                                  .serves = SERVES,
                                  .needs = NEEDS,
                                  .configure = resize_rows_configure,
                                  .launch = resize_rows_launch};

const tn_solver tn_resize_backward_rows = {.name = "rows",
                                           .serves = SERVES,
                                           .needs = NEEDS,
                                           .configure = resize_rows_configure,
                                           .launch = resize_rows_launch};
