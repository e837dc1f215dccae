/* The solver rnn_backward_weights/products: matrix products over all steps and sequences, and sums
 * of columns. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/lanes.h"
#include "ops/rnn/internal.h"

#include <stddef.h>
#include <string.h>

/* Rows of dgates that are added to one sum before sums of parts are added, and the maximum number
 * of parts. */
#define ROWS_OF_PART 64
#define MOST_PARTS   32

/* Places in the workspace, in elements of the accumulator's type. */
typedef struct weights_layout {
    int64_t factor[4]; /* the factors RNN_FACTOR_* */
    int64_t dw, dr, dprojection;
    int64_t sums, peephole_sums, end;
    int64_t rows, parts, rows_each;
    int64_t columns, gates, first; /* as in rnn_weights_args */
    bool widens;                   /* the gradients have 16 bits */
    bool copies_x;
} weights_layout;

static bool has(const rnn_problem *p, uint32_t flag)
{
    return (p->flags & flag) != 0;
}

static int64_t part(weights_layout *l, bool is_needed, int64_t count)
{
    const int64_t at = l->end;
    if (is_needed)
        l->end = tn_round_up(l->end + count, 32);
    return at;
}

/* Returns true if the rows of x, counted over steps and sequences, have one stride. */
static bool x_has_rows(const rnn_problem *p)
{
    const int64_t *stride = p->stride[RNN_WEIGHTS_X];
    return p->size.steps == 1 || p->size.batch == 1 || stride[0] == p->size.batch * stride[1];
}

static int64_t gate_rows(const rnn_problem *p)
{
    return RNN_GATES_OF(p->cell) * p->size.hidden;
}

static void lay_out(const rnn_problem *p, weights_layout *l)
{
    const rnn_sizes *s = &p->size;
    const int64_t d = s->directions, rows = s->steps * s->batch, h = s->hidden;
    *l = (weights_layout){.rows = rows, .widens = tenon_dtype_size((tenon_dtype)p->dtype) == 2};
    l->gates = RNN_COLUMNS_OF(p->cell) * h;
    l->columns = l->gates + (has(p, RNN_HAS_PROJECTION) ? s->output : 0);
    l->first = p->cell == RNN_CELL_GRU_AFTER ? h : 0;
    l->copies_x = l->widens || has(p, RNN_HAS_LENGTHS) || !x_has_rows(p);
    l->factor[RNN_FACTOR_INPUT] = part(l, has(p, RNN_HAS_DW) && l->copies_x, rows * s->inputs);
    l->factor[RNN_FACTOR_STATE] = part(l, has(p, RNN_HAS_DR), d * rows * s->output);
    l->factor[RNN_FACTOR_RESET] =
        part(l, has(p, RNN_HAS_DR) && p->cell == RNN_CELL_GRU, d * rows * h);
    l->factor[RNN_FACTOR_OUTPUT] = part(l, has(p, RNN_HAS_DPROJECTION), d * rows * h);
    l->dw = part(l, has(p, RNN_HAS_DW) && l->widens, d * gate_rows(p) * s->inputs);
    l->dr = part(l, has(p, RNN_HAS_DR) && l->widens, d * gate_rows(p) * s->output);
    l->dprojection = part(l, has(p, RNN_HAS_DPROJECTION) && l->widens, d * s->output * h);
    l->parts = tn_max_i64(1, rows / ROWS_OF_PART);
    l->parts = l->parts > MOST_PARTS ? MOST_PARTS : l->parts;
    l->rows_each = tn_ceil_div(rows, l->parts);
    l->sums = part(l, has(p, RNN_HAS_BIAS | RNN_HAS_RECURRENT_BIAS), d * l->parts * l->gates);
    l->peephole_sums = part(l, has(p, RNN_HAS_PEEPHOLE), d * l->parts * 3 * h);
}

/* A matrix product: rows of the transposed dgates from a column on, times a factor. */
typedef struct weights_product {
    int64_t column, rows;
    uint32_t factor, output; /* RNN_FACTOR_*, RNN_WEIGHTS_* */
    int64_t columns, first;  /* of the output: its columns, and its first row */
} weights_product;

