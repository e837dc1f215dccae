/* Reference of the gradient of recurrent layers with respect to their data. */
#include "base/checked.h"
#include "check/host.h"
#include "ops/rnn/bounded.h"
#include "ops/rnn/internal.h"

#include <stdlib.h>
#include <string.h>

/* A direction of a layer. */
typedef struct gradient {
    const tenon_rnn_params *params;
    tenon_dtype dtype;
    uint32_t cell;
    rnn_sizes s;
    bool projects;
    int64_t columns, direction;
    double *of[RNN_DATA_OPERANDS]; /* operands in double precision, dense; NULL if absent */
    /* For one sequence: the part of dh that reaches the step before directly, dh, and the gradients
     * of c, of o · tanh(c) and of the gates of the last step. */
    tn_bounded *passed, *dh, *dc, *inner, *gates;
} gradient;

static tn_bounded exact(double value)
{
    return (tn_bounded){value, 0};
}

static tn_bounded times(const gradient *g, tn_bounded a, tn_bounded b)
{
    return tn_rnn_multiply(g->dtype, a, b);
}

/* Returns a · (1 - a), as the device computes it. */
static tn_bounded slope_of_sigmoid(const gradient *g, double a)
{
    return times(g, exact(a), tn_rnn_add(g->dtype, exact(1), exact(-a)));
}

/* Returns 1 - a · a. */
static tn_bounded slope_of_tanh(const gradient *g, tn_bounded a)
{
    tn_bounded square = times(g, a, a);
    square.value = -square.value;
    return tn_rnn_add(g->dtype, exact(1), square);
}

static bool is_reverse(const gradient *g)
{
    return g->direction > 0 || g->params->direction == TENON_RNN_REVERSE;
}

static bool is_within(const gradient *g, int64_t t, int64_t n)
{
    const double *lengths = g->of[RNN_DATA_LENGTHS];
    return t >= 0 && t < g->s.steps && (lengths == NULL || (double)t < lengths[n]);
}

/* Returns value `number` of a step in the reserve. */
static double kept(const gradient *g, int64_t t, int64_t n, int number, int64_t unit)
{
    const int64_t row = (g->direction * g->s.steps + t) * g->s.batch + n;
    return g->of[RNN_DATA_RESERVE][(row * RNN_RESERVED_OF(g->cell) + number) * g->s.hidden + unit];
}

/* Return h and c before a step. */
static double hidden_before(const gradient *g, int64_t t, int64_t n, int64_t unit)
{
    const rnn_sizes *s = &g->s;
    const int64_t before = is_reverse(g) ? t + 1 : t - 1;
    if (is_within(g, before, n))
        return g->of[RNN_DATA_Y]
                    [((before * s->directions + g->direction) * s->batch + n) * s->output + unit];
    return g->of[RNN_DATA_H0] != NULL
               ? g->of[RNN_DATA_H0][(g->direction * s->batch + n) * s->output + unit]
               : 0;
}

static double cell_before(const gradient *g, int64_t t, int64_t n, int64_t unit)
{
    const int64_t before = is_reverse(g) ? t + 1 : t - 1;
    if (is_within(g, before, n))
        return kept(g, before, n, 4, unit);
    return g->of[RNN_DATA_C0] != NULL
               ? g->of[RNN_DATA_C0][(g->direction * g->s.batch + n) * g->s.hidden + unit]
               : 0;
}

/* Returns the product of a column of R, in some of its gates, with gradients of these gates. The
 * gates are numbered in the caller's order. */
static void add_gates(const gradient *g, int first, int last, int64_t unit, const tn_bounded *gates,
                      rnn_sum *sum)
{
    const rnn_sizes *s = &g->s;
    const int64_t rows = RNN_GATES_OF(g->cell) * s->hidden;
    for (int64_t k = 0; k < (last - first) * s->hidden; k++)
        tn_rnn_add_product(
            sum,
            g->of[RNN_DATA_R][(g->direction * rows + first * s->hidden + k) * s->output + unit],
            gates[k]);
}

