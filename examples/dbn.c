/*
 * Trains a deep belief network, layer by layer, by contrastive divergence with one step of Gibbs
 * sampling (G. Hinton, "Training products of experts by minimizing contrastive divergence", 2002;
 * G. Hinton et al., "A fast learning algorithm for deep belief nets", 2006):
 *
 *     dbn [STEPS [DIVISOR]]     3 steps for each layer and 1, if they are not given
 *
 * With its 100 million weights, the network is as large as the one with four layers of R. Raina, A.
 * Madhavan and A. Ng, "Large-scale deep unsupervised learning using graphics processors", 2009, and
 * the batch has the 192 examples of that paper; DIVISOR divides the units of each layer. A step is
 * one call, which draws the examples, binary patterns with noise, and passes them through the
 * layers below. Prints the errors of the reconstructions, which must fall, and the seconds of a
 * step.
 */
#include "training.h"

enum { BATCH = 192, PATTERNS = 16, LAYERS = 3 };
static const int64_t units[LAYERS + 1] = {4096, 11008, 4096, 2400};
static const double RATE = 6.4; /* of learning, divided by the visible units of a layer */

/* Adds the probabilities y = sigmoid(x·w + bias). */
static tenon_tensor probabilities(training *t, const tenon_tensor *x, const tenon_tensor *w,
                                  const tenon_tensor *bias)
{
    const tenon_tensor y =
        training_intermediate(t, TENON_DTYPE_F32, 2, (int64_t[]){BATCH, w->shape[1]});
    ADD(t, NULL, tenon_gemm,
        &tenon_gemm_params(.epilogue.activation.kind = TENON_ACTIVATION_SIGMOID), x, w, NULL, bias,
        &y);
    return y;
}

/* Adds random binary numbers with these probabilities. */
static tenon_tensor sample(training *t, uint64_t seed, const tenon_tensor *p)
{
    const tenon_tensor y = training_like(t, p);
    ADD(t, "random", tenon_bernoulli, &tenon_bernoulli_params(.seed = seed), p, &y);
    return y;
}

/* Adds bias += rate · the mean of data - model over the batch. */
static void update_bias(training *t, const tenon_tensor *data, const tenon_tensor *model,
                        double rate, const tenon_tensor *bias)
{
    const tenon_tensor difference = training_like(t, data), gradient = training_like(t, bias);
    ADD(t, NULL, tenon_elementwise, &tenon_elementwise_params(.kind = TENON_ELEMENTWISE_SUBTRACT),
        data, model, &difference);
    ADD(t, NULL, tenon_reduce,
        &tenon_reduce_params(.kind = TENON_REDUCE_MEAN, .axis_count = 1, .axes = {0}), &difference,
        &gradient);
    ADD(t, NULL, tenon_sgd, &tenon_sgd_params(.flags = TENON_SGD_MAXIMIZE, .learning_rate = rate),
        &gradient, bias, NULL, NULL);
}

/* Weights, and biases of the visible and of the hidden units. */
typedef struct layer {
    tenon_tensor w, b, c;
} layer;

static layer new_layer(training *t, int64_t visible, int64_t hidden)
{
    return (layer){.w = training_normal(t, 2, (int64_t[]){visible, hidden}, 0.01),
                   .b = training_constant(t, 1, &visible, 0),
                   .c = training_constant(t, 1, &hidden, 0)};
}

/* Adds the update of a layer with the visible units v, and the error of their reconstruction. */
static void learn(training *t, const layer *l, const tenon_tensor *v, const tenon_tensor *error)
{
    const double rate = RATE / (double)v->shape[1];
    const tenon_tensor w = tenon_tensor_transpose(l->w, 0, 1),
                       h = probabilities(t, v, &l->w, &l->c), drawn = sample(t, 1, &h),
                       v1 = probabilities(t, &drawn, &w, &l->b),
                       h1 = probabilities(t, &v1, &l->w, &l->c),
                       data = tenon_tensor_transpose(*v, 0, 1),
                       model = tenon_tensor_transpose(v1, 0, 1);
    ADD(t, NULL, tenon_mse_forward, NULL, &v1, v, error);
    /* w += rate / batch · (data · h - model · h1) */
    ADD(t, NULL, tenon_gemm, &tenon_gemm_params(.epilogue.alpha = rate / BATCH), &data, &h, &l->w,
        NULL, &l->w);
    ADD(t, NULL, tenon_gemm, &tenon_gemm_params(.epilogue.alpha = -rate / BATCH), &model, &h1,
        &l->w, NULL, &l->w);
    update_bias(t, v, &v1, rate, &l->b);
    update_bias(t, &h, &h1, rate, &l->c);
}

/* Makes the probabilities of the examples: one of the patterns with 5 % of noise in each row. */
static tenon_tensor make_patterns(training *t, int64_t size)
{
    const tenon_tensor rows = training_tensor(t, TENON_DTYPE_F32, 2, (int64_t[]){BATCH, size});
    const tenon_tensor patterns = tenon_tensor_slice(rows, 0, 0, PATTERNS);
    TRY(tenon_random(t->stream,
                     &tenon_random_params(.kind = TENON_RANDOM_BERNOULLI, .probability = 0.3),
                     &patterns, NULL));
    TRY(tenon_elementwise_chain(
        t->stream,
        &tenon_elementwise_chain_params(.step_count = 1,
                                        .steps = {{TENON_CHAIN_FMA, .alpha = 0.9, .beta = 0.05}}),
        &patterns, NULL, NULL, NULL, &patterns, NULL));
    for (int64_t i = PATTERNS; i < BATCH; i += PATTERNS) {
        const tenon_tensor copy = tenon_tensor_slice(rows, 0, i, PATTERNS);
        TRY(tenon_copy(t->stream, NULL, &patterns, &copy, NULL));
    }
    return rows;
}

/* Runs steps, and returns whether the error falls. */
static bool run(training *t, int number, int steps, const tenon_tensor *error)
{
    float first = 0, last = 0;
    for (int step = 1; step <= steps; step++) {
        const double start = seconds_now();
        training_run(t, (uint64_t)number * (uint64_t)steps + (uint64_t)step);
        TRY(tenon_tensor_download(t->stream, error, &last, sizeof last, NULL));
        first = step == 1 ? last : first;
        if (step == 1 || step == steps)
            printf("layer %d  step %d  error %.4f  %.3f s\n", number + 1, step, last,
                   seconds_now() - start);
    }
    return last < first;
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 3, divisor = argc > 2 ? atoi(argv[2]) : 1;
    if (steps < 2 || divisor < 1 || divisor > units[LAYERS] || argc > 3) {
        fprintf(stderr, "usage: dbn [STEPS [DIVISOR]], at least 2 and 1\n");
        return 2;
    }
    training t = training_open();
    layer layers[LAYERS];
    bool well = true;
    const tenon_tensor patterns = make_patterns(&t, units[0] / divisor),
                       error = training_constant(&t, 0, NULL, 0);
    for (int i = 0; i < LAYERS; i++) {
        training_restart(&t);
        layers[i] = new_layer(&t, units[i] / divisor, units[i + 1] / divisor);
        tenon_tensor v = sample(&t, 0, &patterns);
        for (int below = 0; below < i; below++)
            v = probabilities(&t, &v, &layers[below].w, &layers[below].c);
        learn(&t, &layers[i], &v, &error);
        training_finish(&t);
        well &= run(&t, i, steps, &error);
    }
    training_close(&t);
    return well ? 0 : 1;
}
