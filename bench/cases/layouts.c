/* Memory-bound operations on images with their channels last, compared with the same operations on
 * images in the order N C H W (the peer "nchw"). */
#include "line.h"
#include "peers/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call in the syntax of "tenon check", in which `$` and a letter stand for a view, with channels
 * C and pixels H × W:
 *   X  images                       Y  images in the other layout
 *   H  images of half the height and width, rounded up, or down: F
 *   P  images of one pixel          B  one image of one pixel
 *   R  images of one channel        Z  X with a border of one pixel
 *   C  the first half of the channels of images with twice as many
 *   V  a vector of channels         S  the same in f32         W  C × 1 × 1 */
typedef struct named {
    const char *name, *line;
} named;

static const named calls[] = {
    {"max 3x3/2", "pool x=$X y=$H window=3,3 stride=2,2 pad_begin=1,1 pad_end=1,1"},
    {"max 2x2/2", "pool x=$X y=$F window=2,2 stride=2,2"},
    {"max 3x3/1", "pool x=$X y=$X window=3,3 pad_begin=1,1 pad_end=1,1"},
    {"avg 2x2/2", "pool x=$X y=$F kind=average window=2,2 stride=2,2"},
    {"avg global", "pool x=$X y=$P kind=average flags=1"},
    {"max 3x3/2 dx", "pool_backward x=$X dy=$H dx=$X window=3,3 stride=2,2 pad_begin=1,1 "
                     "pad_end=1,1"},
    {"avg 2x2/2 dx", "pool_backward dy=$F dx=$X kind=average window=2,2 stride=2,2"},
    {"avg global dx", "pool_backward dy=$P dx=$X kind=average flags=1"},
    {"batch inference", "norm tenon_norm_inference x=$X gamma=$V beta=$V mean=$S variance=$S y=$X "
                        "kind=batch"},
    {"batch training", "norm x=$X gamma=$V beta=$V y=$X mean=$S rstd=$S running_mean=$S "
                       "running_variance=$S kind=batch"},
    {"batch dx", "norm_backward x=$X dy=$X gamma=$V mean=$S rstd=$S dx=$X dgamma=$V dbeta=$V "
                 "kind=batch"},
    {"instance", "norm x=$X gamma=$V beta=$V y=$X kind=instance"},
    {"group 8", "norm x=$X gamma=$V beta=$V y=$X kind=group groups=8"},
    {"layer", "norm x=$X y=$X kind=layer dimensions=3"},
    {"softmax", "softmax x=$X y=$X axis=1"},
    {"log-softmax", "softmax x=$X y=$X axis=1 flags=1"},
    {"softmax dx", "softmax_backward y=$X dy=$X dx=$X axis=1"},
    {"sum over pixels", "reduce x=$X y=$P axis_count=2 axes=2,3"},
    {"sum over channels", "reduce x=$X y=$R axis_count=1 axes=1"},
    {"sum per channel", "reduce x=$X y=$B axis_count=3 axes=0,2,3"},
    {"max over channels", "reduce x=$X y=$R axis_count=1 axes=1 kind=max"},
    {"moments", "reduce tenon_moments x=$X mean=$B variance=$B axis_count=3 axes=0,2,3"},
    {"bias", "elementwise a=$X b=$B d=$X"},
    {"scale and shift", "elementwise_chain x0=$X x1=$B x2=$B y=$X step_count=1 op=fma operand=x1 "
                        "addend=x2"},
    {"gate", "elementwise a=$X b=$P d=$X kind=multiply"},
    {"relu", "activation x=$X y=$X activation=relu"},
    {"residual", "elementwise a=$X b=$X d=$X"},
    {"concat", "copy x=$X y=$C"},
    {"pad", "pad x=$X y=$Z begin=0,0,1,1 end=0,0,1,1"},
    {"other layout", "copy x=$X y=$Y"},
    {"prelu", "prelu x=$X slope=$W y=$X"},
    {"prelu dx", "prelu_backward x=$X slope=$W dy=$X dx=$X dslope=$W"},
};

/* Sizes of images: N, C, H, W. */
static const int64_t shapes[][4] = {
    {1, 64, 56, 56}, {8, 256, 28, 28}, {8, 512, 7, 7}, {8, 64, 112, 112}, {1, 24, 75, 75}};

#define CALLS  (sizeof calls / sizeof *calls)
#define SHAPES (sizeof shapes / sizeof *shapes)

/* The call with its channels last, which is the first member, and with its channels first. */
typedef struct pass {
    bench_line last, first;
} pass;

