/* The solvers rnn/step, with a launch for each product of each step, and rnn/shared and
 * rnn/sequence, with a single launch for all steps. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/rnn/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Work-items of a group of rnn/sequence on a GPU. */
#define GROUP 256
/* Sequences that a work-item multiplies at once (a multiple of RNN_ROWS for every cell). */
#define ROWS 8
/* Work-groups per core that rnn/step should have on a CPU. */
#define GROUPS_PER_CORE 2
/* Fraction of the multiply-add rate that the loop over K reaches, for one sequence, whose panels
 * are loaded for a single use, and for several. */
#define ONE_ROW      0.25
#define SEVERAL_ROWS 0.6

/* The cost of packing an element on a CPU, in vector elements: squares are transposed in registers,
 * and the rows are apart. Measured for 128 to 1024 units. */
#define PACKED_ELEMENT 4.0
/* The cost on a CPU of a launch that needs the results of the one before, in launches: all threads
 * wait for the last one. */
#define WAITING_LAUNCH 2.0
/* Fraction of the bandwidth at which panels of a step are read that other launches have evicted. */
#define STEP_REACH 0.6

/* Of rnn/shared: nanoseconds per core until all have the results of a product, the least number of
 * reads of a counter before a wait ends, and steps up to which counters do not overflow. */
#define SHARED_PRODUCT    200.0
#define LEAST_PATIENCE    1000
#define MOST_SHARED_STEPS (INT32_MAX / 2)

static double multiply_adds(const rnn_problem *p, double batch)
{
    const rnn_sizes *s = &p->size;
    const double second = p->cell == RNN_CELL_GRU ? (double)s->hidden : (double)s->output;
    const double units =
        (double)RNN_FIRST_OF(p->cell) * (double)s->output + (tn_rnn_has_second(p) ? second : 0);
    return (double)s->directions * (double)s->steps * batch * (double)s->hidden * units;
}

/* Returns the bytes of the panels, which each work-group reads at each step. */
static double panel_bytes(const rnn_problem *p)
{
    return p->size.steps == 0
               ? 0
               : multiply_adds(p, 1) / (double)p->size.steps * (double)tn_acc_size(p->dtype);
}

/* Returns the time of the products over all steps. */
static double product_time(tenon_context *context, const rnn_problem *p, const rnn_layout *l)
{
    gemm_problem product;
    tn_frame frame;
    if (p->size.steps == 0 || (p->backward && (p->flags & RNN_HAS_DX) == 0))
        return 0;
    const tenon_status status = p->backward
                                    ? tn_rnn_dx_product("configure", p, l, 0, &product, &frame)
                                    : tn_rnn_input_product("configure", p, l, &product, &frame);
    if (status != TENON_OK)
        return 0;
    return (p->backward ? (double)p->size.directions : 1) * tn_gemm_estimate(context, &product);
}

/* Adds the time of the launches besides the steps. Returns false if the workspace is too large
 * to be counted. */
static bool add_begin(tenon_context *context, const rnn_problem *p, const rnn_layout *l,
                      tn_choice *choice)
{
    const rnn_sizes *s = &p->size;
    const double rows = (double)RNN_GATES_OF(p->cell) * (double)s->hidden;
    const double elements =
        (double)s->directions * ((double)s->steps * (double)s->batch + 1) * rows;
    const tn_work pack = {.launches = 2 + (tn_rnn_has_second(p) ? 1 : 0) + (l->widens ? 2 : 0),
                          .vector_elements =
                              PACKED_ELEMENT * panel_bytes(p) / (double)tn_acc_size(p->dtype),
                          .bytes = 2 * panel_bytes(p)};
    if (elements > 1e17 || l->end < 0 || l->end > INT64_MAX / 16)
        return false;
    choice->workspace = (uint64_t)l->end * tn_acc_size(p->dtype);
    tn_choice_add(context, choice, &pack);
    choice->time += product_time(context, p, l);
    return true;
}

