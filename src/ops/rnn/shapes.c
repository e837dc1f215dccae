/* Cells, gate orders, and the shapes and types of the operands of recurrent layers. */
#include "ops/rnn/internal.h"

#include <string.h>

const rnn_operand tn_rnn_operands[RNN_OPERANDS] = {
    [RNN_X] = {RNN_SHAPE_X, 0},
    [RNN_W] = {RNN_SHAPE_W, 0},
    [RNN_R] = {RNN_SHAPE_R, 0},
    [RNN_BIAS] = {RNN_SHAPE_BIAS, RNN_HAS_BIAS},
    [RNN_RECURRENT_BIAS] = {RNN_SHAPE_BIAS, RNN_HAS_RECURRENT_BIAS},
    [RNN_PEEPHOLE] = {RNN_SHAPE_PEEPHOLE, RNN_HAS_PEEPHOLE},
    [RNN_PROJECTION] = {RNN_SHAPE_PROJECTION, RNN_HAS_PROJECTION},
    [RNN_LENGTHS] = {RNN_SHAPE_LENGTHS, RNN_HAS_LENGTHS},
    [RNN_H0] = {RNN_SHAPE_H0, RNN_HAS_H0},
    [RNN_C0] = {RNN_SHAPE_C0, RNN_HAS_C0},
    [RNN_Y] = {RNN_SHAPE_Y, 0},
    [RNN_HN] = {RNN_SHAPE_H0, RNN_HAS_HN},
    [RNN_CN] = {RNN_SHAPE_C0, RNN_HAS_CN},
    [RNN_RESERVE] = {RNN_SHAPE_RESERVE, RNN_HAS_RESERVE}};

/* The kernels read dy as an input of each step, and treat dh0 and dc0 as the last states. */
const rnn_operand tn_rnn_data_operands[RNN_DATA_OPERANDS] = {
    [RNN_DATA_W] = {RNN_SHAPE_W, 0},
    [RNN_DATA_R] = {RNN_SHAPE_R, 0},
    [RNN_DATA_PEEPHOLE] = {RNN_SHAPE_PEEPHOLE, RNN_HAS_PEEPHOLE},
    [RNN_DATA_PROJECTION] = {RNN_SHAPE_PROJECTION, RNN_HAS_PROJECTION},
    [RNN_DATA_LENGTHS] = {RNN_SHAPE_LENGTHS, RNN_HAS_LENGTHS},
    [RNN_DATA_H0] = {RNN_SHAPE_H0, RNN_HAS_H0},
    [RNN_DATA_C0] = {RNN_SHAPE_C0, RNN_HAS_C0},
    [RNN_DATA_Y] = {RNN_SHAPE_Y, 0},
    [RNN_DATA_RESERVE] = {RNN_SHAPE_RESERVE, 0},
    [RNN_DATA_DY] = {RNN_SHAPE_Y, RNN_HAS_DY},
    [RNN_DATA_DHN] = {RNN_SHAPE_H0, RNN_HAS_DHN},
    [RNN_DATA_DCN] = {RNN_SHAPE_C0, RNN_HAS_DCN},
    [RNN_DATA_DX] = {RNN_SHAPE_X, RNN_HAS_DX},
    [RNN_DATA_DH0] = {RNN_SHAPE_H0, RNN_HAS_HN},
    [RNN_DATA_DC0] = {RNN_SHAPE_C0, RNN_HAS_CN},
    [RNN_DATA_DGATES] = {RNN_SHAPE_DGATES, 0}};

/* The flags of outputs are those that the kernels read, for the biases and the peepholes. */
const rnn_operand tn_rnn_weights_operands[RNN_WEIGHTS_OPERANDS] = {
    [RNN_WEIGHTS_X] = {RNN_SHAPE_X, 0},
    [RNN_WEIGHTS_LENGTHS] = {RNN_SHAPE_LENGTHS, RNN_HAS_LENGTHS},
    [RNN_WEIGHTS_H0] = {RNN_SHAPE_H0, RNN_HAS_H0},
    [RNN_WEIGHTS_C0] = {RNN_SHAPE_C0, RNN_HAS_C0},
    [RNN_WEIGHTS_Y] = {RNN_SHAPE_Y, 0},
    [RNN_WEIGHTS_RESERVE] = {RNN_SHAPE_RESERVE, 0},
    [RNN_WEIGHTS_DGATES] = {RNN_SHAPE_DGATES, 0},
    [RNN_WEIGHTS_DW] = {RNN_SHAPE_W, RNN_HAS_DW},
    [RNN_WEIGHTS_DR] = {RNN_SHAPE_R, RNN_HAS_DR},
    [RNN_WEIGHTS_DBIAS] = {RNN_SHAPE_BIAS, RNN_HAS_BIAS},
    [RNN_WEIGHTS_DRECURRENT_BIAS] = {RNN_SHAPE_BIAS, RNN_HAS_RECURRENT_BIAS},
    [RNN_WEIGHTS_DPEEPHOLE] = {RNN_SHAPE_PEEPHOLE, RNN_HAS_PEEPHOLE},
    [RNN_WEIGHTS_DPROJECTION] = {RNN_SHAPE_PROJECTION, RNN_HAS_DPROJECTION}};

