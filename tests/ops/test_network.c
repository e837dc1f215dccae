/*
 * Tests a whole network in f64: the gradients of every parameter and of the image, computed by the
 * backward operations, against central differences of the loss.
 *
 * convolution with bias → normalization → gelu → maximum or average pooling → dropout
 *     → residual convolution 1×1 → dense → cross-entropy, averaged over the batch
 *
 * Only this test detects conventions that differ between operations: a sign, factor or transpose
 * that agrees with each operation's own reference, but not with the next operation.
 */
#include "support.h"

#include <math.h>

#define BATCH    4
#define CHANNELS 6
#define SIDE     6
#define POOLED   (SIDE / 2)
#define FEATURES (CHANNELS * POOLED * POOLED)
#define CLASSES  5
#define STEP     1e-5 /* step of the differences */

enum { IMAGE, FILTERS, FILTER_BIAS, GAMMA, BETA, MIXING, WEIGHTS, BIAS, PARAMETERS };

/* A tensor and its gradient. */
typedef struct variable {
    tenon_tensor value, gradient;
} variable;

typedef struct network {
    uint32_t norm, pool;
    variable parameters[PARAMETERS];
    variable convolved, normalized, active, pooled, mixed, logits;
    tenon_tensor mean, rstd, places, labels, loss;
} network;

static const char *const names[PARAMETERS] = {"image", "filters", "filter bias", "gamma",
                                              "beta",  "mixing",  "weights",     "bias"};

static variable new_variable(uint32_t rank, const int64_t *shape)
{
    return (variable){test_dense(TENON_DTYPE_F64, rank, shape, NULL),
                      test_dense(TENON_DTYPE_F64, rank, shape, NULL)};
}

static variable flat(const variable *pooled)
{
    const int64_t shape[] = {BATCH, FEATURES};
    variable rows = {tenon_tensor_view(TENON_DTYPE_F64, 2, shape),
                     tenon_tensor_view(TENON_DTYPE_F64, 2, shape)};
    rows.value.memory = pooled->value.memory;
    rows.gradient.memory = pooled->gradient.memory;
    return rows;
}

static tenon_conv_geometry same_size(void)
{
    const tenon_conv_geometry geometry = {{1, 1, 1}, {1, 1, 1}, {1, 1, 0}, {1, 1, 0}};
    return geometry;
}

static tenon_norm_params norm_params(const network *net)
{
    tenon_norm_params params = tenon_norm_params(.kind = (int32_t)net->norm, .groups = 2);
    return params;
}

static tenon_activation_params gelu(void)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    params.activation.kind = TENON_ACTIVATION_GELU;
    return params;
}

static tenon_pool_params pool_params(const network *net)
{
    tenon_pool_params params = tenon_pool_params(.kind = net->pool);
    for (int d = 0; d < 2; d++)
        params.window[d] = params.geometry.stride[d] = 2;
    return params;
}

static tenon_dropout_params dropout_params(void)
{
    tenon_dropout_params params = tenon_dropout_params(.seed = 5, .probability = 0.2);
    return params;
}

static void forward(network *net)
{
    const variable *p = net->parameters;
    const tenon_norm_params norm = norm_params(net);
    const tenon_activation_params activation = gelu();
    const tenon_pool_params pool = pool_params(net);
    const tenon_dropout_params dropout = dropout_params();
    const variable rows = flat(&net->mixed);
    const bool maximum = net->pool == TENON_POOL_MAX;
    tenon_conv_params conv = TENON_CONV_PARAMS_INIT, mixing = TENON_CONV_PARAMS_INIT;
    tenon_cross_entropy_params loss = TENON_CROSS_ENTROPY_PARAMS_INIT;
    conv.geometry = same_size();
    mixing.epilogue.beta = 1; /* the residual */
    assert_ok(tenon_conv_forward(test_stream, &conv, &p[IMAGE].value, &p[FILTERS].value, NULL,
                                 &p[FILTER_BIAS].value, &net->convolved.value, NULL));
    assert_ok(tenon_norm_forward(test_stream, &norm, &net->convolved.value, &p[GAMMA].value,
                                 &p[BETA].value, &net->normalized.value, &net->mean, &net->rstd,
                                 NULL, NULL, NULL));
    assert_ok(tenon_activation_forward(test_stream, &activation, &net->normalized.value,
                                       &net->active.value, NULL));
    assert_ok(tenon_pool_forward(test_stream, &pool, &net->active.value, &net->pooled.value,
                                 maximum ? &net->places : NULL, NULL));
    assert_ok(tenon_dropout(test_stream, &dropout, &net->pooled.value, &net->pooled.value, NULL));
    assert_ok(tenon_conv_forward(test_stream, &mixing, &net->pooled.value, &p[MIXING].value,
                                 &net->pooled.value, NULL, &net->mixed.value, NULL));
    assert_ok(tenon_gemm(test_stream, NULL, &rows.value, &p[WEIGHTS].value, NULL, &p[BIAS].value,
                         &net->logits.value, NULL));
    assert_ok(tenon_cross_entropy_forward(test_stream, &loss, &net->logits.value, &net->labels,
                                          &net->loss, NULL));
}

