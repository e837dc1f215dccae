/*
 * Trains a convolutional network to recognize handwritten digits on an OpenCL device, with forward
 * and backward passes:
 *
 *     image 1×8×8 → block of 16 channels → block of 32 → maximum of 2×2 → dropout → dense → 10
 *
 * A block is a 3×3 convolution, batch normalization and relu. The loss is the cross-entropy of
 * softmax, and the optimizer is Adam. The network is trained in f32, and with f16 and bf16 storage.
 */
#include "digits_device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH         64
#define EPOCHS        15
#define CHANNELS      32 /* of the second block; the first has half */
#define FEATURES      (CHANNELS * PIXELS / 4)
#define RATE          0.004 /* of Adam, at first; it falls to 0 */
#define DROPPED       0.25  /* of the features, in training */
#define ENOUGH(dtype) ((dtype) == TENON_DTYPE_F32 ? 0.97 : 0.965) /* or something is wrong */

/* State of Adam for a parameter. A 16-bit value is rounded from a master copy in f32. */
typedef struct parameter {
    tenon_tensor value, master, gradient, first, second;
} parameter;

enum { FILTERS, GAMMA, BETA, OF_BLOCK, WEIGHTS = 2 * OF_BLOCK, BIAS, PARAMETERS };

enum { MEAN, RSTD, RUNNING_MEAN, RUNNING_VARIANCE, STATISTICS };

typedef struct block {
    parameter *parameters;                    /* FILTERS, GAMMA, BETA */
    tenon_tensor convolved, output, gradient; /* BATCH channels 8 8 */
    tenon_tensor statistics[STATISTICS];      /* channels */
} block;

typedef struct network {
    device *device;
    tenon_stream *stream;             /* the device's */
    tenon_dtype dtype;                /* of data and filters */
    parameter parameters[PARAMETERS]; /* of the blocks, and of the dense layer */
    block blocks[2];
    tenon_tensor pooled, d_pooled, places;  /* BATCH CHANNELS 4 4: maxima; where they were */
    tenon_tensor rows, d_rows;              /* BATCH FEATURES: the same memory as rows */
    tenon_tensor logits, d_logits, guesses; /* BATCH CLASSES; BATCH */
    uint64_t seed, step;
    bool counts;            /* count calls without making them */
    int calls, first_calls; /* calls so far; calls that compile, 0 once they are done */
} network;

