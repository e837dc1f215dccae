/* Reference of recurrent layers. Each value is computed in double precision together with a bound
 * of its error on a device, which passes from step to step. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "check/host.h"
#include "ops/rnn/bounded.h"
#include "ops/rnn/internal.h"

#include <math.h>
#include <stdlib.h>

/* Operands in double precision, dense; NULL if absent. */
typedef struct values {
    double *of[RNN_OPERANDS];
} values;

/* The states of a direction and the results of a step, for all sequences or one. */
typedef struct layer {
    const tenon_rnn_params *params;
    tenon_dtype dtype;
    uint32_t cell;
    rnn_sizes s;
    values v;
    tn_bounded *h, *c;    /* batch x output, batch x hidden */
    tn_bounded *gate;     /* gates x hidden */
    tn_bounded *reserved; /* RNN_RESERVED_OF(cell) x hidden */
    tn_bounded *product;  /* hidden: a vector that is multiplied */
    tn_bounded *next;     /* output */
} layer;

static tn_bounded limited(const layer *l, tn_bounded x)
{
    const double clip =
        l->dtype == TENON_DTYPE_F64 ? l->params->clip : (double)(float)l->params->clip;
    if (clip > 0)
        x.value = x.value < -clip ? -clip : x.value > clip ? clip : x.value;
    return x;
}

static tn_bounded activate(const layer *l, tenon_activation_kind kind, tn_bounded x)
{
    const tenon_activation activation = {.kind = kind};
    return tn_activation_reference(&activation, l->dtype, limited(l, x));
}

static void add_term(rnn_sum *s, const double *bias, int64_t at)
{
    if (bias != NULL)
        tn_rnn_add_product(s, bias[at], (tn_bounded){1, 0});
}

/* Adds the products of a row of the recurrent weights. */
static void add_recurrent(const layer *l, int64_t row, const tn_bounded *h, rnn_sum *s)
{
    for (int64_t k = 0; k < l->s.output; k++)
        tn_rnn_add_product(s, l->v.of[RNN_R][row * l->s.output + k], h[k]);
}

/* Returns the row of w, r and the biases of a gate's unit. */
static int64_t row_of(const layer *l, int64_t direction, int gate, int64_t unit)
{
    const int64_t number = tn_rnn_gate(l->cell, l->params->order, gate);
    return (direction * RNN_GATES_OF(l->cell) + number) * l->s.hidden + unit;
}

/* Adds W x and the bias of a gate's unit. */
static void add_input(const layer *l, int64_t t, int64_t n, int64_t row, rnn_sum *s)
{
    const double *x = l->v.of[RNN_X] + (t * l->s.batch + n) * l->s.inputs;
    for (int64_t k = 0; k < l->s.inputs; k++)
        tn_rnn_add_product(s, l->v.of[RNN_W][row * l->s.inputs + k], (tn_bounded){x[k], 0});
    add_term(s, l->v.of[RNN_BIAS], row);
}

/* Returns the argument of a gate: W x + R h + b. */
static tn_bounded argument(const layer *l, int64_t direction, int64_t t, int64_t n, int gate,
                           int64_t unit, const tn_bounded *h)
{
    const int64_t row = row_of(l, direction, gate, unit);
    rnn_sum s = {0};
    add_input(l, t, n, row, &s);
    add_recurrent(l, row, h, &s);
    add_term(&s, l->v.of[RNN_RECURRENT_BIAS], row);
    return tn_rnn_total(l->dtype, &s);
}

static tn_bounded with_peephole(const layer *l, int64_t direction, int gate, int64_t unit,
                                tn_bounded a, tn_bounded c)
{
    const double *weights = l->v.of[RNN_PEEPHOLE];
    if (weights == NULL)
        return a;
    const int64_t row = direction * 3 + tn_rnn_peephole(l->params->order, gate);
    return tn_rnn_add(
        l->dtype, a,
        tn_rnn_multiply(l->dtype, (tn_bounded){weights[row * l->s.hidden + unit], 0}, c));
}

