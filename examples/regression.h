/* The network of resume.c: two layers with dropout that learn a linear function of random inputs,
 * and a training step with Adam. */
#ifndef EXAMPLES_REGRESSION_H
#define EXAMPLES_REGRESSION_H

#include "try.h"

enum { BATCH = 64, INPUTS = 16, HIDDEN = 32, PARAMETERS = 4, STATES = 3 * PARAMETERS };

static tenon_stream *stream;
static tenon_context *context;

static inline tenon_tensor zeros(int64_t rows, int64_t columns)
{
    tenon_tensor made;
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (int64_t[]){rows, columns}, &made));
    TRY(tenon_tensor_fill(stream, &made, 0, NULL));
    return made;
}

static inline void draw(const tenon_tensor *y, uint64_t seed, uint64_t sequence, double deviation)
{
    TRY(tenon_random(stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .seed = seed,
                                          .sequence = sequence, .deviation = deviation),
                     y, NULL));
}

/* Weights and biases of two layers, then their first and second moments. */
static tenon_named_tensor states[STATES] = {
    {.name = "w1"},        {.name = "b1"},        {.name = "w2"},        {.name = "b2"},
    {.name = "w1.first"},  {.name = "b1.first"},  {.name = "w2.first"},  {.name = "b2.first"},
    {.name = "w1.second"}, {.name = "b1.second"}, {.name = "w2.second"}, {.name = "b2.second"}};

/* The tensors of a step: x, teacher, target, hidden (h), dropped (k), result (y), and gradients. */
static tenon_tensor x, teacher, target, h, k, y, dy, dk, dh, gradients[PARAMETERS], loss;

static inline void make_tensors(void)
{
    const int64_t shapes[PARAMETERS][2] = {{INPUTS, HIDDEN}, {1, HIDDEN}, {HIDDEN, 1}, {1, 1}};
    for (int i = 0; i < STATES; i++)
        states[i].tensor = zeros(shapes[i % PARAMETERS][0], shapes[i % PARAMETERS][1]);
    for (int i = 0; i < PARAMETERS; i++)
        gradients[i] = zeros(shapes[i][0], shapes[i][1]);
    x = zeros(BATCH, INPUTS), teacher = zeros(INPUTS, 1), target = zeros(BATCH, 1);
    h = zeros(BATCH, HIDDEN), k = zeros(BATCH, HIDDEN), y = zeros(BATCH, 1), dy = zeros(BATCH, 1);
    dk = zeros(BATCH, HIDDEN), dh = zeros(BATCH, HIDDEN);
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 0, NULL, &loss));
    TRY(tenon_tensor_fill(stream, &loss, 0, NULL));
    draw(&teacher, 1, 0, 1);
    draw(&states[0].tensor, 1, 1, 0.3);
    draw(&states[2].tensor, 1, 2, 0.3);
}

static inline void destroy_tensors(void)
{
    tenon_tensor *const others[] = {&x, &teacher, &target, &h, &k, &y, &dy, &dk, &dh, &loss};
    for (int i = 0; i < STATES; i++)
        tenon_tensor_destroy(&states[i].tensor);
    for (int i = 0; i < PARAMETERS; i++)
        tenon_tensor_destroy(&gradients[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tenon_tensor_destroy(others[i]);
}

/* Takes step number `step`, counted from 1. */
static inline void train(uint64_t step, uint64_t seed)
{
    const tenon_tensor *w1 = &states[0].tensor, *b1 = &states[1].tensor, *w2 = &states[2].tensor,
                       *b2 = &states[3].tensor;
    const tenon_tensor x_t = tenon_tensor_transpose(x, 0, 1), k_t = tenon_tensor_transpose(k, 0, 1),
                       w2_t = tenon_tensor_transpose(*w2, 0, 1);
    const tenon_dropout_params dropped =
        tenon_dropout_params(.seed = seed + 1, .sequence = step, .probability = 0.1);
    const tenon_reduce_params rows =
        tenon_reduce_params(.kind = TENON_REDUCE_SUM, .axis_count = 1, .axes = {0});
    const tenon_tensor db1 = tenon_tensor_squeeze(gradients[1], 0),
                       db2 = tenon_tensor_squeeze(gradients[3], 0);
    draw(&x, seed, step, 1);
    TRY(tenon_gemm(stream, NULL, &x, &teacher, NULL, NULL, &target, NULL));
    TRY(tenon_gemm(stream, NULL, &x, w1, NULL, b1, &h, NULL));
    TRY(tenon_activation_forward(
        stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), &h, &k, NULL));
    TRY(tenon_dropout(stream, &dropped, &k, &k, NULL));
    TRY(tenon_gemm(stream, NULL, &k, w2, NULL, b2, &y, NULL));
    TRY(tenon_mse_forward(stream, NULL, &y, &target, &loss, NULL));

    TRY(tenon_mse_backward(stream, NULL, &y, &target, NULL, &dy, NULL));
    TRY(tenon_gemm(stream, NULL, &k_t, &dy, NULL, NULL, &gradients[2], NULL));
    TRY(tenon_reduce(stream, &rows, &dy, &db2, NULL));
    TRY(tenon_gemm(stream, NULL, &dy, &w2_t, NULL, NULL, &dk, NULL));
    TRY(tenon_dropout(stream, &dropped, &dk, &dk, NULL)); /* the same elements */
    TRY(tenon_activation_backward(
        stream, &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU), &h, &dk, &dh,
        NULL));
    TRY(tenon_gemm(stream, NULL, &x_t, &dh, NULL, NULL, &gradients[0], NULL));
    TRY(tenon_reduce(stream, &rows, &dh, &db1, NULL));
    for (int i = 0; i < PARAMETERS; i++)
        TRY(tenon_adam(stream, &tenon_adam_params(.learning_rate = 0.003, .step = step),
                       &gradients[i], &states[i].tensor, &states[i + PARAMETERS].tensor,
                       &states[i + 2 * PARAMETERS].tensor, NULL, NULL));
}

#endif
