/* Tests tenon_rnn_forward and tenon_rnn_backward_data against their references: every cell, option
 * and direction, lengths, no step, one step, one sequence, strides; known values; long recordings;
 * refusals. */
#include "rnn_case.h"

#include <math.h>

#define EVERYTHING                                                                                 \
    (RNN_HAS_BIAS | RNN_HAS_RECURRENT_BIAS | RNN_HAS_PEEPHOLE | RNN_HAS_LENGTHS | RNN_HAS_H0 |     \
     RNN_HAS_C0 | RNN_HAS_HN | RNN_HAS_CN | RNN_HAS_RESERVE)
#define PARAMS      RNN_PARAMS
#define RESET_AFTER TENON_RNN_RESET_AFTER

/* Each cell in each direction, gate order and set of options; sizes around vectors and blocks of
 * sequences. */
TEST(every_cell)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 5, 3, 7, 11, 0, 0, 0},
        {PARAMS(TENON_RNN_LSTM, 2, 1, 0, 0), 4, 9, 5, 33, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_LSTM, 1, 1, 0, 0.4), 4, 17, 3, 16, 5, EVERYTHING, 1},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 3, 2, 4, 5, 19, EVERYTHING, 2},
        {PARAMS(TENON_RNN_GRU, 0, 0, 0, 0), 5, 3, 7, 11, 0, 0, 0},
        {PARAMS(TENON_RNN_GRU, 2, 1, 0, 0), 4, 9, 5, 33, 0, EVERYTHING, 3},
        {PARAMS(TENON_RNN_GRU, 1, 0, 0, 0.4), 4, 17, 3, 16, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 2, 0, RESET_AFTER, 0), 4, 9, 5, 33, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 1, 1, RESET_AFTER, 0.4), 4, 17, 3, 16, 0, EVERYTHING, 4},
        {PARAMS(TENON_RNN_GRU, 0, 0, RESET_AFTER, 0), 4, 2, 3, 5, 0, RNN_HAS_RECURRENT_BIAS, 0},
        {PARAMS(TENON_RNN_TANH, 2, 0, 0, 0), 4, 9, 5, 33, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_TANH, 0, 1, 0, 0.4), 4, 17, 3, 16, 0, RNN_HAS_HN, 5},
        {PARAMS(TENON_RNN_RELU, 1, 0, 0, 0), 6, 5, 3, 9, 0, EVERYTHING, 0},
    };
    test_random random = test_random_for(4001);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rnn_check(&cases[i], &tn_operation_rnn, TEST_ALL, &random);
}

/* Many steps whose panels several cores share, with a rest of units. */
TEST(shared_steps)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 40, 2, 3, 100, 0, RNN_HAS_LENGTHS | RNN_HAS_HN, 0},
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 40, 1, 3, 70, 37, RNN_HAS_HN | RNN_HAS_CN, 0},
        {PARAMS(TENON_RNN_GRU, 1, 0, 0, 0), 40, 5, 3, 70, 0, RNN_HAS_H0, 0},
        {PARAMS(TENON_RNN_TANH, 0, 0, 0, 0), 41, 1, 3, 100, 0, RNN_HAS_HN, 0},
    };
    test_random random = test_random_for(4010);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rnn_check(&cases[i], &tn_operation_rnn, TEST_ALL, &random);
}

/* No step, one step, no sequence, one sequence, one unit, no input. */
TEST(edges)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 0, 3, 4, 5, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 1, 1, 4, 5, 3, EVERYTHING, 0},
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 1, 1, 40, 64, 0, RNN_HAS_H0 | RNN_HAS_C0, 0},
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 3, 0, 4, 5, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 9, 1, 1, 1, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 1, 0, 0, 0), 0, 2, 4, 5, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 1, 0, 0, 0), 3, 2, 0, 5, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 1, 0, RESET_AFTER, 0), 1, 1, 3, 1, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_TANH, 1, 0, 0, 0), 0, 2, 4, 5, 0, 0, 0},
    };
    test_random random = test_random_for(4002);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rnn_check(&cases[i], &tn_operation_rnn, TEST_ONCE, &random);
}

