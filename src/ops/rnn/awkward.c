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

/* Fills the lengths and weights of the gradient in the same way. */
void tn_rnn_backward_data_fill_valid(const void *params, const tenon_tensor *const *v,
                                     uint64_t *seed)
{
    const double rows = (double)v[RNN_DATA_R]->shape[1];
    const double output = (double)v[RNN_DATA_R]->shape[2];
    (void)params;
    tn_case_reals(v[RNN_DATA_R], -1 / rows, 1 / rows, seed);
    if (v[RNN_DATA_PROJECTION] != NULL)
        tn_case_reals(v[RNN_DATA_PROJECTION], -1 / output, 1 / output, seed);
    if (v[RNN_DATA_LENGTHS] != NULL)
        tn_case_integers(v[RNN_DATA_LENGTHS], -1, v[RNN_DATA_Y]->shape[0] + 1, seed);
}

/* Fills the lengths of the gradient of the weights. */
void tn_rnn_backward_weights_fill_valid(const void *params, const tenon_tensor *const *v,
                                        uint64_t *seed)
{
    (void)params;
    if (v[RNN_WEIGHTS_LENGTHS] != NULL)
        tn_case_integers(v[RNN_WEIGHTS_LENGTHS], -1, v[RNN_WEIGHTS_X]->shape[0] + 1, seed);
}

/* Operands whose rows rnn/direct reads as vectors. */
static bool is_read_by_rows(rnn_shape which)
{
    return which == RNN_SHAPE_X || which == RNN_SHAPE_W || which == RNN_SHAPE_R ||
           which == RNN_SHAPE_H0;
}

/* Makes the operands of a call with these sizes that the problem has. */
static void make_views(const rnn_problem *like, const rnn_sizes *s, bool gaps, bool by_rows,
                       tn_case *c)
{
    const rnn_operand *operands = like->backward == 0   ? tn_rnn_operands
                                  : like->backward == 1 ? tn_rnn_data_operands
                                                        : tn_rnn_weights_operands;
    const bool projects = (like->flags & RNN_HAS_PROJECTION) != 0;
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        const rnn_shape which = operands[i].shape;
        int64_t shape[RNN_RANK];
        const uint32_t rank = tn_rnn_shape(which, like->cell, s, projects, shape);
        const bool is_dense = which == RNN_SHAPE_RESERVE || which == RNN_SHAPE_DGATES ||
                              (by_rows && is_read_by_rows(which));
        if ((operands[i].flag & ~like->flags) == 0)
            c->views[i] = tn_awkward_view(tn_rnn_dtype(which, (tenon_dtype)like->dtype), rank,
                                          shape, gaps && !is_dense);
    }
}

/* Three calls with the options of the problem: several blocks of sequences and panels, with a rest
 * of each; one sequence and few units, with gaps; no step, which rnn/direct does not serve. */
bool tn_rnn_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    const rnn_problem *like = (const rnn_problem *)problem;
    const bool projects = (like->flags & RNN_HAS_PROJECTION) != 0;
    const rnn_sizes sizes[] = {
        {.steps = 3, .batch = 19, .inputs = 5, .hidden = 37, .output = projects ? 18 : 37},
        {.steps = 4, .batch = 1, .inputs = 3, .hidden = 3, .output = projects ? 2 : 3},
        {.steps = 0, .batch = 2, .inputs = 3, .hidden = 3, .output = projects ? 2 : 3}};
    const bool is_direct = tn_is_solver(choice->solver, &tn_rnn_direct);
    if (number >= (is_direct ? 2 : sizeof sizes / sizeof *sizes))
        return false;
    rnn_sizes s = sizes[number];
    s.directions = (like->flags & RNN_BOTH) != 0 ? 2 : 1;
    tn_awkward_begin(c, like->backward == 0   ? &tn_operation_rnn
                        : like->backward == 1 ? &tn_operation_rnn_backward_data
                                              : &tn_operation_rnn_backward_weights);
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
    params->clip = number == 1 && !like->backward ? 0.5 : 0;
    make_views(like, &s, number == 1, is_direct, c);
    return true;
}