/* Writes an N C H W view. `stored` is the number of channels of the images that it is a part of. */
static int put_images(char *text, size_t size, int64_t n, int64_t c, int64_t h, int64_t w,
                      int64_t stored, bool channels_last)
{
    const long long last[] = {h * w * stored, 1, w * stored, stored},
                    first[] = {stored * h * w, h * w, w, 1};
    const long long *stride = channels_last ? last : first;
    return snprintf(text, size, "T:%lldx%lldx%lldx%lld/%lld,%lld,%lld,%lld", (long long)n,
                    (long long)c, (long long)h, (long long)w, stride[0], stride[1], stride[2],
                    stride[3]);
}

/* Writes the view that a letter stands for. */
static int put_view(char *text, size_t size, char letter, const int64_t *s, bool channels_last)
{
    const int64_t n = s[0], c = s[1], h = s[2], w = s[3];
    switch (letter) {
    case 'X':
        return put_images(text, size, n, c, h, w, c, channels_last);
    case 'Y':
        return put_images(text, size, n, c, h, w, c, !channels_last);
    case 'H':
        return put_images(text, size, n, c, (h + 1) / 2, (w + 1) / 2, c, channels_last);
    case 'F':
        return put_images(text, size, n, c, h / 2, w / 2, c, channels_last);
    case 'P':
        return put_images(text, size, n, c, 1, 1, c, channels_last);
    case 'B':
        return put_images(text, size, 1, c, 1, 1, c, channels_last);
    case 'R':
        return put_images(text, size, n, 1, h, w, 1, channels_last);
    case 'Z':
        return put_images(text, size, n, c, h + 2, w + 2, c, channels_last);
    case 'C':
        return put_images(text, size, n, c, h, w, 2 * c, channels_last);
    case 'W':
        return snprintf(text, size, "T:%lldx1x1", (long long)c);
    default:
        return snprintf(text, size, "%c:%lld", letter == 'S' ? 'S' : 'T', (long long)c);
    }
}

/* Writes the call of an operation for images of some size. */
static void put_line(char line[TN_CASE_TEXT_SIZE], const char *from, const int64_t *shape,
                     bool channels_last)
{
    size_t used = 0;
    for (; *from != '\0' && used < TN_CASE_TEXT_SIZE - 1; from++)
        if (*from == '$')
            used += (size_t)put_view(line + used, TN_CASE_TEXT_SIZE - used, *++from, shape,
                                     channels_last);
        else
            line[used++] = *from;
    line[used < TN_CASE_TEXT_SIZE ? used : TN_CASE_TEXT_SIZE - 1] = '\0';
}

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return CALLS * SHAPES;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const int64_t *s = shapes[number % SHAPES];
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s %d@%d n%d", calls[number / SHAPES].name, (int)s[1],
             (int)s[2], (int)s[0]);
}

static void destroy(bench_case *bench)
{
    pass *p = bench->tenon.data;
    bench_line_destroy(&p->last);
    bench_line_destroy(&p->first);
    free(p);
}

static bool make_layout(bench_session *session, const named *o, const int64_t *shape,
                        tenon_dtype dtype, bool channels_last, bench_line *line)
{
    char text[TN_CASE_TEXT_SIZE];
    put_line(text, o->line, shape, channels_last);
    return bench_line_make(session, text, dtype, 0, line);
}

static bool add_first(bench_session *session, const named *o, const int64_t *shape,
                      tenon_dtype dtype, pass *p, bench_way *way)
{
    *way = (bench_way){"nchw", bench_line_run, false, &p->first, NULL, NULL, NULL};
    return make_layout(session, o, shape, dtype, false, &p->first);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const named *o = &calls[number / SHAPES];
    const int64_t *shape = shapes[number % SHAPES];
    pass *p = calloc(1, sizeof *p);
    (void)suite;
    if (p == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", bench_line_run, false, p, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = bench_line_verify;
    if (!make_layout(session, o, shape, dtype, true, &p->last))
        return false;
    bench_line_describe(&p->last, bench);
    bench->bytes = bench_line_bytes(&p->last, NULL);
    BENCH_ADD_PEER(session, bench, "nchw", add_first(session, o, shape, dtype, p, bench_way_at));
    return true;
}

static const bench_kind functions = {count, name_of, bench_floating, make};

const bench_suite bench_suite_bandwidth_cpu_nhwc = {
    "bandwidth-cpu-nhwc", "memory-bound operations on images, channels last", &functions, 0.2, 0};