TEST(random_problems)
{
    test_random random = test_random_for(4003);
    for (int n = 0; n < test_problems(20); n++) {
        const rnn_case r = rnn_random_case(&random, EVERYTHING);
        rnn_check(&r, &tn_operation_rnn, TEST_ONCE, &random);
    }
}

/* Batch-first tensors are views with exchanged dimensions; the products of a sequence are then
 * contiguous. */
TEST(batch_first)
{
    test_random random = test_random_for(4004);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        test_fixture f;
        test_begin_line(&f,
                        "rnn x=T:6x5x3/3,18,1 w=T:2x28x3 r=T:2x28x7 bias=T:2x28 "
                        "y=T:6x2x5x7/14,7,84,1 direction=bidirectional",
                        *type);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Returns the hidden state of a GRU of one unit after two steps, by the formulas of PyTorch's
 * documentation: gates r z n with weights w, r and biases b, c. */
static double torch_gru(const double *x, const double *w, const double *r, const double *b,
                        const double *c)
{
    double h = 0;
    for (int t = 0; t < 2; t++) {
        const double reset = sigmoid(w[0] * x[t] + b[0] + r[0] * h + c[0]);
        const double update = sigmoid(w[1] * x[t] + b[1] + r[1] * h + c[1]);
        const double new = tanh(w[2] * x[t] + b[2] + reset * (r[2] * h + c[2]));
        h = (1 - update) * new + update *h;
    }
    return h;
}

/* Returns the hidden state of an LSTM of one unit after two steps, by the formulas of ONNX: gates
 * i o f c, peepholes i o f. */
static double onnx_lstm(const double *x, const double *w, const double *r, const double *b,
                        const double *p)
{
    double h = 0, c = 0;
    for (int t = 0; t < 2; t++) {
        const double i = sigmoid(w[0] * x[t] + r[0] * h + p[0] * c + b[0]);
        const double f = sigmoid(w[2] * x[t] + r[2] * h + p[2] * c + b[2]);
        const double g = tanh(w[3] * x[t] + r[3] * h + b[3]);
        c = f * c + i * g;
        const double o = sigmoid(w[1] * x[t] + r[1] * h + p[1] * c + b[1]);
        h = o * tanh(c);
    }
    return h;
}

static void set_all(test_fixture *f, int operand, const double *values, int count)
{
    for (int i = 0; i < count; i++)
        test_set(&f->operands[operand], i, values[i]);
}

/* The reference is compared with the formulas of PyTorch and ONNX, then the device with the
 * reference. */
TEST(known_values)
{
    static const double x[] = {0.5, -0.25}, w[] = {0.5, -0.75, 1, 0.25}, r[] = {1, 0.5, -0.5, 0.75},
                        b[] = {0.25, -0.5, 0.125, 0.5}, c[] = {0.5, 0.25, -0.75},
                        p[] = {0.5, -1, 0.25};
    test_fixture f;
    test_begin_line(&f,
                    "rnn x=T:2x1x1 w=T:1x3x1 r=T:1x3x1 bias=T:1x3 recurrent_bias=T:1x3 "
                    "y=T:2x1x1x1 kind=gru flags=1",
                    TENON_DTYPE_F32);
    test_make(&f);
    set_all(&f, RNN_X, x, 2);
    set_all(&f, RNN_W, w, 3);
    set_all(&f, RNN_R, r, 3);
    set_all(&f, RNN_BIAS, b, 3);
    set_all(&f, RNN_RECURRENT_BIAS, c, 3);
    test_expect(&f);
    assert_true(fabs(f.expected[1].value - torch_gru(x, w, r, b, c)) < 1e-14);
    test_finish(&f, TEST_ONCE);
    test_begin_line(&f,
                    "rnn x=T:2x1x1 w=T:1x4x1 r=T:1x4x1 bias=T:1x4 peephole=T:1x3 y=T:2x1x1x1 "
                    "order=iofc",
                    TENON_DTYPE_F32);
    test_make(&f);
    set_all(&f, RNN_X, x, 2);
    set_all(&f, RNN_W, w, 4);
    set_all(&f, RNN_R, r, 4);
    set_all(&f, RNN_BIAS, b, 4);
    set_all(&f, RNN_PEEPHOLE, p, 3);
    test_expect(&f);
    assert_true(fabs(f.expected[1].value - onnx_lstm(x, w, r, b, p)) < 1e-14);
    test_finish(&f, TEST_ONCE);
}

/* The bounds must not be so large that a wrong step passes. */
TEST(bounds_are_small)
{
    static const rnn_case r = {
        PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 20, 2, 8, 16, 0, RNN_HAS_BIAS, 0};
    test_random random = test_random_for(4005);
    test_fixture f;
    rnn_begin(&f, &r, TENON_DTYPE_F32, &tn_operation_rnn);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_expect(&f);
    for (int64_t i = 0; i < 20 * 2 * 16; i++)
        assert_true(f.expected[i].bound < 1e-4);
    test_finish(&f, TEST_ONCE);
}

/* A layer of thousands of steps is one recording, and its product a single child. */
TEST(many_steps)
{
    static const rnn_case r = {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 3000, 1, 2, 3, 2, 0, 0};
    test_random random = test_random_for(4006);
    test_fixture f;
    rnn_begin(&f, &r, TENON_DTYPE_F32, &tn_operation_rnn);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    test_finish(&f, TEST_ALL);
}

#define EVERY_GRADIENT                                                                             \
    (RNN_HAS_PEEPHOLE | RNN_HAS_LENGTHS | RNN_HAS_H0 | RNN_HAS_C0 | RNN_HAS_DY | RNN_HAS_DHN |     \
     RNN_HAS_DCN | RNN_HAS_DX | RNN_HAS_HN | RNN_HAS_CN)

TEST(every_gradient)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 0, 0, 0, 0), 5, 3, 7, 11, 0, RNN_HAS_DY | RNN_HAS_DX, 0},
        {PARAMS(TENON_RNN_LSTM, 2, 1, 0, 0), 4, 9, 5, 33, 0, EVERY_GRADIENT, 0},
        {PARAMS(TENON_RNN_LSTM, 1, 1, 0, 0), 4, 17, 3, 16, 5, EVERY_GRADIENT, 1},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 3, 2, 4, 5, 19, EVERY_GRADIENT, 2},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 0, 2, 4, 5, 3, EVERY_GRADIENT, 0},
        {PARAMS(TENON_RNN_GRU, 0, 0, 0, 0), 5, 3, 7, 11, 0, RNN_HAS_DY | RNN_HAS_DX, 0},
        {PARAMS(TENON_RNN_GRU, 2, 1, 0, 0), 4, 9, 5, 33, 0, EVERY_GRADIENT, 3},
        {PARAMS(TENON_RNN_GRU, 2, 0, RESET_AFTER, 0), 4, 9, 5, 33, 0, EVERY_GRADIENT, 0},
        {PARAMS(TENON_RNN_GRU, 1, 1, RESET_AFTER, 0), 1, 1, 3, 16, 0, EVERY_GRADIENT, 4},
        {PARAMS(TENON_RNN_TANH, 2, 0, 0, 0), 4, 9, 5, 33, 0, EVERY_GRADIENT, 0},
        {PARAMS(TENON_RNN_RELU, 1, 0, 0, 0), 6, 5, 3, 9, 0, RNN_HAS_DHN | RNN_HAS_HN, 5},
    };
    test_random random = test_random_for(4007);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        rnn_check(&cases[i], &tn_operation_rnn_backward_data, TEST_ALL, &random);
}

