/* Difficult cases of the self-check of recurrent layers, and valid values of their operands. */
#include "check/awkward.h"
#include "ops/registry.h"
#include "ops/rnn/internal.h"

#include <math.h>

/* Fills the lengths, some of them out of range at either end, and weights whose rows have sums of
 * magnitudes below 1: errors then neither vanish nor grow from step to step. */
void tn_rnn_fill_valid(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    const double output = (double)v[RNN_R]->shape[2], inputs = (double)v[RNN_X]->shape[2];
    const double hidden = v[RNN_PROJECTION] != NULL ? (double)v[RNN_PROJECTION]->shape[2] : 1;
    (void)params;
    tn_case_reals(v[RNN_R], -1 / output, 1 / output, seed);
    tn_case_reals(v[RNN_W], -2 / sqrt(fmax(inputs, 1)), 2 / sqrt(fmax(inputs, 1)), seed);
    if (v[RNN_PROJECTION] != NULL)
        tn_case_reals(v[RNN_PROJECTION], -2 / hidden, 2 / hidden, seed);
    if (v[RNN_LENGTHS] != NULL)
        tn_case_integers(v[RNN_LENGTHS], -1, v[RNN_X]->shape[0] + 1, seed);
}

/* Makes the operands of a call with these sizes that the problem has. */
static void make_views(const rnn_problem *like, const rnn_sizes *s, bool gaps, tn_case *c)
{
    const int64_t rows = s->hidden * RNN_GATES_OF(like->cell), d = s->directions;
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    const tenon_dtype sums = dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    const struct {
        uint32_t flag, rank;
        int64_t shape[RNN_RANK];
    } views[RNN_OPERANDS] = {
        [RNN_X] = {0, 3, {s->steps, s->batch, s->inputs}},
        [RNN_W] = {0, 3, {d, rows, s->inputs}},
        [RNN_R] = {0, 3, {d, rows, s->output}},
        [RNN_BIAS] = {RNN_HAS_BIAS, 2, {d, rows}},
        [RNN_RECURRENT_BIAS] = {RNN_HAS_RECURRENT_BIAS, 2, {d, rows}},
        [RNN_PEEPHOLE] = {RNN_HAS_PEEPHOLE, 2, {d, 3 * s->hidden}},
        [RNN_PROJECTION] = {RNN_HAS_PROJECTION, 3, {d, s->output, s->hidden}},
        [RNN_LENGTHS] = {RNN_HAS_LENGTHS, 1, {s->batch}},
        [RNN_H0] = {RNN_HAS_H0, 3, {d, s->batch, s->output}},
        [RNN_C0] = {RNN_HAS_C0, 3, {d, s->batch, s->hidden}},
        [RNN_Y] = {0, 4, {s->steps, d, s->batch, s->output}},
        [RNN_HN] = {RNN_HAS_HN, 3, {d, s->batch, s->output}},
        [RNN_CN] = {RNN_HAS_CN, 3, {d, s->batch, s->hidden}},
        [RNN_RESERVE] = {
            RNN_HAS_RESERVE, 4, {d, s->steps, s->batch, s->hidden * RNN_RESERVED_OF(like->cell)}}};
    for (int i = 0; i < RNN_OPERANDS; i++)
        if ((views[i].flag & ~like->flags) == 0)
            c->views[i] = tn_awkward_view(i == RNN_LENGTHS   ? TENON_DTYPE_I32
                                          : i == RNN_RESERVE ? sums
                                                             : dtype,
                                          views[i].rank, views[i].shape, gaps && i != RNN_RESERVE);
}

/* Three calls with the options of the problem: several blocks of sequences and panels, with a rest
 * of each; one sequence and few units, with gaps; no step. */
bool tn_rnn_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    const rnn_problem *like = (const rnn_problem *)problem;
    const bool projects = (like->flags & RNN_HAS_PROJECTION) != 0;
    const rnn_sizes sizes[] = {
        {.steps = 3, .batch = 19, .inputs = 5, .hidden = 37, .output = projects ? 18 : 37},
        {.steps = 4, .batch = 1, .inputs = 3, .hidden = 3, .output = projects ? 2 : 3},
        {.steps = 0, .batch = 2, .inputs = 3, .hidden = 3, .output = projects ? 2 : 3}};
    (void)choice;
    if (number >= sizeof sizes / sizeof *sizes)
        return false;
    rnn_sizes s = sizes[number];
    s.directions = (like->flags & RNN_BOTH) != 0 ? 2 : 1;
    tn_awkward_begin(c, &tn_operation_rnn);
    tenon_rnn_params *params = (tenon_rnn_params *)c->params.bytes;
    params->kind = like->cell == RNN_CELL_LSTM        ? TENON_RNN_LSTM
                   : like->cell != RNN_CELL_SIMPLE    ? TENON_RNN_GRU
                   : (like->flags & RNN_IS_RELU) != 0 ? TENON_RNN_RELU
                                                      : TENON_RNN_TANH;
    params->flags = like->cell == RNN_CELL_GRU_AFTER ? TENON_RNN_RESET_AFTER : 0;
    params->direction = (like->flags & RNN_BOTH) != 0        ? TENON_RNN_BIDIRECTIONAL
                        : (like->flags & RNN_REVERSE_0) != 0 ? TENON_RNN_REVERSE
                                                             : TENON_RNN_FORWARD;
    params->order = like->order;
    params->clip = number == 1 ? 0.5 : 0;
    make_views(like, &s, number == 1, c);
    return true;
}
