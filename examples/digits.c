/*
 * Learns to read handwritten digits on an OpenCL device: a convolution with a bank of fixed
 * filters, an activation, and ten logistic classifiers ("is it a 7?") trained by gradient descent.
 *
 *     features = tanh(relu(conv(images, filters) + bias)), and a constant 1
 *     P        = sigmoid(features · W)
 *     W       -= rate/n · featuresᵀ · (P - Y)      where Y is 1 for the right digit and 0 elsewhere
 *
 * It shows both ways of calling the library: immediate calls, and plans for what runs often.
 */
#include "digits_host.h"

#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTERS  32
#define SIDE_OUT 4                     /* of 8: the convolution steps two pixels at a time */
#define MAP      (SIDE_OUT * SIDE_OUT) /* what one filter gives for an image */
#define FEATURES (FILTERS * MAP + 1)   /* and a constant, whose weight is the bias */
#define STEPS    1000                  /* of gradient descent, over all training digits */
#define RATE     4.0
#define ENOUGH   0.94 /* accuracy below which something must be broken */

/* The device's memory and the plans: made once, used with every seed. */
typedef struct network {
    tenon_context *context;
    tenon_stream *stream;
    int count, train;     /* digits, and how many of them are for training */
    tenon_tensor images;  /* count 1 8 8 */
    tenon_tensor filters; /* FILTERS 1 3 3 */
    tenon_tensor bias;    /* FILTERS */
    tenon_tensor features, train_features, held_features; /* count FEATURES, and its two parts */
    tenon_tensor maps, constant; /* the features again, as the convolution's output and its 1 */
    tenon_tensor weights;        /* FEATURES CLASSES */
    tenon_tensor targets;        /* train CLASSES: Y */
    tenon_tensor chances;        /* train CLASSES: P */
    tenon_tensor pull;           /* FEATURES CLASSES: rate/n · featuresᵀ · Y */
    tenon_tensor held_chances;   /* the rest of P */
    tenon_plan *convolve, *predict, *descend;
} network;

typedef struct tally {
    double operations;        /* floating-point operations of matrix products and convolutions */
    double seconds, training; /* spent on the device, and the part of it spent on training */
    double samples;           /* digits gone through in training, each step counted */
    int steps_done, steps_all;
    double started;
} tally;

/* An example can afford to stop at the first failure; a library would hand the status on. */
static void check(tenon_status status, const char *what)
{
    if (status == TENON_OK)
        return;
    fprintf(stderr, "digits: %s failed: %s: %s\n", what, tenon_status_string(status),
            tenon_last_error());
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "digits: no memory for %zu × %zu bytes\n", count, size);
        exit(1);
    }
    return memory;
}

static void print_log(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    (void)level;
    fprintf(stderr, "tenon: %s\n", message);
}

static void open_device(network *net, const char *selector)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_device_info info;
    params.device = selector;
    params.log = print_log; /* warnings and errors: the default level */
    check(tenon_context_create(&params, &net->context), "opening a device");
    check(tenon_stream_create(net->context, NULL, &net->stream), "making a stream");
    check(tenon_context_device(net->context, &info), "asking for the device");
    printf("device    %s (%s)\n", info.name, info.platform_name);
}

static tenon_tensor new_tensor(network *net, uint32_t rank, const int64_t *shape)
{
    tenon_tensor tensor;
    check(tenon_tensor_create(net->context, TENON_DTYPE_F32, rank, shape, &tensor),
          "allocating a tensor");
    return tensor;
}

static tenon_tensor new_matrix(network *net, int64_t rows, int64_t columns)
{
    return new_tensor(net, 2, (const int64_t[]){rows, columns});
}