static void rnn_options(tenon_context *context, const rnn_problem *p, int32_t group,
                        tn_choice *choice)
{
    const char *backward = p->backward ? " -DRNN_BACKWARD=1" : "";
    if (context->device.is_cpu)
        tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DRNN_CELL=%u -DTENON_VW=%u%s",
                          p->dtype, p->cell, tn_lanes(context, p->dtype), backward);
    else
        tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DRNN_CELL=%u%s -DRNN_GROUP=%d%s",
                          p->dtype, p->cell, tn_gpu_option(context), (int)group, backward);
}

static void stride_arguments(const rnn_problem *p, rnn_args *args)
{
    const bool back = p->backward;
    args->lengths_stride = p->stride[back ? RNN_DATA_LENGTHS : RNN_LENGTHS][0];
    memcpy(args->y_stride, p->stride[back ? RNN_DATA_Y : RNN_Y], sizeof args->y_stride);
    memcpy(args->hn_stride, p->stride[back ? RNN_DATA_DH0 : RNN_HN], sizeof args->hn_stride);
    memcpy(args->cn_stride, p->stride[back ? RNN_DATA_DC0 : RNN_CN], sizeof args->cn_stride);
    if (!back)
        return;
    memcpy(args->h0_stride, p->stride[RNN_DATA_H0], sizeof args->h0_stride);
    memcpy(args->c0_stride, p->stride[RNN_DATA_C0], sizeof args->c0_stride);
    memcpy(args->dy_stride, p->stride[RNN_DATA_DY], sizeof args->dy_stride);
}

void tn_rnn_arguments(const rnn_problem *p, const rnn_layout *l, rnn_args *args)
{
    const rnn_sizes *s = &p->size;
    *args = (rnn_args){.gates = l->gates,
                       .panels = l->panels,
                       .second = l->second,
                       .bias = l->bias,
                       .peephole = l->peephole,
                       .state = l->state,
                       .cell = l->cell,
                       .product = l->product,
                       .update = l->update,
                       .progress = l->progress,
                       .shares = l->shares,
                       .steps = s->steps,
                       .batch = s->batch,
                       .hidden = s->hidden,
                       .output = s->output,
                       .padded = l->padded,
                       .padded_output = l->padded_output,
                       .rows_each = l->rows_each,
                       .columns = l->columns,
                       .first_depth = l->first_depth,
                       .second_depth = l->second_depth,
                       .second_column = l->second_column,
                       .flags = (tenon_i32)p->flags};
    /* After the recurrent part of n, with which a row of dgates begins. */
    const int64_t first = p->backward && p->cell == RNN_CELL_GRU_AFTER ? s->hidden : 0;
    for (int g = 0; g < RNN_GATES_OF(p->cell); g++)
        args->gate[g] = first + tn_rnn_gate(p->cell, p->order, g) * s->hidden;
    memcpy(args->gate_stride, l->gate_stride, sizeof args->gate_stride);
    stride_arguments(p, args);
}

/* An operand of the kernels of a step, and the member of its offset. */
typedef struct step_operand {
    uint16_t operand, offset;
} step_operand;

#define OFFSET(name)  offsetof(rnn_args, name##_offset)
#define MOST_OPERANDS 10
static const step_operand forward_operands[] = {
    {TN_WORKSPACE, OFFSET(work)}, {RNN_LENGTHS, OFFSET(lengths)}, {RNN_Y, OFFSET(y)},
    {RNN_HN, OFFSET(hn)},         {RNN_CN, OFFSET(cn)},           {RNN_RESERVE, OFFSET(reserve)}};
