/* cuDNN's convolution of N C H W images, with the algorithm that cuDNN finds fastest. f32 is
 * computed in f32, without TF32; 16-bit types are summed in f32. */
#include "card.h"
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>

/* cuDNN's constants. */
enum { FLOATS = 0, DOUBLES = 1, HALVES = 2, BFLOATS = 9 };
enum { TENSOR_CORES = 1, WITHOUT_CONVERSION = 3, CROSS_CORRELATION = 1, NCHW = 0 };
#define ALGORITHMS 8

typedef struct performance {
    int algorithm, status;
    float time;
    size_t memory;
    int determinism, math;
    int reserved[3];
} performance;

static struct {
    int (*create)(void **handle);
    size_t (*version)(void);
    int (*create_tensor)(void **tensor);
    int (*destroy_tensor)(void *tensor);
    int (*set_tensor)(void *tensor, int format, int type, int n, int c, int h, int w);
    int (*create_filter)(void **filter);
    int (*destroy_filter)(void *filter);
    int (*set_filter)(void *filter, int type, int format, int k, int c, int h, int w);
    int (*create_conv)(void **conv);
    int (*destroy_conv)(void *conv);
    int (*set_conv)(void *conv, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                    int dilation_w, int mode, int type);
    int (*set_math)(void *conv, int math);
    int (*set_groups)(void *conv, int groups);
    int (*find)(void *handle, void *x, void *filter, void *conv, void *y, int asked, int *found,
                performance *results);
    int (*forward)(void *handle, const void *alpha, void *x, bench_card_address x_at, void *filter,
                   bench_card_address filter_at, void *conv, int algorithm,
                   bench_card_address workspace, size_t bytes, const void *beta, void *y,
                   bench_card_address y_at);
} cudnn;

typedef struct convolution {
    const bench_card *card;
    void *handle;
    bench_conv conv;
    bench_card_operands operands;
    void *x, *filter, *y, *descriptor;
    performance chosen;
    bench_card_address workspace;
} convolution;

/* The number is 10000 times the major version (1000 times up to version 8), 100 times the minor
 * one, and the patch. */
static void write_version(void *handle, char text[BENCH_CARD_VERSION_SIZE])
{
    const unsigned number = (unsigned)cudnn.version(), unit = number < 10000 ? 1000 : 10000;
    (void)handle;
    snprintf(text, BENCH_CARD_VERSION_SIZE, "%u.%u.%u", number / unit, number % unit / 100,
             number % 100);
}

/* Opens the library; NULL if it is not installed. */
static void *open_library(void)
{
    static const char *const names[] = {"libcudnn.so", "libcudnn.so.9", "libcudnn.so.8", NULL};
    static const bench_card_function functions[] = {
        {"cudnnCreate", &cudnn.create},
        {"cudnnGetVersion", &cudnn.version},
        {"cudnnCreateTensorDescriptor", &cudnn.create_tensor},
        {"cudnnDestroyTensorDescriptor", &cudnn.destroy_tensor},
        {"cudnnSetTensor4dDescriptor", &cudnn.set_tensor},
        {"cudnnCreateFilterDescriptor", &cudnn.create_filter},
        {"cudnnDestroyFilterDescriptor", &cudnn.destroy_filter},
        {"cudnnSetFilter4dDescriptor", &cudnn.set_filter},
        {"cudnnCreateConvolutionDescriptor", &cudnn.create_conv},
        {"cudnnDestroyConvolutionDescriptor", &cudnn.destroy_conv},
        {"cudnnSetConvolution2dDescriptor", &cudnn.set_conv},
        {"cudnnSetConvolutionMathType", &cudnn.set_math},
        {"cudnnSetConvolutionGroupCount", &cudnn.set_groups},
        {"cudnnFindConvolutionForwardAlgorithm", &cudnn.find},
        {"cudnnConvolutionForward", &cudnn.forward},
        {NULL, NULL},
    };
    static bench_card_library library = {"cuDNN",       names, functions, &cudnn.create,
                                         write_version, false, NULL};
    return bench_card_handle(&library, "cudnn");
}

static int type_of(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64    ? DOUBLES
           : dtype == TENON_DTYPE_F16  ? HALVES
           : dtype == TENON_DTYPE_BF16 ? BFLOATS
                                       : FLOATS;
}

static bool describe(convolution *v)
{
    const bench_conv *c = &v->conv;
    const bench_conv_shape *s = &c->shape;
    const int type = type_of(c->dtype), pad = (int)s->pad, stride = (int)s->stride;
    const bool narrow = type == HALVES || type == BFLOATS;
    return cudnn.create_tensor(&v->x) == 0 && cudnn.create_tensor(&v->y) == 0 &&
           cudnn.create_filter(&v->filter) == 0 && cudnn.create_conv(&v->descriptor) == 0 &&
           cudnn.set_tensor(v->x, NCHW, type, (int)s->n, (int)s->c, (int)s->h, (int)s->w) == 0 &&
           cudnn.set_tensor(v->y, NCHW, type, (int)s->n, (int)s->k, (int)c->p, (int)c->q) == 0 &&
           cudnn.set_filter(v->filter, type, NCHW, (int)s->k, (int)(s->c / s->groups), (int)s->r,
                            (int)s->s) == 0 &&
           cudnn.set_conv(v->descriptor, pad, pad, stride, stride, 1, 1, CROSS_CORRELATION,
                          narrow ? FLOATS : type) == 0 &&
           cudnn.set_groups(v->descriptor, (int)s->groups) == 0 &&
           cudnn.set_math(v->descriptor, narrow ? TENSOR_CORES : WITHOUT_CONVERSION) == 0;
}

