/* The solver rnn/direct, which reads the weights in their own layout: one launch per step, two of a
 * GRU that resets before the product, and none before the first. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/rnn/internal.h"
#include "rnn/direct_args.h"

#include <stddef.h>
#include <string.h>

/* Fraction of the multiply-add rate that the dot products reach; the cost of adding up the lanes of
 * one, in single elements; and the fraction of the bandwidth with which a single use of the rows
 * reads them. Measured for 128 to 512 units and 1 to 64 sequences. */
#define DOT_PRODUCTS 0.6
#define LANE_SUMS    6.0
#define ROWS_REACH   0.55
/* Vector elements that take as long as widening one of 16 bits (a guess), and the sequences that
 * share it, at least. */
#define WIDENING    2.0
#define LEAST_BLOCK 2

/* Returns true if the last of three dimensions is contiguous; strides of dimensions of size 1 are
 * 0. */
static bool is_contiguous(const rnn_problem *p, int operand, int64_t size)
{
    return size <= 1 || p->stride[operand][2] == 1;
}

static void lay_out(const tenon_context *context, const rnn_problem *p, rnn_layout *l)
{
    const rnn_sizes *s = &p->size;
    const int64_t gates = RNN_GATES_OF(p->cell), rows = s->directions * s->batch;
    *l = (rnn_layout){.panel = (int64_t)tn_lanes(context, p->dtype)};
    l->padded = l->padded_output = tn_round_up(s->hidden, l->panel);
    l->gate_stride[0] = s->batch * gates * l->padded;
    l->gate_stride[2] = gates * l->padded;
    const int64_t counts[] = {rows * gates * l->padded,
                              rows * gates * l->padded,
                              s->directions * RNN_BIASES_OF(p->cell) * l->padded,
                              2 * rows * l->padded,
                              rows * l->padded,
                              rows * l->padded,
                              rows * l->padded};
    int64_t *places[] = {&l->gates, &l->sums,    &l->bias,  &l->state,
                         &l->cell,  &l->product, &l->update};
    const int count = p->cell == RNN_CELL_GRU ? 7 : 5;
    for (int i = 0; i < count; i++) {
        *places[i] = l->end;
        l->end = tn_round_up(l->end + counts[i], 32);
    }
}

static const char *unsupported(const tenon_context *context, const rnn_problem *p)
{
    const rnn_sizes *s = &p->size;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if ((p->flags & (RNN_HAS_PEEPHOLE | RNN_HAS_PROJECTION | RNN_HAS_RESERVE)) != 0)
        return "there are peepholes, a projection or a reserve";
    if (s->steps == 0)
        return "there are no steps";
    if (!is_contiguous(p, RNN_X, s->inputs) || !is_contiguous(p, RNN_W, s->inputs) ||
        !is_contiguous(p, RNN_R, s->output) ||
        ((p->flags & RNN_HAS_H0) != 0 && !is_contiguous(p, RNN_H0, s->output)))
        return "rows of x, w, r or h0 are not contiguous";
    return NULL;
}

static const char *direct_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_sizes *s = &p->size;
    rnn_layout *l = TN_LAYOUT(rnn_layout, choice);
    const char *why = unsupported(context, p);
    if (why != NULL)
        return why;
    const double rows = (double)RNN_GATES_OF(p->cell) * (double)s->hidden * (double)s->directions;
    /* The first step has no products with h if that is 0. */
    const double products = (double)s->steps - ((p->flags & RNN_HAS_H0) == 0 ? 1 : 0);
    const double weights =
        rows * ((double)s->steps * (double)s->inputs + products * (double)s->output);
    const double dots = rows * ((double)s->steps + products) * (double)s->batch;
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype),
                 blocks = (double)tn_ceil_div(s->batch, LEAST_BLOCK);
    if (rows * (double)s->batch > 1e17)
        return "the workspace is too large";
    lay_out(context, p, l);
    choice->workspace = (uint64_t)l->end * tn_acc_size(p->dtype);
    const int64_t panels = l->padded / l->panel;
    const double groups = (double)s->directions * (double)panels;
    const double launches = (p->cell == RNN_CELL_GRU ? 2 : 1) * (double)s->steps;
    const tn_work work = {.launches = launches,
                          .groups = groups * launches,
                          .rate = tn_sum_rate(p->dtype),
                          .multiply_adds = weights * (double)s->batch,
                          .efficiency = DOT_PRODUCTS,
                          .vector_elements = size == 2 ? WIDENING * weights * blocks : 0,
                          .single_elements = LANE_SUMS * dots,
                          .bytes = weights * size,
                          .reach = ROWS_REACH};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DRNN_CELL=%u -DTENON_VW=%u", p->dtype,
                      p->cell, tn_lanes(context, p->dtype));
    return NULL;
}