TEST(random_gradients)
{
    test_random random = test_random_for(4008);
    for (int n = 0; n < test_problems(20); n++) {
        rnn_case r = rnn_random_case(&random, EVERYTHING);
        r.params.clip = 0;
        r.has = (uint32_t)test_between(&random, 0, EVERY_GRADIENT) & EVERY_GRADIENT;
        rnn_check(&r, &tn_operation_rnn_backward_data, TEST_ONCE, &random);
    }
}

/* The gradient of the sum of y·dy with respect to x, h0 and c0, by finite differences of the
 * layer's reference, for every cell, with lengths and in both directions. */
TEST(gradients)
{
    static const rnn_case cases[] = {
        {PARAMS(TENON_RNN_LSTM, 2, 1, 0, 0), 4, 3, 2, 3, 2, EVERYTHING, 0},
        {PARAMS(TENON_RNN_LSTM, 2, 0, 0, 0), 4, 3, 2, 3, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 2, 0, 0, 0), 4, 3, 2, 3, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_GRU, 2, 1, RESET_AFTER, 0), 4, 3, 2, 3, 0, EVERYTHING, 0},
        {PARAMS(TENON_RNN_TANH, 2, 0, 0, 0), 4, 3, 2, 3, 0, EVERYTHING, 0}};
    test_random random = test_random_for(4009);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        test_fixture y, dx;
        rnn_case back = cases[i];
        back.has = EVERY_GRADIENT & ~(uint32_t)(RNN_HAS_DHN | RNN_HAS_DCN);
        rnn_begin(&y, &cases[i], TENON_DTYPE_F64, &tn_operation_rnn);
        rnn_begin(&dx, &back, TENON_DTYPE_F64, &tn_operation_rnn_backward_data);
        test_make(&y);
        test_make(&dx);
        test_fill_inputs(&y, TEST_BOUND, &random);
        test_fill_inputs(&dx, TEST_BOUND, &random);
        rnn_share(&y, &dx);
        test_expect(&y);
        rnn_pass(&y, &dx);
        test_expect(&dx);
        const tn_bounded *e = dx.expected;
        test_slopes(&y, RNN_X, &dx.operands[RNN_DATA_DY], e, 1e-7, 0);
        e += tenon_tensor_elements(&dx.operands[RNN_DATA_DX].view);
        test_slopes(&y, RNN_H0, &dx.operands[RNN_DATA_DY], e, 1e-7, 0);
        e += tenon_tensor_elements(&dx.operands[RNN_DATA_DH0].view);
        if (cases[i].params.kind == TENON_RNN_LSTM)
            test_slopes(&y, RNN_C0, &dx.operands[RNN_DATA_DY], e, 1e-7, 0);
        test_release(&y);
        test_release(&dx);
    }
}