static void make_tensors(network *net)
{
    const int64_t n = net->count, train = net->train, held = n - train;
    net->images = new_tensor(net, 4, (const int64_t[]){n, 1, SIDE, SIDE});
    net->filters = new_tensor(net, 4, (const int64_t[]){FILTERS, 1, 3, 3});
    net->bias = new_tensor(net, 1, (const int64_t[]){FILTERS});
    net->features = new_matrix(net, n, FEATURES);
    net->weights = new_matrix(net, FEATURES, CLASSES);
    net->targets = new_matrix(net, train, CLASSES);
    net->chances = new_matrix(net, train, CLASSES);
    net->pull = new_matrix(net, FEATURES, CLASSES);
    net->held_chances = new_matrix(net, held, CLASSES);

    /* Views of the same memory: a tensor is a plain value, and flattening is another shape. The
     * convolution writes its maps straight into the rows of the features, one short of the end. */
    net->train_features = tenon_tensor_slice(net->features, 0, 0, train);
    net->held_features = tenon_tensor_slice(net->features, 0, train, held);
    net->constant = tenon_tensor_slice(net->features, 1, FEATURES - 1, 1);
    net->maps =
        tenon_tensor_view(TENON_DTYPE_F32, 4, (const int64_t[]){n, FILTERS, SIDE_OUT, SIDE_OUT});
    net->maps.stride[0] = FEATURES;
    net->maps.memory = net->features.memory;
}

/* A plan chooses the kernels, compiles and checks them; running it later does none of that. */
static void make_plans(network *net)
{
    tenon_conv_params conv = TENON_CONV_PARAMS_INIT;
    for (int i = 0; i < 2; i++) {
        conv.geometry.stride[i] = 2;
        conv.geometry.pad_begin[i] = conv.geometry.pad_end[i] = 1;
    }
    conv.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    check(tenon_conv_forward_plan(net->context, &conv, &net->images, &net->filters, NULL,
                                  &net->bias, &net->maps, &net->convolve),
          "planning the convolution");

    tenon_gemm_params predict = TENON_GEMM_PARAMS_INIT;
    predict.epilogue.activation.kind = TENON_ACTIVATION_SIGMOID;
    check(tenon_gemm_plan(net->context, &predict, &net->train_features, &net->weights, NULL, NULL,
                          &net->chances, &net->predict),
          "planning the prediction");

    /* W = W - rate/n · featuresᵀ·P + pull, in place. What pulls towards the right digits is the
     * same in every step; as a "bias" of full size it is added on the way. */
    tenon_gemm_params descend = TENON_GEMM_PARAMS_INIT;
    descend.epilogue.alpha = -RATE / net->train;
    descend.epilogue.beta = 1.0;
    const tenon_tensor transposed = tenon_tensor_transpose(net->train_features, 0, 1);
    check(tenon_gemm_plan(net->context, &descend, &transposed, &net->chances, &net->weights,
                          &net->pull, &net->weights, &net->descend),
          "planning the descent");
}

static void upload(network *net, const float *data, const tenon_tensor *tensor)
{
    size_t bytes = (size_t)tenon_tensor_elements(tensor) * sizeof *data;
    check(tenon_tensor_upload(net->stream, data, bytes, tensor, NULL), "an upload");
}

static void upload_filters(network *net, uint64_t *seed)
{
    float filters[FILTERS * TAPS], bias[FILTERS];
    filters_make(filters, FILTERS, seed);
    for (int i = 0; i < FILTERS; i++)
        bias[i] = (float)(0.4 * random_uniform(seed) - 0.2);
    upload(net, filters, &net->filters);
    upload(net, bias, &net->bias);
}

static void upload_digits(network *net, const digit *digits)
{
    float *images = allocate((size_t)net->count * PIXELS, sizeof *images);
    float *targets = allocate((size_t)net->train * CLASSES, sizeof *targets);
    for (int i = 0; i < net->count; i++)
        memcpy(&images[i * PIXELS], digits[i].pixels, sizeof digits[i].pixels);
    for (int i = 0; i < net->train; i++)
        targets[i * CLASSES + digits[i].label] = 1;
    upload(net, images, &net->images);
    upload(net, targets, &net->targets);
    free(images);
    free(targets);
}