static void direct_arguments(const rnn_problem *p, const rnn_layout *l, rnn_direct_args *args)
{
    const rnn_sizes *s = &p->size;
    *args = (rnn_direct_args){.sums = l->sums, .inputs = s->inputs};
    tn_rnn_arguments(p, l, &args->layer);
    for (int g = 0; g < 4; g++) {
        const int gate = g < RNN_GATES_OF(p->cell) ? g : RNN_GATES_OF(p->cell) - 1;
        args->row[g] = tn_rnn_gate(p->cell, p->order, gate) * s->hidden;
        args->layer.gate[g] = g * l->padded;
    }
#define COPY(member, operand) memcpy(args->member, p->stride[operand], sizeof args->member)
    COPY(x_stride, RNN_X);
    COPY(w_stride, RNN_W);
    COPY(r_stride, RNN_R);
    COPY(bias_stride, RNN_BIAS);
    COPY(recurrent_bias_stride, RNN_RECURRENT_BIAS);
    COPY(h0_stride, RNN_H0);
    COPY(c0_stride, RNN_C0);
#undef COPY
}

#define OFFSET(name)       offsetof(rnn_direct_args, name##_offset)
#define LAYER_OFFSET(name) offsetof(rnn_direct_args, layer.name##_offset)

static tenon_status direct_launch(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    static const struct {
        uint16_t operand, offset;
    } operands[] = {{TN_WORKSPACE, LAYER_OFFSET(work)},
                    {RNN_X, OFFSET(x)},
                    {RNN_W, OFFSET(w)},
                    {RNN_R, OFFSET(r)},
                    {RNN_BIAS, OFFSET(bias)},
                    {RNN_RECURRENT_BIAS, OFFSET(recurrent_bias)},
                    {RNN_H0, OFFSET(h0)},
                    {RNN_C0, OFFSET(c0)},
                    {RNN_LENGTHS, LAYER_OFFSET(lengths)},
                    {RNN_Y, LAYER_OFFSET(y)},
                    {RNN_HN, LAYER_OFFSET(hn)},
                    {RNN_CN, LAYER_OFFSET(cn)}};
    enum { COUNT = sizeof operands / sizeof *operands };
    const rnn_problem *p = (const rnn_problem *)problem;
    const rnn_layout *l = TN_LAYOUT(const rnn_layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_patch patches[COUNT + 1];
    rnn_direct_args args;
    direct_arguments(p, l, &args);
    tn_launch launch = {.source = "rnn/direct",
                        .options = choice->options,
                        .dimensions = 2,
                        .global = {(size_t)(l->padded / l->panel), (size_t)p->size.directions},
                        .local = {1, 1},
                        .operand_count = COUNT,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint16_t operand = operands[i].operand;
        launch.operands[i] = operand;
        patches[i] = (tn_patch){TN_PATCH_OFFSET, operand, operands[i].offset,
                                operand == RNN_LENGTHS    ? (uint32_t)sizeof(int32_t)
                                : operand == TN_WORKSPACE ? (uint32_t)tn_acc_size(p->dtype)
                                                          : size};
    }
    patches[COUNT] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), RNN_SCALAR_CLIP,
                                offsetof(rnn_direct_args, layer.clip), 1};
    for (int64_t step = 0; step < p->size.steps; step++) {
        args.layer.step = (tenon_i32)step;
        launch.kernel = "direct";
        TN_TRY(tn_record(caller, recording, &launch));
        launch.kernel = "direct_second";
        if (p->cell == RNN_CELL_GRU)
            TN_TRY(tn_record(caller, recording, &launch));
    }
    return TENON_OK;
}

const tn_solver tn_rnn_direct = {
    .name = "direct",
    .serves = "on CPUs, without peepholes, projection and reserve; rows of x, w, r and h0 are "
              "contiguous; for few steps",
    .needs = "workspace for a step",
    .configure = direct_configure,
    .launch = direct_launch};