static int run(const convolution *v, int copy)
{
    static const float ones[] = {1, 0};
    static const double doubles[] = {1, 0};
    const bool wide = v->conv.dtype == TENON_DTYPE_F64;
    const bench_card_address *at = v->operands.at[copy];
    return cudnn.forward(v->handle, wide ? (const void *)doubles : ones, v->x, at[v->conv.x],
                         v->filter, at[v->conv.filter], v->descriptor, v->chosen.algorithm,
                         v->workspace, v->chosen.memory,
                         wide ? (const void *)(doubles + 1) : ones + 1, v->y, at[v->conv.y]);
}

/* Chooses the fastest algorithm that works and computes f32 in f32. */
static bool choose(convolution *v)
{
    performance results[ALGORITHMS];
    const bool single = type_of(v->conv.dtype) == FLOATS;
    int found = 0;
    if (cudnn.find(v->handle, v->x, v->filter, v->descriptor, v->y, ALGORITHMS, &found, results) !=
        0)
        return false;
    for (int i = 0; i < found; i++)
        if (results[i].status == 0 && (!single || results[i].math == WITHOUT_CONVERSION)) {
            v->chosen = results[i];
            return cudnn.set_math(v->descriptor, results[i].math) == 0 &&
                   (v->chosen.memory == 0 ||
                    v->card->allocate(&v->workspace, v->chosen.memory) == 0);
        }
    return false;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const convolution *v = data;
    (void)stream;
    return run(v, turn % v->conv.operands->copies) == 0;
}

static bool finish(void *data)
{
    return ((const convolution *)data)->card->synchronize() == 0;
}

static void destroy(void *data)
{
    convolution *v = data;
    if (v->x != NULL)
        (void)cudnn.destroy_tensor(v->x);
    if (v->y != NULL)
        (void)cudnn.destroy_tensor(v->y);
    if (v->filter != NULL)
        (void)cudnn.destroy_filter(v->filter);
    if (v->descriptor != NULL)
        (void)cudnn.destroy_conv(v->descriptor);
    if (v->workspace != 0)
        (void)v->card->release(v->workspace);
    bench_card_free(v->card, &v->operands);
    free(v);
}

/* Returns a pixel in the middle of the last plane of the last image. */
static double pixel_of(const convolution *v, int64_t *element)
{
    const bench_conv *c = &v->conv;
    const bench_conv_shape *s = &c->shape;
    const int64_t image = s->n - 1, k = s->k - 1, p = c->p / 2, q = c->q / 2,
                  inner = s->c / s->groups, first = k / (s->k / s->groups) * inner;
    const float *x = c->operands->operand[c->x].values[0],
                *filter = c->operands->operand[c->filter].values[0];
    double sum = 0;
    for (int64_t i = 0; i < inner * s->r * s->s; i++) {
        const int64_t channel = i / (s->r * s->s), h = p * s->stride - s->pad + i / s->s % s->r,
                      w = q * s->stride - s->pad + i % s->s;
        if (h >= 0 && h < s->h && w >= 0 && w < s->w)
            sum += (double)x[((image * s->c + first + channel) * s->h + h) * s->w + w] *
                   (double)filter[k * inner * s->r * s->s + i];
    }
    *element = ((image * s->k + k) * c->p + p) * c->q + q;
    return sum;
}

/* Checks the result. cuDNN may use Winograd's algorithm, which loses a few bits; accepted as is,
 * because Tenon's Winograd solvers lose the same bits. */
static bool is_right(const convolution *v)
{
    const bench_conv_shape *s = &v->conv.shape;
    int64_t element;
    const double wanted = pixel_of(v, &element);
    return run(v, 0) == 0 &&
           bench_card_agrees("cuDNN", v->conv.dtype,
                             bench_card_element(v->card, &v->operands, v->conv.y, element), wanted,
                             64 * (s->c / s->groups) * s->r * s->s);
}

bool bench_cudnn_conv(const bench_session *session, const bench_conv *conv, bench_way *way)
{
    static const char *const names[ALGORITHMS] = {
        "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "fft in tiles",
        "winograd",      "winograd in steps"};
    const bench_card *card = bench_cuda_open(session);
    void *handle = conv->direction != BENCH_CONV_FORWARD || card == NULL ? NULL : open_library();
    if (handle == NULL)
        return false;
    convolution *v = calloc(1, sizeof *v);
    if (v == NULL)
        return false;
    v->card = card;
    v->handle = handle;
    v->conv = *conv;
    if (!describe(v) || !bench_card_copy(card, conv->operands, &v->operands) || !choose(v) ||
        !is_right(v)) {
        fprintf(stderr, "tenon-bench: cuDNN does not support this case\n");
        destroy(v);
        return false;
    }
    *way = (bench_way){"cudnn", call, false, v, destroy, names[v->chosen.algorithm % ALGORITHMS],
                       finish};
    return true;
}
