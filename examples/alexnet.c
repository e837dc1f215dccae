/*
 * Trains AlexNet (A. Krizhevsky, I. Sutskever and G. Hinton, "ImageNet classification with deep
 * convolutional neural networks", 2012) on one batch of random images. A step is one call:
 *
 *     alexnet [IMAGES [STEPS]]     128 images and 5 steps, if they are not given
 *
 * Prints the loss and the seconds of each step; the loss must fall. Convolutions that the paper
 * divides between two GPUs have two groups. The images have 227 pixels a side, because with 224 the
 * first convolution would not give the paper's 55 × 55. Images are stored with their channels last.
 */
#include "layers.h"

enum { CONVOLUTIONS = 5, LAYERS = 8, SIDE = 227, CLASSES = 1000 };

/* clang-format off */
static layer layers[LAYERS] = {
    {.outputs = 96, .size = 11, .stride = 4, .groups = 1, .normalizes = true, .pools = true},
    {.outputs = 256, .size = 5, .stride = 1, .padding = 2, .groups = 2, .normalizes = true,
     .pools = true, .start = 1},
    {.outputs = 384, .size = 3, .stride = 1, .padding = 1, .groups = 1},
    {.outputs = 384, .size = 3, .stride = 1, .padding = 1, .groups = 2, .start = 1},
    {.outputs = 256, .size = 3, .stride = 1, .padding = 1, .groups = 2, .pools = true, .start = 1},
    {.outputs = 4096, .start = 1},
    {.outputs = 4096, .start = 1},
    {.outputs = CLASSES, .is_last = true}};
/* clang-format on */

/* Returns an image as a matrix with a row for each image. */
static tenon_tensor rows_of(const tenon_tensor *images)
{
    const int64_t shape[] = {images->shape[0], tenon_tensor_elements(images) / images->shape[0]};
    tenon_tensor rows = tenon_tensor_view(images->dtype, 2, shape);
    rows.memory = images->memory;
    return rows;
}

/* Adds the whole step: forward, loss, gradients and updates. */
static void add_step(training *t, const tenon_tensor *images, const tenon_tensor *labels,
                     const tenon_tensor *loss)
{
    const int64_t n = images->shape[0];
    tenon_tensor x = *images;
    for (int i = 0; i < CONVOLUTIONS; i++)
        x = convolve(t, &layers[i], x);
    tenon_tensor features = x, d_features = image(t, TENON_DTYPE_F32, n, x.shape[1], x.shape[2]);
    x = rows_of(&features);
    for (int i = CONVOLUTIONS; i < LAYERS; i++)
        x = connect(t, &layers[i], x);

    const tenon_tensor losses = training_intermediate(t, TENON_DTYPE_F32, 1, &n);
    tenon_tensor d = training_like(t, &x);
    ADD(t, NULL, tenon_cross_entropy_forward, NULL, &x, labels, &losses);
    ADD(t, NULL, tenon_reduce, &tenon_reduce_params(.kind = TENON_REDUCE_MEAN), &losses, loss);
    ADD(t, NULL, tenon_cross_entropy_backward, &tenon_cross_entropy_params(.scale = 1 / (double)n),
        &x, labels, NULL, &d);

    for (int i = LAYERS - 1; i >= CONVOLUTIONS; i--) {
        const tenon_tensor dx =
            i > CONVOLUTIONS ? training_like(t, &layers[i].x) : rows_of(&d_features);
        connect_backward(t, &layers[i], &d, &dx);
        d = dx;
    }
    d = d_features;
    for (int i = CONVOLUTIONS - 1; i >= 0; i--)
        d = convolve_backward(t, &layers[i], d, i == 0);
}

static tenon_tensor some_labels(training *t, int64_t n)
{
    const tenon_tensor labels = training_tensor(t, TENON_DTYPE_I32, 1, &n);
    int32_t *host = malloc((size_t)n * sizeof *host);
    if (host == NULL)
        abort();
    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)(i * 37 % CLASSES);
    TRY(tenon_tensor_upload(t->stream, host, (size_t)n * sizeof *host, &labels, NULL));
    TRY(tenon_stream_finish(t->stream));
    free(host);
    return labels;
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoi(argv[1]) : 128, steps = argc > 2 ? atoi(argv[2]) : 5, one = 1;
    if (n < 1 || steps < 2 || argc > 3) {
        fprintf(stderr, "usage: alexnet [IMAGES [STEPS]], at least 1 and 2\n");
        return 2;
    }
    training t = training_open();
    const tenon_tensor stored = training_normal(&t, 4, (int64_t[]){n, SIDE, SIDE, 3}, 1),
                       images = tenon_tensor_nhwc(stored), labels = some_labels(&t, n),
                       loss = training_tensor(&t, TENON_DTYPE_F32, 1, &one);
    add_step(&t, &images, &labels, &loss);
    training_finish(&t);

    float first = 0, last = 0;
    for (int64_t i = 0; i < steps; i++) {
        const double start = seconds_now();
        training_run(&t, (uint64_t)i);
        TRY(tenon_tensor_download(t.stream, &loss, &last, sizeof last, NULL));
        printf("step %d  loss %.4f  %.2f s\n", (int)i + 1, last, seconds_now() - start);
        first = i == 0 ? last : first;
    }
    training_close(&t);
    return last < first ? 0 : 1;
}
