/* Tests tenon_rnn_backward_weights against its reference and finite differences of the layer's:
 * every cell, direction and type, lengths, strides, no step, refusals; and the training of a layer,
 * whose loss must decrease. */
#include "rnn_case.h"

#include <math.h>

#define EVERY_WEIGHT                                                                               \
    (RNN_HAS_LENGTHS | RNN_HAS_H0 | RNN_HAS_C0 | RNN_HAS_DW | RNN_HAS_DR | RNN_HAS_BIAS |          \
     RNN_HAS_RECURRENT_BIAS | RNN_HAS_PEEPHOLE | RNN_HAS_DPROJECTION)
#define PARAMS      RNN_PARAMS
#define RESET_AFTER TENON_RNN_RESET_AFTER
#define WEIGHTS     &tn_operation_rnn_backward_weights

TEST(every_weight)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 5, 3, 7, 11, 0, RNN_HAS_DW | RNN_HAS_DR, 0},
        {PARAMS(TENON_RNN_LSTM, 2, 1, 0, 0), 40, 9, 5, 33, 0, EVERY_WEIGHT, 0},
        {PARAMS(TENON_RNN_LSTM, 1, 1, 0, 0), 4, 17, 3, 16, 5, EVERY_WEIGHT, 1},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 3, 2, 4, 5, 19, EVERY_WEIGHT, 2},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 0, 2, 4, 5, 3, EVERY_WEIGHT, 0},
        {PARAMS(TENON_RNN_GRU, 0, 0, 0, 0), 5, 0, 7, 11, 0, EVERY_WEIGHT, 0},
        {PARAMS(TENON_RNN_GRU, 2, 1, 0, 0), 4, 9, 5, 33, 0, EVERY_WEIGHT, 3},
        {PARAMS(TENON_RNN_GRU, 2, 0, RESET_AFTER, 0), 21, 9, 5, 33, 0, EVERY_WEIGHT, 0},
        {PARAMS(TENON_RNN_GRU, 1, 1, RESET_AFTER, 0), 1, 1, 3, 16, 0, EVERY_WEIGHT, 4},
        {PARAMS(TENON_RNN_TANH, 2, 0, 0, 0), 4, 9, 0, 33, 0, EVERY_WEIGHT, 0},
        {PARAMS(TENON_RNN_RELU, 1, 0, 0, 0), 6, 5, 3, 9, 0, RNN_HAS_BIAS, 5},
    };
    test_random random = test_random_for(4101);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rnn_check(&cases[i], WEIGHTS, TEST_ALL, &random);
}

TEST(random_weights)
{
    test_random random = test_random_for(4102);
    for (int n = 0; n < test_problems(20); n++) {
        rnn_case r = rnn_random_case(&random, EVERY_WEIGHT);
        r.params.clip = 0;
        rnn_check(&r, WEIGHTS, TEST_ONCE, &random);
    }
}

/* Values of x beyond the lengths do not reach the results, even if they are not finite. */
TEST(padding_is_not_read)
{
    test_random random = test_random_for(4103);
    test_fixture f;
    test_begin_line(&f,
                    "rnn_backward_weights x=T:3x2x4 lengths=i32:2 y=T:3x1x2x5 reserve=S:1x3x2x5 "
                    "dgates=S:1x3x2x5 dw=T:1x5x4 dr=T:1x5x5 kind=tanh",
                    TENON_DTYPE_F32);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_set(&f.operands[RNN_WEIGHTS_LENGTHS], 0, 2);
    test_set(&f.operands[RNN_WEIGHTS_LENGTHS], 1, 3);
    for (int i = 0; i < 4; i++)
        test_set(&f.operands[RNN_WEIGHTS_X], 16 + i, (double)INFINITY);
    for (int i = 0; i < 5; i++)
        test_set(&f.operands[RNN_WEIGHTS_Y], 20 + i, (double)NAN);
    test_finish(&f, TEST_ALL);
}

/* Inputs of the layer and the outputs that are their gradients. */
static const struct {
    int weight, gradient;
} pairs[] = {{RNN_W, RNN_WEIGHTS_DW},
             {RNN_R, RNN_WEIGHTS_DR},
             {RNN_BIAS, RNN_WEIGHTS_DBIAS},
             {RNN_RECURRENT_BIAS, RNN_WEIGHTS_DRECURRENT_BIAS},
             {RNN_PEEPHOLE, RNN_WEIGHTS_DPEEPHOLE},
             {RNN_PROJECTION, RNN_WEIGHTS_DPROJECTION}};

/* The three calls of a training step, in f64. */
typedef struct step {
    test_fixture y, dx, dw;
} step;