static void step_lstm(layer *l, int64_t direction, int64_t t, int64_t n)
{
    const tn_bounded *h = l->h + n * l->s.output;
    const int64_t hidden = l->s.hidden;
    for (int64_t j = 0; j < hidden; j++) {
        tn_bounded *c = &l->c[n * hidden + j], a[4];
        for (int g = 0; g < 4; g++)
            a[g] = argument(l, direction, t, n, g, j, h);
        const tn_bounded i =
            activate(l, TENON_ACTIVATION_SIGMOID, with_peephole(l, direction, 0, j, a[0], *c));
        const tn_bounded f =
            activate(l, TENON_ACTIVATION_SIGMOID, with_peephole(l, direction, 1, j, a[1], *c));
        const tn_bounded g = activate(l, TENON_ACTIVATION_TANH, a[2]);
        *c =
            tn_rnn_add(l->dtype, tn_rnn_multiply(l->dtype, f, *c), tn_rnn_multiply(l->dtype, i, g));
        const tn_bounded o =
            activate(l, TENON_ACTIVATION_SIGMOID, with_peephole(l, direction, 2, j, a[3], *c));
        l->product[j] = tn_rnn_multiply(l->dtype, o, activate(l, TENON_ACTIVATION_TANH, *c));
        const tn_bounded kept[] = {i, f, g, o, *c};
        for (int k = 0; k < 5; k++)
            l->reserved[k * hidden + j] = kept[k];
    }
    for (int64_t p = 0; p < l->s.output; p++) {
        rnn_sum s = {0};
        for (int64_t j = 0; j < hidden && l->v.of[RNN_PROJECTION] != NULL; j++)
            tn_rnn_add_product(&s,
                               l->v.of[RNN_PROJECTION][(direction * l->s.output + p) * hidden + j],
                               l->product[j]);
        l->next[p] = l->v.of[RNN_PROJECTION] != NULL ? tn_rnn_total(l->dtype, &s) : l->product[p];
    }
}

static void step_simple(layer *l, int64_t direction, int64_t t, int64_t n)
{
    const tenon_activation_kind kind =
        l->params->kind == TENON_RNN_RELU ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_TANH;
    for (int64_t j = 0; j < l->s.hidden; j++)
        l->reserved[j] = l->next[j] =
            activate(l, kind, argument(l, direction, t, n, 0, j, l->h + n * l->s.output));
}

/* Returns the argument of a GRU's n without the reset gate: the products of `h` and the recurrent
 * bias. */
static tn_bounded recurrent_part(const layer *l, int64_t row, const tn_bounded *h)
{
    rnn_sum s = {0};
    add_recurrent(l, row, h, &s);
    add_term(&s, l->v.of[RNN_RECURRENT_BIAS], row);
    return tn_rnn_total(l->dtype, &s);
}

static void step_gru(layer *l, int64_t direction, int64_t t, int64_t n)
{
    const tn_bounded *h = l->h + n * l->s.output, one = {1, 0};
    const int64_t hidden = l->s.hidden;
    tn_bounded *z = l->reserved, *r = z + hidden, *a = r + hidden, *q = a + hidden;
    for (int64_t j = 0; j < hidden; j++) {
        z[j] = activate(l, TENON_ACTIVATION_SIGMOID, argument(l, direction, t, n, 0, j, h));
        r[j] = activate(l, TENON_ACTIVATION_SIGMOID, argument(l, direction, t, n, 1, j, h));
        l->product[j] = tn_rnn_multiply(l->dtype, r[j], h[j]);
    }
    for (int64_t j = 0; j < hidden; j++) {
        const int64_t row = row_of(l, direction, 2, j);
        tn_bounded x;
        if (l->cell == RNN_CELL_GRU_AFTER) {
            rnn_sum s = {0};
            add_input(l, t, n, row, &s);
            q[j] = recurrent_part(l, row, h);
            x = tn_rnn_add(l->dtype, tn_rnn_total(l->dtype, &s),
                           tn_rnn_multiply(l->dtype, r[j], q[j]));
        } else {
            x = argument(l, direction, t, n, 2, j, l->product);
        }
        a[j] = activate(l, TENON_ACTIVATION_TANH, x);
        const tn_bounded rest = tn_rnn_add(l->dtype, one, (tn_bounded){-z[j].value, z[j].bound});
        l->next[j] = tn_rnn_add(l->dtype, tn_rnn_multiply(l->dtype, rest, a[j]),
                                tn_rnn_multiply(l->dtype, z[j], h[j]));
    }
}

static void step_of(layer *l, int64_t direction, int64_t t, int64_t n)
{
    if (l->cell == RNN_CELL_LSTM)
        step_lstm(l, direction, t, n);
    else if (l->cell == RNN_CELL_SIMPLE)
        step_simple(l, direction, t, n);
    else
        step_gru(l, direction, t, n);
}

/* The places of the outputs in the results; NULL if absent. */
typedef struct results {
    tn_bounded *y, *hn, *cn, *reserve;
} results;