/* Runs an operation on the network's stream, without events. */
#define RUN(operation, ...)                                                                        \
    do {                                                                                           \
        if (!net->counts)                                                                          \
            try_status(operation(net->stream, __VA_ARGS__, NULL), #operation);                     \
        count_call(net);                                                                           \
    } while (0)

static void count_call(network *net)
{
    net->calls++;
    if (net->first_calls > 0)
        progress_kernels(tenon_dtype_string(net->dtype), net->calls, net->first_calls);
}

/* Parameters shared by several calls. */
#define PADDED         .geometry.pad_begin = {1, 1}, .geometry.pad_end = {1, 1}
#define BATCH_NORM     &tenon_norm_params(.kind = TENON_NORM_BATCH)
#define RELU           &tenon_activation_params(.activation.kind = TENON_ACTIVATION_RELU)
#define MAXIMUM_OF_2X2 &tenon_pool_params(.window = {2, 2, 1}, .geometry.stride = {2, 2, 1})

static parameter new_parameter(network *net, tenon_dtype dtype, uint32_t rank, const int64_t *shape)
{
    parameter p = {.value = device_tensor(net->device, dtype, rank, shape),
                   .gradient = device_tensor(net->device, dtype, rank, shape),
                   .first = device_tensor(net->device, TENON_DTYPE_F32, rank, shape),
                   .second = device_tensor(net->device, TENON_DTYPE_F32, rank, shape)};
    p.master = dtype == TENON_DTYPE_F32 ? p.value
                                        : device_tensor(net->device, TENON_DTYPE_F32, rank, shape);
    return p;
}

static void make_block(network *net, block *b, parameter *parameters, int64_t from, int64_t to)
{
    const int64_t filters[] = {to, from, 3, 3}, maps[] = {BATCH, to, SIDE, SIDE};
    b->parameters = parameters;
    parameters[FILTERS] = new_parameter(net, net->dtype, 4, filters);
    /* Normalization's parameters and statistics are f32 for every data type. */
    parameters[GAMMA] = new_parameter(net, TENON_DTYPE_F32, 1, &to);
    parameters[BETA] = new_parameter(net, TENON_DTYPE_F32, 1, &to);
    b->convolved = device_tensor(net->device, net->dtype, 4, maps);
    b->output = device_tensor(net->device, net->dtype, 4, maps);
    b->gradient = device_tensor(net->device, net->dtype, 4, maps);
    for (int i = 0; i < STATISTICS; i++)
        b->statistics[i] = device_tensor(net->device, TENON_DTYPE_F32, 1, &to);
}

static void make_network(network *net)
{
    const int64_t pooled[] = {BATCH, CHANNELS, SIDE / 2, SIDE / 2}, rows[] = {BATCH, FEATURES},
                  weights[] = {FEATURES, CLASSES}, logits[] = {BATCH, CLASSES};
    make_block(net, &net->blocks[0], net->parameters, 1, CHANNELS / 2);
    make_block(net, &net->blocks[1], net->parameters + OF_BLOCK, CHANNELS / 2, CHANNELS);
    net->parameters[WEIGHTS] = new_parameter(net, net->dtype, 2, weights);
    net->parameters[BIAS] = new_parameter(net, net->dtype, 1, &logits[1]);
    net->pooled = device_tensor(net->device, net->dtype, 4, pooled);
    net->d_pooled = device_tensor(net->device, net->dtype, 4, pooled);
    net->places = device_tensor(net->device, TENON_DTYPE_I32, 4, pooled);
    net->logits = device_tensor(net->device, net->dtype, 2, logits);
    net->d_logits = device_tensor(net->device, net->dtype, 2, logits);
    net->guesses = device_tensor(net->device, TENON_DTYPE_I32, 1, &logits[0]);
    /* A tensor is a plain value: flattening is another view of the same memory. */
    net->rows = net->d_rows = tenon_tensor_view(net->dtype, 2, rows);
    net->rows.memory = net->pooled.memory;
    net->d_rows.memory = net->d_pooled.memory;
}

static void forward_block(network *net, block *b, const tenon_tensor *x, bool training)
{
    const parameter *p = b->parameters;
    const tenon_tensor *s = b->statistics;
    RUN(tenon_conv_forward, &tenon_conv_params(PADDED), x, &p[FILTERS].value, NULL, NULL,
        &b->convolved);
    if (training)
        RUN(tenon_norm_forward, BATCH_NORM, &b->convolved, &p[GAMMA].value, &p[BETA].value,
            &b->output, &s[MEAN], &s[RSTD], &s[RUNNING_MEAN], &s[RUNNING_VARIANCE]);
    else
        RUN(tenon_norm_inference, BATCH_NORM, &b->convolved, &p[GAMMA].value, &p[BETA].value,
            &s[RUNNING_MEAN], &s[RUNNING_VARIANCE], &b->output);
    RUN(tenon_activation_forward, RELU, &b->output, &b->output);
}

/* Drops the same elements forward and backward, and different ones in every step. */
static void drop(network *net, const tenon_tensor *x)
{
    RUN(tenon_dropout,
        &tenon_dropout_params(.seed = net->seed, .sequence = net->step, .probability = DROPPED), x,
        x);
}

static void forward(network *net, const tenon_tensor *images, bool training)
{
    forward_block(net, &net->blocks[0], images, training);
    forward_block(net, &net->blocks[1], &net->blocks[0].output, training);
    RUN(tenon_pool_forward, MAXIMUM_OF_2X2, &net->blocks[1].output, &net->pooled, &net->places);
    if (training)
        drop(net, &net->pooled);
    RUN(tenon_gemm, NULL, &net->rows, &net->parameters[WEIGHTS].value, NULL,
        &net->parameters[BIAS].value, &net->logits);
}

/* Computes the gradients of a block's parameters and, if requested, of its input x from the
 * gradient of its output. */
static void backward_block(network *net, block *b, const tenon_tensor *x, const tenon_tensor *dx)
{
    const parameter *p = b->parameters;
    const tenon_tensor *s = b->statistics;
    const tenon_tensor *dy = &b->gradient; /* each step replaces it by the gradient of its input */
    /* relu's output is positive exactly where its input is, so it can replace the input. */
    RUN(tenon_activation_backward, RELU, &b->output, dy, dy);
    RUN(tenon_norm_backward, BATCH_NORM, &b->convolved, dy, &p[GAMMA].value, &s[MEAN], &s[RSTD], dy,
        &p[GAMMA].gradient, &p[BETA].gradient);
    RUN(tenon_conv_backward_filter, &tenon_conv_backward_params(PADDED), x, dy,
        &p[FILTERS].gradient);
    if (dx != NULL)
        RUN(tenon_conv_backward_data, &tenon_conv_backward_params(PADDED), dy, &p[FILTERS].value,
            dx);
}

static void backward(network *net, const tenon_tensor *images, const tenon_tensor *labels)
{
    const tenon_tensor columns = tenon_tensor_transpose(net->rows, 0, 1),
                       transposed = tenon_tensor_transpose(net->parameters[WEIGHTS].value, 0, 1);
    /* The scale turns the sum into the mean over the batch. */
    RUN(tenon_cross_entropy_backward, &tenon_cross_entropy_params(.scale = 1.0 / BATCH),
        &net->logits, labels, NULL, &net->d_logits);
    RUN(tenon_gemm, NULL, &columns, &net->d_logits, NULL, NULL, &net->parameters[WEIGHTS].gradient);
    RUN(tenon_reduce, &tenon_reduce_params(.axis_count = 1, .axes = {0}), &net->d_logits,
        &net->parameters[BIAS].gradient);
    RUN(tenon_gemm, NULL, &net->d_logits, &transposed, NULL, NULL, &net->d_rows);
    drop(net, &net->d_pooled);
    RUN(tenon_pool_backward, MAXIMUM_OF_2X2, NULL, &net->d_pooled, &net->places,
        &net->blocks[1].gradient);
    backward_block(net, &net->blocks[1], &net->blocks[0].output, &net->blocks[0].gradient);
    backward_block(net, &net->blocks[0], images, NULL);
}

static void update(network *net, double rate)
{
    const tenon_adam_params adam = tenon_adam_params(.learning_rate = rate, .step = net->step);
    for (int i = 0; i < PARAMETERS; i++) {
        const parameter *p = &net->parameters[i];
        RUN(tenon_adam, &adam, &p->gradient, &p->value, &p->first, &p->second,
            p->value.dtype != TENON_DTYPE_F32 ? &p->master : NULL);
    }
}

/* Initializes filters and weights with random values of a size that preserves the signals' (He et
 * al., "Delving deep into rectifiers", 2015); gamma and the running variances with 1, the rest with
 * 0. */
static void reset(network *net)
{
    tenon_random_params normal =
        tenon_random_params(.kind = TENON_RANDOM_NORMAL, .seed = net->seed);
    for (int i = 0; i < PARAMETERS; i++) {
        const parameter *p = &net->parameters[i];
        const double fan_in = i == WEIGHTS ? FEATURES : p->value.stride[0];
        normal.sequence = (uint64_t)i;
        normal.deviation = sqrt(2 / fan_in);
        if (p->value.rank > 1)
            RUN(tenon_random, &normal, &p->master);
        else
            RUN(tenon_tensor_fill, &p->master, i % OF_BLOCK == GAMMA && i < WEIGHTS);
        RUN(tenon_copy, NULL, &p->master, &p->value);
        RUN(tenon_tensor_fill, &p->first, 0);
        RUN(tenon_tensor_fill, &p->second, 0);
    }
    for (int b = 0; b < 2; b++) {
        RUN(tenon_tensor_fill, &net->blocks[b].statistics[RUNNING_MEAN], 0);
        RUN(tenon_tensor_fill, &net->blocks[b].statistics[RUNNING_VARIANCE], 1);
    }
    net->step = 0;
}

/* Classifies the held-out digits. The last batch overlaps the previous one. */
static void read_held_out(network *net, digits_data *d)
{
    for (int first = d->train; first < d->count; first += BATCH) {
        const int at = first + BATCH <= d->count ? first : d->count - BATCH;
        const tenon_tensor images = tenon_tensor_slice(d->images, 0, at, BATCH);
        forward(net, &images, false);
        RUN(tenon_reduce,
            &tenon_reduce_params(.kind = TENON_REDUCE_ARGMAX, .axis_count = 1, .axes = {1}),
            &net->logits, &net->guesses);
        RUN(tenon_tensor_download, &net->guesses, d->taken_for + (at - d->train),
            BATCH * sizeof *d->taken_for);
    }
}

/* Classifies with random filters before training. Its kernels are compiled first. */
static void read_untrained(network *net, digits_data *d)
{
    reset(net);
    read_held_out(net, d);
    if (net->counts)
        return;
    progress_clear();
    printf("%-5s untrained %.2f %% of the held-out digits recognized\n",
           tenon_dtype_string(net->dtype), 100 * digits_right(d));
    fflush(stdout);
}

static void make_first_calls(network *net, digits_data *d)
{
    const tenon_tensor images = tenon_tensor_slice(d->images, 0, 0, BATCH),
                       labels = tenon_tensor_slice(d->labels, 0, 0, BATCH);
    net->calls = 0;
    read_untrained(net, d);
    net->step = 1;
    forward(net, &images, true);
    backward(net, &images, &labels);
    update(net, RATE);
}

/* Compiles the kernels, and compares them with references, by making the first calls here, so that
 * this time is not counted as training. The calls are counted in advance. Returns the seconds. */
static double compile(network *net, digits_data *d)
{
    const double start = seconds_now();
    digits_upload(d, net->device);
    net->counts = true;
    make_first_calls(net, d);
    net->counts = false;
    net->first_calls = net->calls;
    make_first_calls(net, d);
    net->first_calls = 0;
    TRY(tenon_stream_finish(net->stream));
    progress_clear();
    return seconds_now() - start;
}

/* Trains on all training digits once, batch by batch, in a new order each time. */
static void train(network *net, digits_data *d, uint64_t *seed)
{
    const int batches = d->train / BATCH;
    digits_shuffle(d->digits, d->train, seed);
    digits_upload(d, net->device);
    for (int i = 0; i < batches; i++) {
        const tenon_tensor images = tenon_tensor_slice(d->images, 0, i * BATCH, BATCH),
                           labels = tenon_tensor_slice(d->labels, 0, i * BATCH, BATCH);
        net->step++;
        forward(net, &images, true);
        backward(net, &images, &labels);
        update(net, RATE * (1 - (double)net->step / (EPOCHS * batches + 1)));
    }
    TRY(tenon_stream_finish(net->stream));
}

/* Trains with the network's seed; returns the accuracy on the held-out digits. */
static double learn(network *net, digits_data *d, const digit *digits, progress *p)
{
    const int batches = d->train / BATCH;
    uint64_t seed = net->seed;
    digits_start(d, digits, &seed);
    reset(net);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        const double start = seconds_now();
        train(net, d, &seed);
        p->spent += seconds_now() - start;
        p->done += batches;
        progress_show(p);
    }
    read_held_out(net, d);
    progress_clear();
    return digits_report(d, net->seed);
}