static const step_operand backward_operands[MOST_OPERANDS] = {{TN_WORKSPACE, OFFSET(work)},
                                                              {RNN_DATA_LENGTHS, OFFSET(lengths)},
                                                              {RNN_DATA_Y, OFFSET(y)},
                                                              {RNN_DATA_H0, OFFSET(h0)},
                                                              {RNN_DATA_C0, OFFSET(c0)},
                                                              {RNN_DATA_DY, OFFSET(dy)},
                                                              {RNN_DATA_RESERVE, OFFSET(reserve)},
                                                              {RNN_DATA_DGATES, OFFSET(dgates)},
                                                              {RNN_DATA_DH0, OFFSET(hn)},
                                                              {RNN_DATA_DC0, OFFSET(cn)}};

/* Returns the size of an operand's elements. */
static uint32_t element_size(const rnn_problem *p, uint16_t operand)
{
    if (operand == TN_WORKSPACE)
        return (uint32_t)tn_acc_size(p->dtype);
    const rnn_operand *operands = p->backward ? tn_rnn_data_operands : tn_rnn_operands;
    return (uint32_t)tenon_dtype_size(tn_rnn_dtype(operands[operand].shape, (tenon_dtype)p->dtype));
}

/* Records a launch of steps. `launch` has the source, the kernel and the sizes. */
static tenon_status record_steps(const char *caller, tn_recording *recording, const rnn_problem *p,
                                 const tn_choice *choice, const rnn_args *args, tn_launch launch)
{
    const step_operand *operands = p->backward ? backward_operands : forward_operands;
    const uint32_t count =
        p->backward ? MOST_OPERANDS : sizeof forward_operands / sizeof *forward_operands;
    tn_patch patches[MOST_OPERANDS + 1];
    for (uint32_t i = 0; i < count; i++) {
        launch.operands[i] = operands[i].operand;
        patches[i] = (tn_patch){TN_PATCH_OFFSET, operands[i].operand, operands[i].offset,
                                element_size(p, operands[i].operand)};
    }
    patches[count] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), RNN_SCALAR_CLIP,
                                offsetof(rnn_args, clip), 1};
    launch.options = choice->options;
    launch.operand_count = count;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    launch.patch_count = count + 1;
    return tn_record(caller, recording, &launch);
}

/* Returns the number of products with h, or with what follows from it. */
static double product_count(const rnn_problem *p)
{
    return (double)p->size.steps * (tn_rnn_has_second(p) ? 2 : 1);
}

/* Adds the time of the preparation and of the steps, whose work is given, and sets the options.
 * Returns why the solver cannot serve, or NULL. */
static const char *add_work(tenon_context *context, const rnn_problem *p, const rnn_layout *l,
                            const tn_work *work, int32_t group, tn_choice *choice)
{
    if (!add_begin(context, p, l, choice))
        return "the workspace is too large";
    tn_choice_add(context, choice, work);
    rnn_options(context, p, group, choice);
    return NULL;
}

/* rnn/step */

static int64_t panel_count(const rnn_problem *p, const rnn_layout *l)
{
    return p->size.directions * (l->padded / l->panel);
}

/* Selects the sequences per work-item: all of them on a CPU, unless there would be too few
 * work-groups. */
static int64_t rows_of_step(const tenon_context *context, const rnn_problem *p, const rnn_layout *l)
{
    const double cores = tn_model_cores(&context->device.model);
    const double groups = (double)panel_count(p, l);
    const double shares =
        context->device.is_cpu ? ceil(GROUPS_PER_CORE * cores / groups) : (double)p->size.batch;
    return tn_round_up(tn_ceil_div(p->size.batch, (int64_t)fmax(shares, 1)), ROWS);
}