static void run_plan(network *net, const tenon_plan *plan, const tenon_memory *memories,
                     const char *what)
{
    check(tenon_plan_run(net->stream, plan, memories, tenon_plan_operands(plan), NULL), what);
}

static void extract_features(network *net, tally *t)
{
    const tenon_memory none = {0};
    const tenon_memory operands[] = {net->images.memory, net->filters.memory, none,
                                     net->bias.memory, net->maps.memory};
    run_plan(net, net->convolve, operands, "the convolution");
    t->operations += 2.0 * net->count * FILTERS * MAP * TAPS;

    tenon_activation_params squash = TENON_ACTIVATION_PARAMS_INIT;
    squash.activation.kind = TENON_ACTIVATION_TANH;
    check(tenon_activation_forward(net->stream, &squash, &net->maps, &net->maps, NULL),
          "the activation");
    check(tenon_tensor_fill(net->stream, &net->constant, 1.0, NULL), "filling the constant");
}

/* Runs `steps` steps of gradient descent from W = 0. */
static void train(network *net, int steps, tally *t)
{
    const tenon_memory none = {0};
    const tenon_memory predict[] = {net->train_features.memory, net->weights.memory, none, none,
                                    net->chances.memory};
    const tenon_memory descend[] = {net->train_features.memory, net->chances.memory,
                                    net->weights.memory, net->pull.memory, net->weights.memory};
    const double product = 2.0 * net->train * FEATURES * CLASSES;

    tenon_gemm_params scaled = TENON_GEMM_PARAMS_INIT;
    scaled.epilogue.alpha = RATE / net->train;
    const tenon_tensor transposed = tenon_tensor_transpose(net->train_features, 0, 1);
    check(
        tenon_gemm(net->stream, &scaled, &transposed, &net->targets, NULL, NULL, &net->pull, NULL),
        "a matrix product");
    check(tenon_tensor_fill(net->stream, &net->weights, 0.0, NULL), "filling the weights");
    t->operations += product * (1 + 2 * steps);
    t->samples += (double)net->train * steps;

    for (int i = 1; i <= steps; i++) {
        run_plan(net, net->predict, predict, "a prediction");
        run_plan(net, net->descend, descend, "a step of the descent");
        if (i % 20 == 0) { /* the queue is filled ahead of the device: wait, to show what is done */
            check(tenon_stream_finish(net->stream), "waiting for the device");
            t->steps_done += 20;
            progress_show(t->steps_done, t->steps_all, seconds_now() - t->started);
        }
    }
    check(tenon_stream_finish(net->stream), "waiting for the device");
}

/* Fills `taken_for` with the most likely class of each held-out digit. */
static void read_held_out(network *net, int *taken_for, tally *t)
{
    const int held = net->count - net->train;
    const size_t bytes = (size_t)held * CLASSES * sizeof(float);
    float *chances = allocate((size_t)held * CLASSES, sizeof *chances);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation.kind = TENON_ACTIVATION_SIGMOID;
    check(tenon_gemm(net->stream, &params, &net->held_features, &net->weights, NULL, NULL,
                     &net->held_chances, NULL),
          "a prediction");
    check(tenon_tensor_download(net->stream, &net->held_chances, chances, bytes, NULL),
          "a download");
    t->operations += 2.0 * held * FEATURES * CLASSES;
    for (int i = 0; i < held; i++) {
        taken_for[i] = 0;
        for (int k = 1; k < CLASSES; k++)
            if (chances[i * CLASSES + k] > chances[i * CLASSES + taken_for[i]])
                taken_for[i] = k;
    }
    free(chances);
}

/* Learns from the first digits and reads the rest; returns how much of it was right. */
static double run_once(network *net, const digit *digits, uint64_t *seed, int steps, int *taken_for,
                       tally *t)
{
    const int held = net->count - net->train;
    int right = 0;
    upload_filters(net, seed);
    upload_digits(net, digits);
    double start = seconds_now();
    extract_features(net, t);
    check(tenon_stream_finish(net->stream), "waiting for the device");
    double start_training = seconds_now();
    train(net, steps, t);
    t->training += seconds_now() - start_training;
    read_held_out(net, taken_for, t);
    t->seconds += seconds_now() - start;
    for (int i = 0; i < held; i++)
        right += taken_for[i] == digits[net->train + i].label;
    return (double)right / held;
}

