/* Reference of the gradient of recurrent layers with respect to their weights: sums over all steps
 * and sequences. */
#include "check/host.h"
#include "ops/rnn/bounded.h"
#include "ops/rnn/internal.h"

#include <stdlib.h>

typedef struct sums {
    const tenon_rnn_params *params;
    tenon_dtype dtype;
    uint32_t cell;
    rnn_sizes s;
    int64_t columns;
    double *of[RNN_WEIGHTS_OPERANDS]; /* operands in double precision, dense; NULL if absent */
} sums;

/* Returns the second factor of a term of the sum: for direction d, step t, sequence n. */
typedef tn_bounded factor(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit);

static tn_bounded exact(double value)
{
    return (tn_bounded){value, 0};
}

static bool is_within(const sums *g, int64_t t, int64_t n)
{
    const double *lengths = g->of[RNN_WEIGHTS_LENGTHS];
    return t >= 0 && t < g->s.steps && (lengths == NULL || (double)t < lengths[n]);
}

static int64_t step_before(const sums *g, int64_t d, int64_t t)
{
    return d > 0 || g->params->direction == TENON_RNN_REVERSE ? t + 1 : t - 1;
}

static double kept(const sums *g, int64_t d, int64_t t, int64_t n, int number, int64_t unit)
{
    const int64_t row = (d * g->s.steps + t) * g->s.batch + n;
    return g
        ->of[RNN_WEIGHTS_RESERVE][(row * RNN_RESERVED_OF(g->cell) + number) * g->s.hidden + unit];
}

static tn_bounded input(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    (void)d;
    return exact(g->of[RNN_WEIGHTS_X][(t * g->s.batch + n) * g->s.inputs + unit]);
}

static tn_bounded one(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    (void)g;
    (void)d;
    (void)t;
    (void)n;
    (void)unit;
    return exact(1);
}

static tn_bounded state(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    const rnn_sizes *s = &g->s;
    const int64_t before = step_before(g, d, t);
    const double *h0 = g->of[RNN_WEIGHTS_H0];
    if (is_within(g, before, n))
        return exact(
            g->of[RNN_WEIGHTS_Y][((before * s->directions + d) * s->batch + n) * s->output + unit]);
    return exact(h0 != NULL ? h0[(d * s->batch + n) * s->output + unit] : 0);
}

static tn_bounded reset_state(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    return tn_rnn_multiply(g->dtype, exact(kept(g, d, t, n, 1, unit)), state(g, d, t, n, unit));
}

static tn_bounded cell_before(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    const int64_t before = step_before(g, d, t);
    const double *c0 = g->of[RNN_WEIGHTS_C0];
    if (is_within(g, before, n))
        return exact(kept(g, d, before, n, 4, unit));
    return exact(c0 != NULL ? c0[(d * g->s.batch + n) * g->s.hidden + unit] : 0);
}

static tn_bounded cell_after(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    return exact(kept(g, d, t, n, 4, unit));
}

static tn_bounded inner_output(const sums *g, int64_t d, int64_t t, int64_t n, int64_t unit)
{
    const tenon_activation tanh = {.kind = TENON_ACTIVATION_TANH};
    return tn_rnn_multiply(g->dtype, exact(kept(g, d, t, n, 3, unit)),
                           tn_activation_reference(&tanh, g->dtype, cell_after(g, d, t, n, unit)));
}

/* Returns the sum over all steps and sequences of a column of dgates times a factor. */
static tn_bounded sum_of(const sums *g, int64_t d, int64_t column, factor *second, int64_t unit)
{
    rnn_sum sum = {0};
    for (int64_t t = 0; t < g->s.steps; t++)
        for (int64_t n = 0; n < g->s.batch; n++) {
            const int64_t row = (d * g->s.steps + t) * g->s.batch + n;
            if (is_within(g, t, n))
                tn_rnn_add_product(&sum, g->of[RNN_WEIGHTS_DGATES][row * g->columns + column],
                                   second(g, d, t, n, unit));
        }
    return tn_stored(g->dtype, tn_rnn_total(g->dtype, &sum));
}

/* Returns the column of dgates with the gradient of a row of r, or of the recurrent bias. The
 * gradient of Rn h, if it is separate, is in the first columns. */
static int64_t recurrent_column(const sums *g, int64_t row)
{
    if (g->cell != RNN_CELL_GRU_AFTER)
        return row;
    return row >= 2 * g->s.hidden ? row - 2 * g->s.hidden : row + g->s.hidden;
}

/* Computes an element of an output, `row` and `column` of direction d. */
static tn_bounded element(const sums *g, uint32_t output, int64_t d, int64_t row, int64_t column)
{
    const int64_t h = g->s.hidden, first = g->cell == RNN_CELL_GRU_AFTER ? h : 0;
    const uint32_t order = g->params->order;
    const int64_t gate = row / h;
    switch (output) {
    case RNN_WEIGHTS_DW:
        return sum_of(g, d, first + row, input, column);
    case RNN_WEIGHTS_DR:
        return sum_of(g, d, recurrent_column(g, row),
                      g->cell == RNN_CELL_GRU && gate == 2 ? reset_state : state, column);
    case RNN_WEIGHTS_DBIAS:
        return sum_of(g, d, first + row, one, 0);
    case RNN_WEIGHTS_DRECURRENT_BIAS:
        return sum_of(g, d, recurrent_column(g, row), one, 0);
    case RNN_WEIGHTS_DPEEPHOLE:
        for (int k = 0; k < 3; k++)
            if (tn_rnn_peephole(order, k) == gate)
                return sum_of(g, d, tn_rnn_gate(g->cell, order, k < 2 ? k : 3) * h + row % h,
                              k < 2 ? cell_before : cell_after, row % h);
        break;
    default:
        break;
    }
    return sum_of(g, d, RNN_GATES_OF(g->cell) * h + row, inner_output, column);
}

bool tn_rnn_backward_weights_reference(const void *params, const tenon_tensor *const *v,
                                       tn_bounded *expected)
{
    sums g = {.params = params,
              .dtype = v[RNN_WEIGHTS_X]->dtype,
              .cell = tn_rnn_cell(params),
              .s = tn_rnn_weights_sizes(params, v),
              .columns = v[RNN_WEIGHTS_DGATES]->shape[3]};
    bool whole = true;
    for (int i = 0; i < RNN_WEIGHTS_DW; i++)
        if (v[i] != NULL)
            whole &= (g.of[i] = tn_host_read(v[i], v[i]->rank, v[i]->shape)) != NULL;
    for (uint32_t i = RNN_WEIGHTS_DW; i < RNN_WEIGHTS_OPERANDS && whole; i++) {
        if (v[i] == NULL)
            continue;
        const int64_t columns = v[i]->rank > 2 ? v[i]->shape[2] : 1;
        for (int64_t d = 0; d < v[i]->shape[0]; d++)
            for (int64_t row = 0; row < v[i]->shape[1]; row++)
                for (int64_t column = 0; column < columns; column++)
                    *expected++ = element(&g, i, d, row, column);
    }
    for (int i = 0; i < RNN_WEIGHTS_DW; i++)
        free(g.of[i]);
    return whole;
}