#define MOST_PRODUCTS 4

/* Lists the products of a direction; returns their number. */
static uint32_t list_products(const rnn_problem *p, const weights_layout *l,
                              weights_product list[MOST_PRODUCTS])
{
    const rnn_sizes *s = &p->size;
    const int64_t h = s->hidden;
    const bool is_gru = p->cell == RNN_CELL_GRU || p->cell == RNN_CELL_GRU_AFTER;
    uint32_t count = 0;
    if (has(p, RNN_HAS_DW))
        list[count++] = (weights_product){l->first,       gate_rows(p), RNN_FACTOR_INPUT,
                                          RNN_WEIGHTS_DW, s->inputs,    0};
    if (has(p, RNN_HAS_DR))
        list[count++] = (weights_product){l->first,         is_gru ? 2 * h : gate_rows(p),
                                          RNN_FACTOR_STATE, RNN_WEIGHTS_DR,
                                          s->output,        0};
    /* The rows of n of r: their argument has the factor r · h, or is Rn h by itself. */
    if (has(p, RNN_HAS_DR) && is_gru)
        list[count++] = (weights_product){
            l->first > 0 ? 0 : 2 * h, h, l->first > 0 ? RNN_FACTOR_STATE : RNN_FACTOR_RESET,
            RNN_WEIGHTS_DR,           h, 2 * h};
    if (has(p, RNN_HAS_DPROJECTION))
        list[count++] = (weights_product){
            l->gates, s->output, RNN_FACTOR_OUTPUT, RNN_WEIGHTS_DPROJECTION, h, 0};
    return count;
}

static tenon_dtype sums_of(const rnn_problem *p)
{
    return p->dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

/* Makes a product of a direction, a child in `frame`. Sets *empty if it has no elements. */
static tenon_status make_product(const char *caller, const rnn_problem *p, const weights_layout *l,
                                 const weights_product *of, int64_t d, gemm_problem *product,
                                 tn_frame *frame, bool *empty)
{
    const tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    const bool reads_x = of->factor == RNN_FACTOR_INPUT;
    const bool in_place = reads_x && !l->copies_x;
    const int64_t size = (int64_t)tn_acc_size(p->dtype), *xs = p->stride[RNN_WEIGHTS_X];
    const int64_t place = of->output == RNN_WEIGHTS_DW   ? l->dw
                          : of->output == RNN_WEIGHTS_DR ? l->dr
                                                         : l->dprojection;
    const int64_t rows = of->output == RNN_WEIGHTS_DPROJECTION ? p->size.output : gate_rows(p);
    const int64_t dense[] = {rows * of->columns, of->columns, 1};
    const int64_t *to = l->widens ? dense : p->stride[of->output];
    const tenon_tensor a = tn_rnn_view4(sums_of(p), (int64_t[]){1, 1, of->rows, l->rows},
                                        (int64_t[]){0, 0, 1, l->columns});
    const tenon_tensor b = tn_rnn_view4(sums_of(p), (int64_t[]){1, 1, l->rows, of->columns},
                                        (int64_t[]){0, 0,
                                                    !in_place            ? of->columns
                                                    : p->size.batch == 1 ? xs[0]
                                                                         : xs[1],
                                                    in_place ? xs[2] : 1});
    const tenon_tensor out = tn_rnn_view4(sums_of(p), (int64_t[]){1, 1, of->rows, of->columns},
                                          (int64_t[]){0, 0, to[1], to[2]});
    TN_TRY(tn_gemm_canonicalize(caller, &params, &a, &b, NULL, NULL, &out, product, empty));
    tn_rnn_finish_product(p, (uint64_t)(l->end * size), product, frame);
    tn_frame_operand(frame, GEMM_A, RNN_WEIGHTS_DGATES,
                     (d * l->rows * l->columns + of->column) * size);
    tn_frame_operand(
        frame, GEMM_B, in_place ? RNN_WEIGHTS_X : TN_WORKSPACE,
        in_place ? 0 : (l->factor[of->factor] + (reads_x ? 0 : d * l->rows * of->columns)) * size);
    tn_frame_operand(frame, GEMM_D, l->widens ? TN_WORKSPACE : (uint16_t)of->output,
                     ((l->widens ? place : 0) + d * to[0] + of->first * to[1]) * size);
    return TENON_OK;
}

/* Returns the time of all products. */
static double product_time(tenon_context *context, const rnn_problem *p, const weights_layout *l)
{
    weights_product list[MOST_PRODUCTS];
    const uint32_t count = list_products(p, l, list);
    double time = 0;
    for (uint32_t i = 0; i < count; i++) {
        gemm_problem product;
        tn_frame frame;
        bool empty;
        if (make_product("configure", p, l, &list[i], 0, &product, &frame, &empty) == TENON_OK &&
            !empty)
            time += (double)p->size.directions * tn_gemm_estimate(context, &product);
    }
    return time;
}

static const char *weights_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_sizes *s = &p->size;
    weights_layout *l = TN_LAYOUT(weights_layout, choice);
    const double rows = (double)s->directions * (double)s->steps * (double)s->batch;
    const double widest = (double)s->inputs + (double)s->output + 8 * (double)s->hidden;
    if ((rows + 8 * (double)s->hidden) * widest > 1e17)
        return "the workspace is too large";
    lay_out(p, l);
    choice->workspace = (uint64_t)l->end * tn_acc_size(p->dtype);
    const double copied = rows * ((double)s->inputs + (double)s->output);
    const tn_work work = {.launches = 4,
                          .single_elements = copied,
                          .vector_elements = rows * (double)l->gates,
                          .bytes = (2 * copied + rows * (double)l->gates) *
                                   (double)tn_acc_size(p->dtype)};
    tn_choice_add(context, choice, &work);
    choice->time += product_time(context, p, l);
    if (context->device.is_cpu)
        tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DRNN_CELL=%u -DTENON_VW=%u", p->dtype,
                          p->cell, tn_lanes(context, p->dtype));
    else
        tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DRNN_CELL=%u%s", p->dtype, p->cell,
                          tn_gpu_option(context));
    return NULL;
}

