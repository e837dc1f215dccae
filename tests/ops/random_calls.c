#include "random_calls.h"

#include "ops/registry.h"

#include <inttypes.h>
#include <stdio.h>

#define LINE 256

/* Draws a size with a roughly logarithmic distribution, so that small sizes are as frequent as
 * large ones. */
static int64_t draw(test_random *random, int64_t most)
{
    int64_t high = 1;
    while (high < most && !test_one_in(random, 5))
        high *= 2;
    return test_between(random, (high + 1) / 2, high < most ? high : most);
}

static void product(test_random *random, char line[LINE])
{
    const int64_t m = draw(random, 160), n = draw(random, 160), k = draw(random, 160);
    snprintf(line, LINE,
             "gemm a=f32:%" PRId64 "x%" PRId64 " b=f32:%" PRId64 "x%" PRId64 " d=f32:%" PRId64
             "x%" PRId64,
             m, k, k, n, m, n);
}

static void convolution(test_random *random, char line[LINE])
{
    const int64_t channels = draw(random, 24), maps = draw(random, 24), images = draw(random, 3),
                  kernel = test_one_in(random, 2) ? 3 : 1, pad = kernel / 2,
                  height = 2 + draw(random, 20), width = 2 + draw(random, 20);
    snprintf(line, LINE,
             "conv x=f32:%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " w=f32:%" PRId64 "x%" PRId64
             "x%" PRId64 "x%" PRId64 " y=f32:%" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64
             " pad_begin=%" PRId64 ",%" PRId64 " pad_end=%" PRId64 ",%" PRId64,
             images, channels, height, width, maps, channels, kernel, kernel, images, maps, height,
             width, pad, pad, pad, pad);
}

static void relu(test_random *random, char line[LINE])
{
    const int64_t size = draw(random, 20000);
    snprintf(line, LINE, "activation x=f32:%" PRId64 " y=f32:%" PRId64 " activation=relu", size,
             size);
}

static void softmax(test_random *random, char line[LINE])
{
    const int64_t rows = draw(random, 200), columns = draw(random, 300);
    snprintf(line, LINE, "softmax x=f32:%" PRId64 "x%" PRId64 " y=f32:%" PRId64 "x%" PRId64, rows,
             columns, rows, columns);
}

void random_call(test_random *random, int kinds, tn_case *out)
{
    static void (*const draw_one[RANDOM_CALLS])(test_random * random, char line[LINE]) = {
        relu, softmax, product, convolution};
    char line[LINE];
    draw_one[test_between(random, 0, kinds - 1)](random, line);
    memset(out, 0, sizeof *out);
    if (tn_case_parse_line(line, TENON_DTYPE_INVALID, out) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    out->seed = test_next(random);
}

const char *random_call_run(tenon_stream *stream, const tn_case *c, char why[512])
{
    char text[TN_CASE_TEXT_SIZE];
    tn_case_result result;
    const tenon_status status = tn_case_run(stream, c, &result);
    why[0] = '\0';
    if (status != TENON_OK || !result.served || !result.right)
        snprintf(why, 512, "%.300s: %.200s", tn_case_text(c, text),
                 status != TENON_OK ? tenon_last_error() : result.why);
    return why;
}