/* Trains with each seed; returns false if the accuracy is too low with one of them. The `later`
 * remaining types are expected to take as long to compile. */
static bool run_type(const options *o, device *here, tenon_dtype dtype, const digit *digits,
                     int count, int later, progress *p)
{
    network net = {.device = here, .stream = here->stream, .dtype = dtype, .seed = o->seed};
    digits_data d = digits_data_create(here, dtype, count);
    const char *name = tenon_dtype_string(dtype);
    double worst = 1;
    uint64_t seed = o->seed;
    make_network(&net);
    digits_start(&d, digits, &seed);
    const double compiling = compile(&net, &d), spent = p->spent;
    printf("%-5s kernels   compiled in %.1f s\n", name, compiling);
    p->ahead = later * compiling;
    for (int i = 0; i < o->seeds; i++) {
        net.seed = o->seed + (uint64_t)i;
        worst = fmin(worst, learn(&net, &d, digits, p));
    }
    const double seconds = p->spent - spent;
    printf("%-5s worst     %.2f %%, %.1f s, %.0f training samples/s\n", name, 100 * worst, seconds,
           (double)o->seeds * EPOCHS * d.train / seconds);
    if (dtype == TENON_DTYPE_F32)
        digits_draw(d.digits + d.train, d.taken_for, d.count - d.train);
    digits_data_destroy(&d);
    return worst >= ENOUGH(dtype);
}