static void weights_arguments(const rnn_problem *p, const weights_layout *l, rnn_weights_args *args)
{
    const rnn_sizes *s = &p->size;
    *args = (rnn_weights_args){.steps = s->steps,
                               .batch = s->batch,
                               .hidden = s->hidden,
                               .output = s->output,
                               .lengths_stride = p->stride[RNN_WEIGHTS_LENGTHS][0],
                               .columns = l->columns,
                               .gates = l->gates,
                               .first = l->first,
                               .sums = l->sums,
                               .peephole_sums = l->peephole_sums,
                               .parts = l->parts,
                               .rows_each = l->rows_each,
                               .flags = (tenon_i32)p->flags};
    for (int g = 0; g < 3; g++) {
        args->gate[g] = tn_rnn_gate(p->cell, p->order, g < 2 ? g : 3) * s->hidden;
        args->peephole_at[g] = tn_rnn_peephole(p->order, g) * s->hidden;
    }
#define COPY(member, operand) memcpy(args->member, p->stride[operand], sizeof args->member)
    COPY(x_stride, RNN_WEIGHTS_X);
    COPY(y_stride, RNN_WEIGHTS_Y);
    COPY(h0_stride, RNN_WEIGHTS_H0);
    COPY(c0_stride, RNN_WEIGHTS_C0);
    COPY(dbias_stride, RNN_WEIGHTS_DBIAS);
    COPY(drecurrent_bias_stride, RNN_WEIGHTS_DRECURRENT_BIAS);
    COPY(dpeephole_stride, RNN_WEIGHTS_DPEEPHOLE);
#undef COPY
}

/* An operand of a kernel, and the member of its offset. */
typedef struct weights_operand {
    uint16_t operand, offset;
} weights_operand;

#define OFFSET(name) offsetof(rnn_weights_args, name##_offset)
#define WORK                                                                                       \
    {                                                                                              \
        TN_WORKSPACE, OFFSET(work)                                                                 \
    }
#define MOST 6