static const char *rnn_step_configure(tenon_context *context, const tn_problem *problem,
                                      tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    rnn_layout *l = TN_LAYOUT(rnn_layout, choice);
    const double products = product_count(p);
    tn_rnn_lay_out(context, p, 0, l);
    l->rows_each = rows_of_step(context, p, l);
    const double groups =
        (double)panel_count(p, l) * (double)tn_ceil_div(p->size.batch, l->rows_each);
    const bool is_cpu = context->device.is_cpu;
    const tn_work work = {.launches = products * (is_cpu ? WAITING_LAUNCH : 1),
                          .follows = true,
                          .reach = is_cpu ? STEP_REACH : 0,
                          .groups = is_cpu ? groups * fmax(products, 1) : 0,
                          .rate = tn_sum_rate(p->dtype),
                          .multiply_adds = multiply_adds(p, (double)p->size.batch),
                          .efficiency = p->size.batch > 1 ? SEVERAL_ROWS : ONE_ROW,
                          .bytes = panel_bytes(p) * (double)p->size.steps};
    return add_work(context, p, l, &work, 1, choice);
}

static tenon_status record_step(const char *caller, tn_recording *recording, const rnn_problem *p,
                                const tn_choice *choice, const rnn_args *args, bool second)
{
    const rnn_layout *l = TN_LAYOUT(const rnn_layout, choice);
    /* The gradient multiplies by the transposed matrices. */
    const int64_t units = second != (p->backward != 0) ? l->padded_output : l->padded;
    const bool is_cpu = recording->context->device.is_cpu;
    const tn_launch launch = {.source = "rnn/step",
                              .kernel = second ? "second" : "first",
                              .dimensions = 3,
                              .global = {(size_t)(is_cpu ? units / l->panel : units),
                                         (size_t)tn_ceil_div(p->size.batch, l->rows_each),
                                         (size_t)p->size.directions},
                              .local = {is_cpu ? 1 : (size_t)l->panel, 1, 1}};
    return record_steps(caller, recording, p, choice, args, launch);
}

static tenon_status rnn_step_launch(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_layout *l = TN_LAYOUT(const rnn_layout, choice);
    rnn_args args;
    TN_TRY(tn_rnn_record_begin(caller, recording, p, l));
    tn_rnn_arguments(p, l, &args);
    if (p->size.steps == 0)
        return TENON_OK;
    /* The gradient has a further step, for dh0. */
    for (int64_t step = 0; step < p->size.steps + (p->backward ? 1 : 0); step++) {
        args.step = (tenon_i32)step;
        TN_TRY(record_step(caller, recording, p, choice, &args, false));
        if (tn_rnn_has_second(p) && step < p->size.steps)
            TN_TRY(record_step(caller, recording, p, choice, &args, true));
    }
    return tn_rnn_record_end(caller, recording, p, l);
}

const tn_solver tn_rnn_step = {
    .name = "step",
    .serves = "everything; one launch per step, two for a GRU that resets before the product and "
              "for a projection",
    .needs = "workspace for the products of the input, and a copy of the recurrent weights",
    .configure = rnn_step_configure,
    .launch = rnn_step_launch};

/* rnn/shared */

/* Returns the work-groups that share a step: one per core, unless there are fewer panels. */
static int64_t shares_of(const tenon_context *context, const rnn_problem *p)
{
    const int64_t units = tn_min_i64(p->size.hidden, p->size.output),
                  panels = tn_ceil_div(units, (int64_t)tn_lanes(context, p->dtype));
    return tn_min_i64(tn_max_i64(1, (int64_t)tn_model_cores(&context->device.model)), panels);
}

static const char *rnn_shared_configure(tenon_context *context, const tn_problem *problem,
                                        tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    rnn_layout *l = TN_LAYOUT(rnn_layout, choice);
    const int64_t shares = shares_of(context, p);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (p->backward)
        return "it is the gradient";
    if (p->size.steps > MOST_SHARED_STEPS)
        return "there are too many steps";
    tn_rnn_lay_out(context, p, shares, l);
    l->rows_each = rows_of_step(context, p, l);
    const tn_work work = {.launches = 1,
                          .follows = true,
                          .groups = (double)shares,
                          .rate = tn_sum_rate(p->dtype),
                          .multiply_adds = multiply_adds(p, (double)p->size.batch),
                          .efficiency = p->size.batch > 1 ? SEVERAL_ROWS : ONE_ROW,
                          .bytes = panel_bytes(p) * (double)p->size.steps};
    choice->time += SHARED_PRODUCT * (double)shares * product_count(p);
    return add_work(context, p, l, &work, 1, choice);
}