static void network_destroy(network *net)
{
    tenon_tensor *const owners[] = {&net->images,   &net->filters, &net->bias,
                                    &net->features, &net->weights, &net->targets,
                                    &net->chances,  &net->pull,    &net->held_chances};
    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        tenon_memory_destroy(&owners[i]->memory);
    tenon_plan_release(net->convolve);
    tenon_plan_release(net->predict);
    tenon_plan_release(net->descend);
    tenon_stream_destroy(net->stream);
    tenon_context_release(net->context);
}

static void report(const options *o, const double *accuracies, double worst, const tally *t)
{
    for (int i = 0; i < o->seeds; i++)
        printf("seed %-4llu %.2f %% of the held-out digits read right\n",
               (unsigned long long)o->seed + (unsigned)i, 100 * accuracies[i]);
    printf("worst     %.2f %%\n", 100 * worst);
    printf("speed     %.0f training samples/s, %.2f GFLOP/s\n", t->samples / t->training,
           1e-9 * t->operations / t->seconds);
}

/* Learns once with each seed; returns the worst accuracy. */
static double run_seeds(network *net, const digit *digits, const options *o)
{
    const int held = net->count - net->train;
    int *taken_for = allocate((size_t)held, sizeof *taken_for);
    double *accuracies = allocate((size_t)o->seeds, sizeof *accuracies), worst = 1;
    digit *shuffled = allocate((size_t)net->count, sizeof *shuffled);
    tally t = {.steps_all = o->seeds * STEPS, .started = seconds_now()};
    for (int i = 0; i < o->seeds; i++) {
        uint64_t seed = o->seed + (uint64_t)i;
        memcpy(shuffled, digits, (size_t)net->count * sizeof *digits);
        digits_shuffle(shuffled, net->count, &seed);
        accuracies[i] = run_once(net, shuffled, &seed, STEPS, taken_for, &t);
        worst = accuracies[i] < worst ? accuracies[i] : worst;
    }
    digits_draw(shuffled + net->train, taken_for, held);
    report(o, accuracies, worst, &t);
    free(accuracies);
    free(shuffled);
    free(taken_for);
    return worst;
}

/* Makes the plans. Immediate calls compile at their first use: one step ahead of the clock gets
 * that over with, so that what is measured later is the work. */
static void prepare(network *net, const digit *digits)
{
    int *taken_for = allocate((size_t)(net->count - net->train), sizeof *taken_for);
    double start = seconds_now();
    uint64_t seed = 0;
    make_plans(net);
    run_once(net, digits, &seed, 1, taken_for, &(tally){0});
    printf("prepared  %.1f s: kernels compiled and checked\n", seconds_now() - start);
    free(taken_for);
}

int main(int argc, char **argv)
{
    const options o = options_parse(argc, argv, DIGITS_DATA);
    network net = {0};
    /* PoCL starts a thread for each core, which otherwise often share one. A library must not
     * change the environment; a program may, before its first OpenCL call. */
    setenv("POCL_AFFINITY", "1", 0);
    digit *digits = digits_read(o.data, &net.count);
    if (digits == NULL)
        return 1;
    net.train = net.count - net.count / 3;
    open_device(&net, o.device);
    printf("digits    %d to learn from, %d held out\n", net.train, net.count - net.train);
    make_tensors(&net);
    prepare(&net, digits);
    double worst = run_seeds(&net, digits, &o);
    network_destroy(&net);
    free(digits);
    if (worst >= ENOUGH)
        return 0;
    fprintf(stderr, "digits: %.2f %% is less than the %.0f %% expected: something is wrong\n",
            100 * worst, 100 * ENOUGH);
    return 1;
}