/* Computes gradients from the logits back to the output of pooling. */
static void backward_dense(network *net)
{
    const variable *p = net->parameters;
    const variable rows = flat(&net->mixed);
    const tenon_tensor columns = tenon_tensor_transpose(rows.value, 0, 1),
                       transposed = tenon_tensor_transpose(p[WEIGHTS].value, 0, 1);
    tenon_conv_backward_params mixing = TENON_CONV_BACKWARD_PARAMS_INIT;
    tenon_cross_entropy_params loss = tenon_cross_entropy_params(.scale = 1.0 / BATCH);
    tenon_reduce_params sum = tenon_reduce_params(.axis_count = 1);
    mixing.beta = 1; /* added to the residual's gradient */
    assert_ok(tenon_cross_entropy_backward(test_stream, &loss, &net->logits.value, &net->labels,
                                           NULL, &net->logits.gradient, NULL));
    assert_ok(tenon_gemm(test_stream, NULL, &columns, &net->logits.gradient, NULL, NULL,
                         &p[WEIGHTS].gradient, NULL));
    assert_ok(tenon_reduce(test_stream, &sum, &net->logits.gradient, &p[BIAS].gradient, NULL));
    assert_ok(tenon_gemm(test_stream, NULL, &net->logits.gradient, &transposed, NULL, NULL,
                         &rows.gradient, NULL));
    assert_ok(tenon_copy(test_stream, NULL, &net->mixed.gradient, &net->pooled.gradient, NULL));
    assert_ok(tenon_conv_backward_filter(test_stream, NULL, &net->pooled.value,
                                         &net->mixed.gradient, &p[MIXING].gradient, NULL));
    assert_ok(tenon_conv_backward_data(test_stream, &mixing, &net->mixed.gradient, &p[MIXING].value,
                                       &net->pooled.gradient, NULL));
}

static void backward(network *net)
{
    const variable *p = net->parameters;
    const tenon_norm_params norm = norm_params(net);
    const tenon_activation_params activation = gelu();
    const tenon_pool_params pool = pool_params(net);
    const tenon_dropout_params dropout = dropout_params();
    const bool maximum = net->pool == TENON_POOL_MAX;
    tenon_conv_backward_params conv = TENON_CONV_BACKWARD_PARAMS_INIT;
    conv.geometry = same_size();
    backward_dense(net);
    assert_ok(
        tenon_dropout(test_stream, &dropout, &net->pooled.gradient, &net->pooled.gradient, NULL));
    assert_ok(tenon_pool_backward(test_stream, &pool, NULL, &net->pooled.gradient,
                                  maximum ? &net->places : NULL, &net->active.gradient, NULL));
    assert_ok(tenon_activation_backward(test_stream, &activation, &net->normalized.value,
                                        &net->active.gradient, &net->normalized.gradient, NULL));
    assert_ok(tenon_norm_backward(test_stream, &norm, &net->convolved.value,
                                  &net->normalized.gradient, &p[GAMMA].value, &net->mean,
                                  &net->rstd, &net->convolved.gradient, &p[GAMMA].gradient,
                                  &p[BETA].gradient, NULL));
    assert_ok(tenon_conv_backward_filter(test_stream, &conv, &p[IMAGE].value,
                                         &net->convolved.gradient, &p[FILTERS].gradient, NULL));
    assert_ok(tenon_conv_backward_bias(test_stream, &conv, &net->convolved.gradient,
                                       &p[FILTER_BIAS].gradient, NULL));
    assert_ok(tenon_conv_backward_data(test_stream, &conv, &net->convolved.gradient,
                                       &p[FILTERS].value, &p[IMAGE].gradient, NULL));
}

static double loss_of(network *net)
{
    double losses[BATCH], sum = 0;
    forward(net);
    assert_ok(tenon_tensor_download(test_stream, &net->loss, losses, sizeof losses, NULL));
    for (int i = 0; i < BATCH; i++)
        sum += losses[i] / BATCH;
    return sum;
}

static void fill(const tenon_tensor *tensor, double size, test_random *random)
{
    const int64_t count = tenon_tensor_elements(tensor);
    double *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = test_real(random, -size, size);
    assert_ok(
        tenon_tensor_upload(test_stream, values, (size_t)count * sizeof *values, tensor, NULL));
    free(values);
}