static const weights_operand factors_operands[] = {{RNN_WEIGHTS_X, OFFSET(x)},
                                                   {RNN_WEIGHTS_Y, OFFSET(y)},
                                                   {RNN_WEIGHTS_H0, OFFSET(h0)},
                                                   {RNN_WEIGHTS_RESERVE, OFFSET(reserve)},
                                                   {RNN_WEIGHTS_LENGTHS, OFFSET(lengths)},
                                                   WORK};
static const weights_operand gates_operands[] = {
    {RNN_WEIGHTS_DGATES, OFFSET(dgates)}, {RNN_WEIGHTS_LENGTHS, OFFSET(lengths)}, WORK};
static const weights_operand peephole_operands[] = {{RNN_WEIGHTS_DGATES, OFFSET(dgates)},
                                                    {RNN_WEIGHTS_C0, OFFSET(c0)},
                                                    {RNN_WEIGHTS_RESERVE, OFFSET(reserve)},
                                                    {RNN_WEIGHTS_LENGTHS, OFFSET(lengths)},
                                                    WORK};
static const weights_operand finish_operands[] = {
    WORK,
    {RNN_WEIGHTS_DBIAS, OFFSET(dbias)},
    {RNN_WEIGHTS_DRECURRENT_BIAS, OFFSET(drecurrent_bias)},
    {RNN_WEIGHTS_DPEEPHOLE, OFFSET(dpeephole)}};

/* Records a launch of rnn/weights. `launch` has the kernel and the sizes. */
static tenon_status record_kernel(const char *caller, tn_recording *recording, const rnn_problem *p,
                                  const tn_choice *choice, const rnn_weights_args *args,
                                  const weights_operand *operands, uint32_t count, tn_launch launch)
{
    tn_patch patches[MOST];
    for (uint32_t i = 0; i < count; i++) {
        const uint16_t operand = operands[i].operand;
        const size_t size =
            operand == TN_WORKSPACE
                ? tn_acc_size(p->dtype)
                : tenon_dtype_size(
                      tn_rnn_dtype(tn_rnn_weights_operands[operand].shape, (tenon_dtype)p->dtype));
        launch.operands[i] = operand;
        patches[i] = (tn_patch){TN_PATCH_OFFSET, operand, operands[i].offset, (uint32_t)size};
    }
    launch.source = "rnn/weights";
    launch.options = choice->options;
    launch.dimensions = 3;
    launch.operand_count = count;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    launch.patch_count = count;
    return tn_record(caller, recording, &launch);
}

#define COUNT(list) (uint32_t)(sizeof(list) / sizeof *(list))

/* Records the copies of the factors that the products need. */
static tenon_status record_factors(const char *caller, tn_recording *recording,
                                   const rnn_problem *p, const tn_choice *choice,
                                   rnn_weights_args args)
{
    const weights_layout *l = TN_LAYOUT(const weights_layout, choice);
    const rnn_sizes *s = &p->size;
    const struct {
        bool is_needed;
        int64_t units, directions;
    } all[] = {{has(p, RNN_HAS_DW) && l->copies_x, s->inputs, 1},
               {has(p, RNN_HAS_DR), s->output, s->directions},
               {has(p, RNN_HAS_DR) && p->cell == RNN_CELL_GRU, s->hidden, s->directions},
               {has(p, RNN_HAS_DPROJECTION), s->hidden, s->directions}};
    for (int i = 0; i < 4; i++) {
        if (!all[i].is_needed || l->rows == 0)
            continue;
        args.factor = i;
        args.to = l->factor[i];
        args.units = all[i].units;
        const tn_launch launch = {.kernel = "factors",
                                  .global = {(size_t)tn_round_up(all[i].units, 32),
                                             (size_t)s->batch,
                                             (size_t)(s->steps * all[i].directions)},
                                  .local = {32, 1, 1}};
        TN_TRY(record_kernel(caller, recording, p, choice, &args, factors_operands,
                             COUNT(factors_operands), launch));
    }
    return TENON_OK;
}