TEST(refusals)
{
#define SIMPLE "rnn x=f32:3x2x4 w=f32:1x5x4 r=f32:1x5x5 y=f32:3x1x2x5 kind=tanh "
#define LSTM   "rnn x=f32:3x2x4 w=f32:1x20x4 r=f32:1x20x5 y=f32:3x1x2x5 "
    static const test_refusal refusals[] = {
        {SIMPLE "kind=4", "kind", 0},
        {SIMPLE "flags=1", "TENON_RNN_RESET_AFTER", 0},
        {SIMPLE "clip=-1", "clip", 0},
        {SIMPLE "clip=nan", "clip", 0},
        {SIMPLE "c0=f32:1x2x5", "c0: must be NULL", 0},
        {SIMPLE "peephole=f32:1x15", "peephole: must be NULL", 0},
        {SIMPLE "direction=bidirectional", "w: shape is 1x5x4, must be 2x5x4", 0},
        {SIMPLE "lengths=f32:2", "lengths: type is f32", TENON_ERROR_UNSUPPORTED},
        {SIMPLE "lengths=i32:3", "lengths: shape is 3, must be 2", 0},
        {LSTM "reserve=f32:1x3x2x25/300,100,50,2", "reserve: must be dense", 0},
        {LSTM "reserve=f64:1x3x2x25", "reserve: type is f64", TENON_ERROR_UNSUPPORTED},
        {LSTM "reserve=f32:1x3x2x20", "reserve: shape is", 0},
        {"rnn x=f32:3x2x4 w=f32:1x19x4 r=f32:1x19x5 y=f32:3x1x2x5", "must be a multiple of 4", 0},
        {"rnn x=f32:3x2x4 w=f32:1x20x4 r=f32:1x20x3 y=f32:3x1x2x3", "r: shape is 1x20x3", 0},
        {"rnn x=f32:3x2x4 w=f32:1x0x4 r=f32:1x0x0 y=f32:3x1x2x0", "must not be 0", 0},
        {"rnn x=f32:6x4 w=f32:1x20x4 r=f32:1x20x5 y=f32:3x1x2x5", "x: rank is 2, must be 3", 0},
    };
    TEST_REFUSE(refusals);
}