static results places_of(const layer *l, const tenon_tensor *const *v, tn_bounded *expected)
{
    results r = {0};
    tn_bounded **places[] = {&r.y, &r.hn, &r.cn, &r.reserve};
    (void)l;
    for (int i = RNN_Y; i < RNN_OPERANDS; i++) {
        if (v[i] == NULL)
            continue;
        *places[i - RNN_Y] = expected;
        expected += tenon_tensor_elements(v[i]);
    }
    return r;
}

/* Sets h and c of all sequences to their initial values. */
static void begin_states(layer *l, int64_t direction)
{
    const double *h0 = l->v.of[RNN_H0], *c0 = l->v.of[RNN_C0];
    const int64_t hs = l->s.batch * l->s.output, cs = l->s.batch * l->s.hidden;
    for (int64_t i = 0; i < hs; i++)
        l->h[i] = (tn_bounded){h0 != NULL ? h0[direction * hs + i] : 0, 0};
    for (int64_t i = 0; i < cs; i++)
        l->c[i] = (tn_bounded){c0 != NULL ? c0[direction * cs + i] : 0, 0};
}

/* Computes step t of sequence n, and stores its results. */
static void run_step(layer *l, int64_t direction, int64_t t, int64_t n, const results *to)
{
    const rnn_sizes *s = &l->s;
    const int64_t reserved = RNN_RESERVED_OF(l->cell) * s->hidden;
    const bool valid = l->v.of[RNN_LENGTHS] == NULL || (double)t < l->v.of[RNN_LENGTHS][n];
    tn_bounded *y = to->y + ((t * s->directions + direction) * s->batch + n) * s->output;
    if (valid)
        step_of(l, direction, t, n);
    for (int64_t i = 0; i < s->output; i++) {
        if (valid)
            l->h[n * s->output + i] = l->next[i];
        y[i] = valid ? tn_stored(l->dtype, l->next[i]) : (tn_bounded){0, 0};
    }
    tn_bounded *kept = to->reserve == NULL
                           ? NULL
                           : to->reserve + ((direction * s->steps + t) * s->batch + n) * reserved;
    for (int64_t i = 0; kept != NULL && i < reserved; i++)
        kept[i] = valid ? l->reserved[i] : (tn_bounded){0, 0};
}

static void run_direction(layer *l, int64_t direction, const results *to)
{
    const rnn_sizes *s = &l->s;
    const bool reverse = direction > 0 || l->params->direction == TENON_RNN_REVERSE;
    const int64_t hs = s->batch * s->output, cs = s->batch * s->hidden;
    begin_states(l, direction);
    for (int64_t step = 0; step < s->steps; step++)
        for (int64_t n = 0; n < s->batch; n++)
            run_step(l, direction, reverse ? s->steps - 1 - step : step, n, to);
    for (int64_t i = 0; to->hn != NULL && i < hs; i++)
        to->hn[direction * hs + i] = tn_stored(l->dtype, l->h[i]);
    for (int64_t i = 0; to->cn != NULL && i < cs; i++)
        to->cn[direction * cs + i] = tn_stored(l->dtype, l->c[i]);
}

static bool allocate(layer *l, const tenon_tensor *const *v)
{
    const rnn_sizes *s = &l->s;
    bool whole = true;
    for (int i = 0; i < RNN_Y; i++)
        if (v[i] != NULL)
            whole &= (l->v.of[i] = tn_host_read(v[i], v[i]->rank, v[i]->shape)) != NULL;
    l->h = tn_array(s->batch * s->output, sizeof *l->h);
    l->c = tn_array(s->batch * s->hidden, sizeof *l->c);
    l->reserved = tn_array(5 * s->hidden, sizeof *l->reserved);
    l->product = tn_array(s->hidden, sizeof *l->product);
    l->next = tn_array(s->output, sizeof *l->next);
    return whole && l->h != NULL && l->c != NULL && l->reserved != NULL && l->product != NULL &&
           l->next != NULL;
}

bool tn_rnn_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    layer l = {.params = params,
               .dtype = v[RNN_X]->dtype,
               .cell = tn_rnn_cell(params),
               .s = tn_rnn_sizes(params, v)};
    const bool whole = allocate(&l, v);
    const results to = places_of(&l, v, expected);
    for (int64_t direction = 0; whole && direction < l.s.directions; direction++)
        run_direction(&l, direction, &to);
    for (int i = 0; i < RNN_Y; i++)
        free(l.v.of[i]);
    free(l.h);
    free(l.c);
    free(l.reserved);
    free(l.product);
    free(l.next);
    return whole;
}