/* Returns the part of dh that passes through the gates of the next step. */
static tn_bounded through_gates(const gradient *g, int64_t unit)
{
    const int64_t h = g->s.hidden;
    rnn_sum sum = {0};
    if (g->cell == RNN_CELL_GRU_AFTER) {
        add_gates(g, 2, 3, unit, g->gates, &sum);
        add_gates(g, 0, 2, unit, g->gates + h, &sum);
    } else {
        add_gates(g, 0, g->cell == RNN_CELL_GRU ? 2 : RNN_GATES_OF(g->cell), unit, g->gates, &sum);
    }
    return tn_rnn_total(g->dtype, &sum);
}

static double peephole(const gradient *g, int gate, int64_t unit)
{
    const double *weights = g->of[RNN_DATA_PEEPHOLE];
    const int64_t row = g->direction * 3 + tn_rnn_peephole(g->params->order, gate);
    return weights != NULL ? weights[row * g->s.hidden + unit] : 0;
}

/* Returns a place for the gradient of a gate. */
static tn_bounded *gate_of(const gradient *g, int gate)
{
    const int64_t first = g->cell == RNN_CELL_GRU_AFTER ? 1 : 0;
    return g->gates + (first + tn_rnn_gate(g->cell, g->params->order, gate)) * g->s.hidden;
}

static void differentiate_lstm(gradient *g, int64_t t, int64_t n)
{
    const tenon_activation tanh = {.kind = TENON_ACTIVATION_TANH};
    const tenon_dtype type = g->dtype;
    for (int64_t j = 0; j < g->s.hidden; j++) {
        const double i = kept(g, t, n, 0, j), f = kept(g, t, n, 1, j), a = kept(g, t, n, 2, j),
                     o = kept(g, t, n, 3, j);
        const tn_bounded s = tn_activation_reference(&tanh, type, exact(kept(g, t, n, 4, j)));
        const tn_bounded dh = g->inner[j];
        const tn_bounded da_o = times(g, times(g, dh, s), slope_of_sigmoid(g, o));
        tn_bounded dc =
            tn_rnn_add(type, g->dc[j], times(g, times(g, dh, exact(o)), slope_of_tanh(g, s)));
        dc = tn_rnn_add(type, dc, times(g, exact(peephole(g, 2, j)), da_o));
        const tn_bounded da_i = times(g, times(g, dc, exact(a)), slope_of_sigmoid(g, i));
        const tn_bounded da_f =
            times(g, times(g, dc, exact(cell_before(g, t, n, j))), slope_of_sigmoid(g, f));
        gate_of(g, 0)[j] = da_i;
        gate_of(g, 1)[j] = da_f;
        gate_of(g, 2)[j] = times(g, times(g, dc, exact(i)), slope_of_tanh(g, exact(a)));
        gate_of(g, 3)[j] = da_o;
        dc = tn_rnn_add(type, times(g, dc, exact(f)), times(g, exact(peephole(g, 0, j)), da_i));
        g->dc[j] = tn_rnn_add(type, dc, times(g, exact(peephole(g, 1, j)), da_f));
    }
}

static void differentiate_gru(gradient *g, int64_t t, int64_t n)
{
    const tenon_dtype type = g->dtype;
    const bool after = g->cell == RNN_CELL_GRU_AFTER;
    for (int64_t j = 0; j < g->s.hidden; j++) {
        const double z = kept(g, t, n, 0, j), r = kept(g, t, n, 1, j), a = kept(g, t, n, 2, j);
        const tn_bounded dh = g->dh[j], rest = tn_rnn_add(type, exact(1), exact(-z));
        const tn_bounded change = tn_rnn_add(type, exact(hidden_before(g, t, n, j)), exact(-a));
        const tn_bounded da = times(g, times(g, dh, rest), slope_of_tanh(g, exact(a)));
        gate_of(g, 0)[j] = times(g, times(g, dh, change), slope_of_sigmoid(g, z));
        gate_of(g, 2)[j] = da;
        g->passed[j] = times(g, dh, exact(z));
        if (after) {
            g->gates[j] = times(g, da, exact(r));
            gate_of(g, 1)[j] =
                times(g, times(g, da, exact(kept(g, t, n, 3, j))), slope_of_sigmoid(g, r));
        }
    }
    for (int64_t j = 0; j < g->s.hidden && !after; j++) {
        const double r = kept(g, t, n, 1, j);
        rnn_sum sum = {0};
        add_gates(g, 2, 3, j, gate_of(g, 2), &sum);
        const tn_bounded du = tn_rnn_total(type, &sum);
        gate_of(g, 1)[j] =
            times(g, times(g, du, exact(hidden_before(g, t, n, j))), slope_of_sigmoid(g, r));
        g->passed[j] = tn_rnn_add(type, g->passed[j], times(g, du, exact(r)));
    }
}