static void begin_step(step *s, const rnn_case *r, test_random *random)
{
    rnn_case data = *r, weights = *r;
    data.has = RNN_HAS_PEEPHOLE | RNN_HAS_LENGTHS | RNN_HAS_H0 | RNN_HAS_C0 | RNN_HAS_DY;
    weights.has = EVERY_WEIGHT;
    rnn_begin(&s->y, r, TENON_DTYPE_F64, &tn_operation_rnn);
    rnn_begin(&s->dx, &data, TENON_DTYPE_F64, &tn_operation_rnn_backward_data);
    rnn_begin(&s->dw, &weights, TENON_DTYPE_F64, WEIGHTS);
    test_fixture *all[] = {&s->y, &s->dx, &s->dw};
    for (int i = 0; i < 3; i++) {
        test_make(all[i]);
        test_fill_inputs(all[i], TEST_BOUND, random);
    }
}

/* Computes the gradients of the weights by the three references. */
static void expect_step(step *s)
{
    rnn_share(&s->y, &s->dx);
    rnn_share(&s->y, &s->dw);
    test_expect(&s->y);
    rnn_pass(&s->y, &s->dx);
    rnn_pass(&s->y, &s->dw);
    test_expect(&s->dx);
    rnn_pass(&s->dx, &s->dw);
    test_expect(&s->dw);
}

static void release_step(step *s)
{
    test_release(&s->y);
    test_release(&s->dx);
    test_release(&s->dw);
}

/* The gradient of the sum of y·dy with respect to each weight, by finite differences of the layer's
 * reference, for every cell, with lengths and in both directions. */
TEST(gradients)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 2, 1, 0, 0), 4, 3, 2, 3, 2, 0, 0},
        {PARAMS(TENON_RNN_LSTM, 1, 0, 0, 0), 4, 3, 2, 3, 0, 0, 0},
        {PARAMS(TENON_RNN_GRU, 2, 0, 0, 0), 4, 3, 2, 3, 0, 0, 0},
        {PARAMS(TENON_RNN_GRU, 2, 1, RESET_AFTER, 0), 4, 3, 2, 3, 0, 0, 0},
        {PARAMS(TENON_RNN_TANH, 2, 0, 0, 0), 4, 3, 2, 3, 0, 0, 0}};
    test_random random = test_random_for(4104);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        step s;
        rnn_case r = cases[i];
        r.has = RNN_HAS_BIAS | RNN_HAS_RECURRENT_BIAS | RNN_HAS_PEEPHOLE | RNN_HAS_LENGTHS |
                RNN_HAS_H0 | RNN_HAS_C0 | RNN_HAS_RESERVE;
        begin_step(&s, &r, &random);
        expect_step(&s);
        const tn_bounded *e = s.dw.expected;
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            if (s.y.operands[pairs[k].weight].image == NULL)
                continue;
            test_slopes(&s.y, (uint32_t)pairs[k].weight, &s.dx.operands[RNN_DATA_DY], e, 1e-7, 0);
            e += tenon_tensor_elements(&s.dw.operands[pairs[k].gradient].view);
        }
        test_check(&s.dw, TEST_ONCE); /* the device, on values of a real step */
        release_step(&s);
    }
}

TEST(refusals)
{
#define TANH "rnn_backward_weights x=f32:3x2x4 y=f32:3x1x2x5 kind=tanh "
#define LSTM "rnn_backward_weights x=f32:3x2x4 y=f32:3x1x2x5 reserve=f32:1x3x2x25 "
    static const test_refusal refusals[] = {
        {TANH "reserve=f32:1x3x2x5 dgates=f32:1x3x2x5 dw=f32:1x5x4 clip=1", "clip is 1",
         TENON_ERROR_UNSUPPORTED},
        {TANH "reserve=f32:1x3x2x5 dgates=f32:1x3x2x6 dw=f32:1x5x4", "dgates: shape is 1x3x2x6", 0},
        {TANH "reserve=f32:1x3x2x5 dgates=f32:1x3x2x5 dw=f32:1x4x4", "dw: shape is 1x4x4", 0},
        {TANH "reserve=f32:1x3x2x5 dgates=f32:1x3x2x5 dw=f16:1x5x4", "dw is f16",
         TENON_ERROR_UNSUPPORTED},
        {TANH "reserve=f32:1x3x2x5 dgates=f32:1x3x2x5 dpeephole=f32:1x15",
         "dpeephole: must be NULL", 0},
        {TANH "reserve=f32:1x3x2x0 dgates=f32:1x3x2x0 dw=f32:1x0x4", "reserve: dimension 3", 0},
        {LSTM "dgates=f32:1x3x2x20 dprojection=f32:1x5x5", "dprojection: must be NULL", 0},
        {LSTM "dgates=f32:1x3x2x20/150,50,25,1 dw=f32:1x20x4", "dgates: must be dense", 0},
        {LSTM "dgates=f32:1x3x2x20 lengths=f32:2 dw=f32:1x20x4", "lengths: type is f32",
         TENON_ERROR_UNSUPPORTED},
        {"rnn_backward_weights x=f32:3x2x4 y=f32:3x1x2x5 reserve=f32:1x3x2x24 dgates=f32:1x3x2x20 "
         "dw=f32:1x20x4",
         "must be a positive multiple of 5", 0},
    };
    TEST_REFUSE(refusals);
}