static void announce(const options *o, int types, int count, progress *p)
{
    const int train = count - count / 3, steps = EPOCHS * (train / BATCH);
    p->all = types * o->seeds * steps;
    printf("learning  to read %d handwritten digits from %d others: %d type%s x %d seed%s x %d "
           "steps\n",
           count - train, train, types, types == 1 ? "" : "s", o->seeds, o->seeds == 1 ? "" : "s",
           steps);
    fflush(stdout);
}

static void conclude(bool well, double seconds)
{
    if (well)
        printf("done      in %.1f s. Next: ./run test, or build/tools/tenon selftest, which tries "
               "every\n          solver on this device; a first program is in README.md, more in "
               "docs/\n",
               seconds);
    else
        printf("wrong     too few were recognized; run build/tools/tenon selftest to test the "
               "device\n          and its driver (%.1f s)\n",
               seconds);
}

int main(int argc, char **argv)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16};
    const options o = options_parse(argc, argv, DIGITS_DATA);
    const double start = seconds_now();
    const int wanted = o.type == NULL ? 3 : 1;
    progress p = {0};
    int count, begun = 0;
    bool well = true;
    /* Pins PoCL's worker threads, which otherwise often share a core. A library must not change
     * the environment; a program may, before its first OpenCL call. */
    setenv("POCL_AFFINITY", "1", 0);
    digit *digits = digits_read(o.data, &count);
    if (digits == NULL)
        return 1;
    device here = device_open(o.device);
    announce(&o, wanted, count, &p);
    for (int i = 0; i < 3; i++)
        if (o.type == NULL || strcmp(o.type, tenon_dtype_string(types[i])) == 0)
            well &= run_type(&o, &here, types[i], digits, count, wanted - ++begun, &p);
    conclude(well, seconds_now() - start);
    device_close(&here);
    free(digits);
    return well ? 0 : 1;
}