uint32_t tn_rnn_cell(const tenon_rnn_params *params)
{
    if (params->kind == TENON_RNN_LSTM)
        return RNN_CELL_LSTM;
    if (params->kind != TENON_RNN_GRU)
        return RNN_CELL_SIMPLE;
    return (params->flags & TENON_RNN_RESET_AFTER) != 0 ? RNN_CELL_GRU_AFTER : RNN_CELL_GRU;
}

int tn_rnn_gate(uint32_t cell, uint32_t order, int gate)
{
    static const int lstm[] = {0, 2, 3, 1}, gru[] = {1, 0, 2};
    if (cell == RNN_CELL_LSTM)
        return order == TENON_RNN_ORDER_IOFC ? lstm[gate] : gate;
    return cell != RNN_CELL_SIMPLE && order == TENON_RNN_ORDER_IFGO ? gru[gate] : gate;
}

int tn_rnn_peephole(uint32_t order, int gate)
{
    return order == TENON_RNN_ORDER_IOFC && gate > 0 ? 3 - gate : gate;
}

bool tn_rnn_has_second(const rnn_problem *p)
{
    return p->cell == RNN_CELL_GRU || (p->flags & RNN_HAS_PROJECTION) != 0;
}

static rnn_sizes sizes_of(const tenon_rnn_params *params, const tenon_tensor *w,
                          const tenon_tensor *r)
{
    return (rnn_sizes){.directions = params->direction == TENON_RNN_BIDIRECTIONAL ? 2 : 1,
                       .inputs = w->shape[2],
                       .hidden = w->shape[1] / RNN_GATES_OF(tn_rnn_cell(params)),
                       .output = r->shape[2]};
}

rnn_sizes tn_rnn_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views)
{
    rnn_sizes s = sizes_of(params, views[RNN_W], views[RNN_R]);
    s.steps = views[RNN_X]->shape[0];
    s.batch = views[RNN_X]->shape[1];
    s.inputs = views[RNN_X]->shape[2];
    return s;
}

rnn_sizes tn_rnn_data_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views)
{
    rnn_sizes s = sizes_of(params, views[RNN_DATA_W], views[RNN_DATA_R]);
    s.steps = views[RNN_DATA_Y]->shape[0];
    s.batch = views[RNN_DATA_Y]->shape[2];
    return s;
}

rnn_sizes tn_rnn_weights_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views)
{
    const tenon_tensor *x = views[RNN_WEIGHTS_X];
    return (rnn_sizes){.directions = params->direction == TENON_RNN_BIDIRECTIONAL ? 2 : 1,
                       .steps = x->shape[0],
                       .batch = x->shape[1],
                       .inputs = x->shape[2],
                       .hidden = views[RNN_WEIGHTS_RESERVE]->shape[3] /
                                 RNN_RESERVED_OF(tn_rnn_cell(params)),
                       .output = views[RNN_WEIGHTS_Y]->shape[3]};
}

uint32_t tn_rnn_shape(rnn_shape which, uint32_t cell, const rnn_sizes *s, bool projects,
                      int64_t shape[RNN_RANK])
{
    const int64_t d = s->directions, t = s->steps, n = s->batch, h = s->hidden,
                  p = projects ? s->output : h, rows = h * RNN_GATES_OF(cell);
    const struct {
        uint32_t rank;
        int64_t shape[RNN_RANK];
    } shapes[] = {
        [RNN_SHAPE_X] = {3, {t, n, s->inputs}},
        [RNN_SHAPE_W] = {3, {d, rows, s->inputs}},
        [RNN_SHAPE_R] = {3, {d, rows, p}},
        [RNN_SHAPE_BIAS] = {2, {d, rows}},
        [RNN_SHAPE_PEEPHOLE] = {2, {d, 3 * h}},
        [RNN_SHAPE_PROJECTION] = {3, {d, p, h}},
        [RNN_SHAPE_LENGTHS] = {1, {n}},
        [RNN_SHAPE_H0] = {3, {d, n, p}},
        [RNN_SHAPE_C0] = {3, {d, n, h}},
        [RNN_SHAPE_Y] = {4, {t, d, n, p}},
        [RNN_SHAPE_RESERVE] = {4, {d, t, n, h * RNN_RESERVED_OF(cell)}},
        [RNN_SHAPE_DGATES] = {4, {d, t, n, h * RNN_COLUMNS_OF(cell) + (projects ? p : 0)}}};
    memcpy(shape, shapes[which].shape, sizeof shapes[which].shape);
    return shapes[which].rank;
}

tenon_dtype tn_rnn_dtype(rnn_shape which, tenon_dtype dtype)
{
    if (which == RNN_SHAPE_LENGTHS)
        return TENON_DTYPE_I32;
    if (which != RNN_SHAPE_RESERVE && which != RNN_SHAPE_DGATES)
        return dtype;
    return dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}