static void differentiate_simple(gradient *g, int64_t t, int64_t n)
{
    for (int64_t j = 0; j < g->s.hidden; j++) {
        const double h = kept(g, t, n, 0, j);
        g->gates[j] = g->params->kind == TENON_RNN_TANH
                          ? times(g, g->dh[j], slope_of_tanh(g, exact(h)))
                      : h > 0 ? g->dh[j]
                              : exact(0);
    }
}

/* Computes the gradient of o · tanh(c) from that of its projection, which dgates also has. */
static void unproject(gradient *g)
{
    const rnn_sizes *s = &g->s;
    for (int64_t j = 0; j < s->hidden; j++) {
        rnn_sum sum = {0};
        for (int64_t p = 0; p < s->output && g->projects; p++)
            tn_rnn_add_product(
                &sum, g->of[RNN_DATA_PROJECTION][(g->direction * s->output + p) * s->hidden + j],
                g->dh[p]);
        g->inner[j] = g->projects ? tn_rnn_total(g->dtype, &sum) : g->dh[j];
    }
    if (g->projects)
        memcpy(g->gates + RNN_COLUMNS_OF(g->cell) * s->hidden, g->dh,
               (size_t)s->output * sizeof *g->dh);
}

/* Computes a step from dh without the part of dy. */
static void run_step(gradient *g, int64_t t, int64_t n)
{
    const rnn_sizes *s = &g->s;
    const double *dy = g->of[RNN_DATA_DY];
    for (int64_t p = 0; p < s->output; p++) {
        const int64_t at = ((t * s->directions + g->direction) * s->batch + n) * s->output + p;
        if (dy != NULL)
            g->dh[p] = tn_rnn_add(g->dtype, g->dh[p], exact(dy[at]));
        g->passed[p] = exact(0);
    }
    if (g->cell == RNN_CELL_LSTM) {
        unproject(g);
        differentiate_lstm(g, t, n);
    } else if (g->cell == RNN_CELL_SIMPLE) {
        differentiate_simple(g, t, n);
    } else {
        differentiate_gru(g, t, n);
    }
}

/* Runs a sequence from its last step to its first. `rows` has dgates of step 0 of this direction.
 */
static void run_sequence(gradient *g, int64_t n, tn_bounded *rows)
{
    const rnn_sizes *s = &g->s;
    const double *dhn = g->of[RNN_DATA_DHN], *dcn = g->of[RNN_DATA_DCN];
    const int64_t row = g->direction * s->batch + n;
    for (int64_t p = 0; p < s->output; p++)
        g->passed[p] = exact(dhn != NULL ? dhn[row * s->output + p] : 0);
    for (int64_t j = 0; j < s->hidden; j++)
        g->dc[j] = exact(dcn != NULL ? dcn[row * s->hidden + j] : 0);
    memset(g->gates, 0, (size_t)g->columns * sizeof *g->gates);
    for (int64_t step = 0; step < s->steps; step++) {
        const int64_t t = is_reverse(g) ? step : s->steps - 1 - step;
        for (int64_t p = 0; p < s->output; p++)
            g->dh[p] =
                step == 0 ? g->passed[p] : tn_rnn_add(g->dtype, through_gates(g, p), g->passed[p]);
        if (is_within(g, t, n)) {
            run_step(g, t, n);
        } else {
            memcpy(g->passed, g->dh, (size_t)s->output * sizeof *g->dh);
            memset(g->gates, 0, (size_t)g->columns * sizeof *g->gates);
        }
        memcpy(rows + (t * s->batch + n) * g->columns, g->gates,
               (size_t)g->columns * sizeof *g->gates);
    }
    for (int64_t p = 0; p < s->output; p++)
        g->dh[p] =
            s->steps == 0 ? g->passed[p] : tn_rnn_add(g->dtype, through_gates(g, p), g->passed[p]);
}