static void make(network *net, test_random *random)
{
    static const int64_t shapes[PARAMETERS][4] = {
        {BATCH, 2, SIDE, SIDE},     {CHANNELS, 2, 3, 3}, {CHANNELS}, {CHANNELS}, {CHANNELS},
        {CHANNELS, CHANNELS, 1, 1}, {FEATURES, CLASSES}, {CLASSES}};
    static const uint32_t ranks[PARAMETERS] = {4, 4, 1, 1, 1, 4, 2, 1};
    const int64_t maps[] = {BATCH, CHANNELS, SIDE, SIDE},
                  pooled[] = {BATCH, CHANNELS, POOLED, POOLED}, logits[] = {BATCH, CLASSES},
                  statistics[] = {net->norm == TENON_NORM_GROUP ? BATCH : CHANNELS, 2};
    const bool grouped = net->norm == TENON_NORM_GROUP;
    int32_t labels[BATCH];
    for (int i = 0; i < PARAMETERS; i++) {
        net->parameters[i] = new_variable(ranks[i], shapes[i]);
        fill(&net->parameters[i].value, 1, random);
    }
    net->convolved = new_variable(4, maps);
    net->normalized = new_variable(4, maps);
    net->active = new_variable(4, maps);
    net->pooled = new_variable(4, pooled);
    net->mixed = new_variable(4, pooled);
    net->logits = new_variable(2, logits);
    net->mean = test_dense(TENON_DTYPE_F64, grouped ? 2 : 1, statistics, NULL);
    net->rstd = test_dense(TENON_DTYPE_F64, grouped ? 2 : 1, statistics, NULL);
    net->places = test_dense(TENON_DTYPE_I32, 4, pooled, NULL);
    net->labels = test_dense(TENON_DTYPE_I32, 1, logits, NULL);
    net->loss = test_dense(TENON_DTYPE_F64, 1, logits, NULL);
    for (int i = 0; i < BATCH; i++)
        labels[i] = (int32_t)test_between(random, 0, CLASSES - 1);
    assert_ok(tenon_tensor_upload(test_stream, labels, sizeof labels, &net->labels, NULL));
}

static void destroy(network *net)
{
    variable *const variables[] = {&net->convolved, &net->normalized, &net->active,
                                   &net->pooled,    &net->mixed,      &net->logits};
    tenon_tensor *const tensors[] = {&net->mean, &net->rstd, &net->places, &net->labels,
                                     &net->loss};
    for (int i = 0; i < PARAMETERS + 6; i++) {
        variable *v = i < PARAMETERS ? &net->parameters[i] : variables[i - PARAMETERS];
        test_destroy(&v->value, &v->gradient);
    }
    for (int i = 0; i < 5; i++)
        tenon_memory_destroy(&tensors[i]->memory);
}

/* Returns the loss with element i set to `value`. */
static double loss_at(network *net, const tenon_tensor *whole, int64_t i, double value)
{
    tenon_tensor element = tenon_tensor_view(TENON_DTYPE_F64, 0, NULL);
    element.memory = whole->memory;
    element.offset = (uint64_t)i * sizeof value;
    assert_ok(tenon_tensor_fill(test_stream, &element, value, NULL));
    return loss_of(net);
}

/* Compares some elements of a gradient with differences. The loss is smooth, with derivatives of
 * moderate size, so the error of differences is about STEP² plus the rounding error 1e-16 / STEP.
 */
static void compare(network *net, int number, test_random *random)
{
    const variable *v = &net->parameters[number];
    const int64_t count = tenon_tensor_elements(&v->value);
    const size_t bytes = (size_t)count * sizeof(double);
    double *values = malloc(bytes), *gradient = malloc(bytes);
    assert_non_null(values);
    assert_non_null(gradient);
    assert_ok(tenon_tensor_download(test_stream, &v->value, values, bytes, NULL));
    assert_ok(tenon_tensor_download(test_stream, &v->gradient, gradient, bytes, NULL));
    for (int n = 0; n < 10; n++) {
        const int64_t i = test_between(random, 0, count - 1);
        double above = loss_at(net, &v->value, i, values[i] + STEP);
        double below = loss_at(net, &v->value, i, values[i] - STEP);
        double difference = (above - below) / (2 * STEP);
        loss_at(net, &v->value, i, values[i]);
        if (!(fabs(difference - gradient[i]) <= 1e-7 * (1 + fabs(gradient[i]))))
            fail_msg("TENON_TEST_SEED=%llu: d loss / d %s[%lld] is %.12g, by differences %.12g",
                     (unsigned long long)test_seed(), names[number], (long long)i, gradient[i],
                     difference);
    }
    free(values);
    free(gradient);
}

static void check(uint32_t norm, uint32_t pool)
{
    test_random random = test_random_for(1501);
    network net = {.norm = norm, .pool = pool};
    if (!test_has(TENON_CAPABILITY_F64))
        skip();
    make(&net, &random);
    loss_of(&net);
    backward(&net);
    for (int i = 0; i < PARAMETERS; i++)
        compare(&net, i, &random);
    destroy(&net);
}

TEST(with_batch_norm_and_maxima)
{
    check(TENON_NORM_BATCH, TENON_POOL_MAX);
}

TEST(with_group_norm_and_averages)
{
    check(TENON_NORM_GROUP, TENON_POOL_AVERAGE);
}