/* Records the sums of columns: the gradients of the biases and peepholes. */
static tenon_status record_sums(const char *caller, tn_recording *recording, const rnn_problem *p,
                                const tn_choice *choice, const rnn_weights_args *args)
{
    const weights_layout *l = TN_LAYOUT(const weights_layout, choice);
    const bool is_cpu = recording->context->device.is_cpu;
    const int64_t lanes = is_cpu ? (int64_t)tn_lanes(recording->context, p->dtype) : 1;
    const size_t group = is_cpu ? 1 : 32, d = (size_t)p->size.directions;
    const size_t columns = (size_t)tn_round_up(tn_ceil_div(l->gates, lanes), (int64_t)group);
    const tn_launch gates = {
        .kernel = "sum_gates", .global = {columns, (size_t)l->parts, d}, .local = {group, 1, 1}};
    const tn_launch peepholes = {
        .kernel = "sum_peepholes",
        .global = {(size_t)tn_round_up(p->size.hidden, 32), (size_t)(3 * l->parts), d},
        .local = {32, 1, 1}};
    const tn_launch finish = {.kernel = "finish_sums",
                              .global = {(size_t)tn_round_up(gate_rows(p), 32), 3, d},
                              .local = {32, 1, 1}};
    if (has(p, RNN_HAS_BIAS | RNN_HAS_RECURRENT_BIAS))
        TN_TRY(record_kernel(caller, recording, p, choice, args, gates_operands,
                             COUNT(gates_operands), gates));
    if (has(p, RNN_HAS_PEEPHOLE))
        TN_TRY(record_kernel(caller, recording, p, choice, args, peephole_operands,
                             COUNT(peephole_operands), peepholes));
    if (has(p, RNN_HAS_BIAS | RNN_HAS_RECURRENT_BIAS | RNN_HAS_PEEPHOLE))
        TN_TRY(record_kernel(caller, recording, p, choice, args, finish_operands,
                             COUNT(finish_operands), finish));
    return TENON_OK;
}

/* Records the roundings of products of 16-bit types. */
static tenon_status record_narrow(const char *caller, tn_recording *recording, const rnn_problem *p,
                                  const weights_layout *l)
{
    const rnn_sizes *s = &p->size;
    const struct {
        uint32_t flag;
        uint16_t operand;
        int64_t place, shape[3];
    } all[] = {{RNN_HAS_DW, RNN_WEIGHTS_DW, l->dw, {s->directions, gate_rows(p), s->inputs}},
               {RNN_HAS_DR, RNN_WEIGHTS_DR, l->dr, {s->directions, gate_rows(p), s->output}},
               {RNN_HAS_DPROJECTION,
                RNN_WEIGHTS_DPROJECTION,
                l->dprojection,
                {s->directions, s->output, s->hidden}}};
    for (int i = 0; i < 3 && l->widens; i++)
        if (has(p, all[i].flag))
            TN_TRY(tn_rnn_record_copy(caller, recording, p, "narrow", all[i].operand, all[i].place,
                                      all[i].shape));
    return TENON_OK;
}

static tenon_status weights_launch(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const weights_layout *l = TN_LAYOUT(const weights_layout, choice);
    weights_product list[MOST_PRODUCTS];
    const uint32_t count = list_products(p, l, list);
    rnn_weights_args args;
    weights_arguments(p, l, &args);
    TN_TRY(record_factors(caller, recording, p, choice, args));
    for (int64_t d = 0; d < p->size.directions; d++)
        for (uint32_t i = 0; i < count; i++) {
            gemm_problem product;
            tn_frame frame;
            bool empty;
            TN_TRY(make_product(caller, p, l, &list[i], d, &product, &frame, &empty));
            if (!empty)
                TN_TRY(tn_gemm_record(caller, recording, &frame, &product));
        }
    TN_TRY(record_narrow(caller, recording, p, l));
    return record_sums(caller, recording, p, choice, &args);
}

const tn_solver tn_rnn_backward_weights_products = {
    .name = "products",
    .serves =
        "everything; a matrix product over all steps for each matrix, and sums of columns for "
        "the biases and peepholes",
    .needs =
        "workspace for the hidden states before the steps, and for x if its rows are not evenly "
        "spaced or there are lengths",
    .configure = weights_configure,
    .launch = weights_launch};