/* Computes an element of dx from the gradients of the gates of a step. */
static tn_bounded input_gradient(const gradient *g, const tn_bounded *dgates, int64_t step,
                                 int64_t input)
{
    const rnn_sizes *s = &g->s;
    const int64_t rows = RNN_GATES_OF(g->cell) * s->hidden,
                  first = g->cell == RNN_CELL_GRU_AFTER ? s->hidden : 0;
    rnn_sum sum = {0};
    for (int64_t d = 0; d < s->directions; d++)
        for (int64_t k = 0; k < rows; k++)
            tn_rnn_add_product(&sum, g->of[RNN_DATA_W][(d * rows + k) * s->inputs + input],
                               dgates[(d * s->steps * s->batch + step) * g->columns + first + k]);
    return tn_stored(g->dtype, tn_rnn_total(g->dtype, &sum));
}

static void store(const gradient *g, const tn_bounded *from, int64_t count, tn_bounded *to)
{
    for (int64_t i = 0; to != NULL && i < count; i++)
        to[i] = tn_stored(g->dtype, from[i]);
}

static void run(gradient *g, tn_bounded *const out[4])
{
    const rnn_sizes *s = &g->s;
    tn_bounded *dx = out[0], *dh0 = out[1], *dc0 = out[2], *dgates = out[3];
    const int64_t steps = s->steps * s->batch;
    for (g->direction = 0; g->direction < s->directions; g->direction++)
        for (int64_t n = 0; n < s->batch; n++) {
            const int64_t row = g->direction * s->batch + n;
            run_sequence(g, n, dgates + g->direction * steps * g->columns);
            store(g, g->dh, s->output, dh0 != NULL ? dh0 + row * s->output : NULL);
            store(g, g->dc, s->hidden, dc0 != NULL ? dc0 + row * s->hidden : NULL);
        }
    for (int64_t i = 0; dx != NULL && i < steps; i++)
        for (int64_t k = 0; k < s->inputs; k++)
            dx[i * s->inputs + k] = input_gradient(g, dgates, i, k);
}

bool tn_rnn_backward_data_reference(const void *params, const tenon_tensor *const *v,
                                    tn_bounded *expected)
{
    gradient g = {.params = params,
                  .dtype = v[RNN_DATA_W]->dtype,
                  .cell = tn_rnn_cell(params),
                  .s = tn_rnn_data_sizes(params, v),
                  .projects = v[RNN_DATA_PROJECTION] != NULL,
                  .columns = v[RNN_DATA_DGATES]->shape[3]};
    tn_bounded *out[4] = {NULL},
               *room = tn_array(2 * g.s.output + 2 * g.s.hidden + g.columns, sizeof *room);
    bool whole = room != NULL;
    for (int i = 0; i < RNN_DATA_DX; i++)
        if (v[i] != NULL)
            whole &= (g.of[i] = tn_host_read(v[i], v[i]->rank, v[i]->shape)) != NULL;
    for (int i = RNN_DATA_DX; i < RNN_DATA_OPERANDS; i++)
        if (v[i] != NULL) {
            out[i - RNN_DATA_DX] = expected;
            expected += tenon_tensor_elements(v[i]);
        }
    if (whole) {
        g.passed = room;
        g.dh = g.passed + g.s.output;
        g.dc = g.dh + g.s.output;
        g.inner = g.dc + g.s.hidden;
        g.gates = g.inner + g.s.hidden;
        run(&g, out);
    }
    for (int i = 0; i < RNN_DATA_DX; i++)
        free(g.of[i]);
    free(room);
    return whole;
}