static tenon_status rnn_shared_launch(const char *caller, tn_recording *recording,
                                      const tn_problem *problem, const tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_layout *l = TN_LAYOUT(const rnn_layout, choice);
    rnn_args args;
    TN_TRY(tn_rnn_record_begin(caller, recording, p, l));
    if (p->size.steps == 0)
        return TENON_OK;
    tn_rnn_arguments(p, l, &args);
    /* About as long as a share takes. */
    args.patience = LEAST_PATIENCE + (int64_t)(multiply_adds(p, (double)p->size.batch) /
                                               (double)(p->size.steps * l->shares * l->panel));
    const tn_launch launch = {.source = "rnn/shared",
                              .kernel = "shared",
                              .dimensions = 1,
                              .global = {(size_t)l->shares},
                              .local = {1}};
    TN_TRY(record_steps(caller, recording, p, choice, &args, launch));
    return tn_rnn_record_end(caller, recording, p, l);
}

const tn_solver tn_rnn_shared = {
    .name = "shared",
    .serves = "on CPUs; one launch for all steps, each of which is shared by the cores",
    .needs = "workspace for the products of the input, for the states of all steps, and for a copy "
             "of the recurrent weights",
    .configure = rnn_shared_configure,
    .launch = rnn_shared_launch};

/* rnn/sequence */

/* Divides the sequences among the cores. */
static int64_t rows_of_sequence(const tenon_context *context, const rnn_problem *p)
{
    const double cores = tn_model_cores(&context->device.model);
    const double rows = ceil((double)(p->size.batch * p->size.directions) / cores);
    const int64_t each = (int64_t)fmax(1, fmin(rows, (double)p->size.batch));
    return each > ROWS ? tn_round_up(each, ROWS) : each;
}

static const char *rnn_sequence_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    rnn_layout *l = TN_LAYOUT(rnn_layout, choice);
    tn_rnn_lay_out(context, p, 0, l);
    l->rows_each = rows_of_sequence(context, p);
    const double shares = (double)tn_ceil_div(p->size.batch, l->rows_each),
                 groups = shares * (double)p->size.directions;
    const tn_work work = {.launches = 1,
                          .follows = true,
                          .groups = groups,
                          .items = groups * GROUP,
                          .rate = tn_sum_rate(p->dtype),
                          .multiply_adds = multiply_adds(p, (double)p->size.batch),
                          .efficiency = l->rows_each > 1 ? SEVERAL_ROWS : ONE_ROW,
                          .bytes = panel_bytes(p) * (double)p->size.steps * shares};
    return add_work(context, p, l, &work, GROUP, choice);
}

static tenon_status rnn_sequence_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_layout *l = TN_LAYOUT(const rnn_layout, choice);
    const size_t group = recording->context->device.is_cpu ? 1 : GROUP;
    rnn_args args;
    TN_TRY(tn_rnn_record_begin(caller, recording, p, l));
    if (p->size.steps == 0)
        return TENON_OK;
    tn_rnn_arguments(p, l, &args);
    const tn_launch launch = {.source = "rnn/sequence",
                              .kernel = "sequence",
                              .dimensions = 2,
                              .global = {(size_t)tn_ceil_div(p->size.batch, l->rows_each) * group,
                                         (size_t)p->size.directions},
                              .local = {group, 1}};
    TN_TRY(record_steps(caller, recording, p, choice, &args, launch));
    return tn_rnn_record_end(caller, recording, p, l);
}

const tn_solver tn_rnn_sequence = {
    .name = "sequence",
    .serves = "everything; one launch for all steps, in which a work-group computes some sequences",
    .needs = "workspace for the products of the input, and a copy of the recurrent weights",
    .configure = rnn_sequence_configure,
    .launch = rnn_sequence_launch};
