/* The loops are compiled for this processor, with fast-math options (meson.build). Each processes a
 * row. For non-temporal stores a row is computed in a buffer that stays in the innermost cache. */
#include "loop.h"
#include "pool.h"

#include "../environment.h"
#include "../timing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#define COLS         BENCH_LOOP_COLS
#define MOST_THREADS 64

typedef struct task {
    bench_loop loop;
    int threads;
    bool streaming;
    const float *x[3];
    float *y;
    float partial[MOST_THREADS][16]; /* partial results of reductions, a cache line each */
} task;

/* Copies with non-temporal stores, if the processor has them; `to` is aligned to 64 bytes. */
static void stream(float *restrict to, const float *restrict from, int64_t count)
{
#if defined(__AVX512F__)
    for (int64_t i = 0; i < count; i += 16)
        _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#elif defined(__AVX__)
    for (int64_t i = 0; i < count; i += 8)
        _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif defined(__SSE__)
    for (int64_t i = 0; i < count; i += 4)
        _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#else
    memcpy(to, from, (size_t)count * sizeof *to);
#endif
}

static void stream_end(void)
{
#if defined(__SSE__)
    _mm_sfence();
#endif
}

static float row_sum(const float *x)
{
    float sum = 0;
    for (int i = 0; i < COLS; i++)
        sum += x[i];
    return sum;
}

static float row_max(const float *x)
{
    float most = x[0];
    for (int i = 0; i < COLS; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static void softmax(const float *restrict x, float *restrict y)
{
    const float most = row_max(x);
    float sum = 0;
    for (int i = 0; i < COLS; i++) {
        y[i] = expf(x[i] - most);
        sum += y[i];
    }
    const float factor = 1 / sum;
    for (int i = 0; i < COLS; i++)
        y[i] *= factor;
}

static void layer_norm(const float *restrict x, const float *restrict gamma,
                       const float *restrict beta, float *restrict y)
{
    const float mean = row_sum(x) / COLS;
    float squares = 0;
    for (int i = 0; i < COLS; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    const float factor = 1 / sqrtf(squares / COLS + 1e-5F);
    for (int i = 0; i < COLS; i++)
        y[i] = (x[i] - mean) * factor * gamma[i] + beta[i];
}

static void bias_gelu(const float *restrict x, const float *restrict bias, float *restrict y)
{
    for (int i = 0; i < COLS; i++) {
        const float v = x[i] + bias[i];
        y[i] = 0.5F * v * (1 + tanhf(0.7978845608F * (v + 0.044715F * v * v * v)));
    }
}

/* Processes a row of the element-wise loops. */
static void map_row(bench_loop_kind kind, const float *restrict x, const float *restrict x1,
                    const float *restrict x2, float *restrict y)
{
    switch (kind) {
    case BENCH_LOOP_SCALE:
        for (int i = 0; i < COLS; i++)
            y[i] = 1.5F * x[i];
        break;
    case BENCH_LOOP_RELU:
        for (int i = 0; i < COLS; i++)
            y[i] = x[i] > 0 ? x[i] : 0;
        break;
    case BENCH_LOOP_SIGMOID:
        for (int i = 0; i < COLS; i++)
            y[i] = 1 / (1 + expf(-x[i]));
        break;
    case BENCH_LOOP_TANH:
        for (int i = 0; i < COLS; i++)
            y[i] = tanhf(x[i]);
        break;
    case BENCH_LOOP_ADD:
        for (int i = 0; i < COLS; i++)
            y[i] = x[i] + x1[i];
        break;
    case BENCH_LOOP_SAXPY:
        for (int i = 0; i < COLS; i++)
            y[i] = 2.5F * x[i] + x1[i];
        break;
    case BENCH_LOOP_BIAS_GELU:
        bias_gelu(x, x1, y);
        break;
    case BENCH_LOOP_SOFTMAX:
        softmax(x, y);
        break;
    case BENCH_LOOP_LAYER_NORM:
        layer_norm(x, x1, x2, y);
        break;
    default:
        memcpy(y, x, COLS * sizeof *y);
        break;
    }
}

static void map_rows(const task *t, int64_t begin, int64_t end)
{
    _Alignas(64) float buffer[COLS];
    const bench_loop_kind kind = t->loop.kind;
    /* A bias, and gamma and beta, are shared by all rows. */
    const int64_t step = kind == BENCH_LOOP_BIAS_GELU || kind == BENCH_LOOP_LAYER_NORM ? 0 : COLS;
    for (int64_t r = begin; r < end; r++) {
        const float *x = t->x[0] + r * COLS;
        float *y = t->y + r * COLS;
        if (t->streaming && kind == BENCH_LOOP_COPY) {
            stream(y, x, COLS);
            continue;
        }
        map_row(kind, x, t->x[1] + r * step, t->x[2] + r * step, t->streaming ? buffer : y);
        if (t->streaming)
            stream(y, buffer, COLS);
    }
}

/* Transposes a block of 16 by 16 from rows of x to rows of `to`. */
static void turn(const float *restrict x, int64_t step, float *restrict to, int64_t to_step)
{
#if defined(__SSE__)
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 16; j += 4) {
            __m128 a = _mm_loadu_ps(x + i * step + j), b = _mm_loadu_ps(x + (i + 1) * step + j);
            __m128 c = _mm_loadu_ps(x + (i + 2) * step + j),
                   d = _mm_loadu_ps(x + (i + 3) * step + j);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(to + j * to_step + i, a);
            _mm_storeu_ps(to + (j + 1) * to_step + i, b);
            _mm_storeu_ps(to + (j + 2) * to_step + i, c);
            _mm_storeu_ps(to + (j + 3) * to_step + i, d);
        }
#else
    for (int j = 0; j < 16; j++)
        for (int i = 0; i < 16; i++)
            to[j * to_step + i] = x[i * step + j];
#endif
}

/* Transposes rows of x, a multiple of 16, 64 at a time, so that complete cache lines of y are
 * written. */
static void transpose(const task *t, int64_t begin, int64_t end)
{
    _Alignas(64) float square[16 * 16];
    for (int64_t first = begin; first < end; first += 64)
        for (int64_t j = 0; j < COLS; j += 16)
            for (int64_t i = first; i < end && i < first + 64; i += 16) {
                const float *x = t->x[0] + i * COLS + j;
                float *y = t->y + j * t->loop.rows + i;
                if (!t->streaming) {
                    turn(x, COLS, y, t->loop.rows);
                    continue;
                }
                turn(x, COLS, square, 16);
                for (int64_t row = 0; row < 16; row++)
                    stream(y + row * t->loop.rows, square + row * 16, 16);
            }
}

static void work(void *data, int thread)
{
    task *t = data;
    const int64_t units = t->loop.rows / 16; /* units of 16 rows */
    const int64_t begin = units * thread / t->threads * 16,
                  end = units * (thread + 1) / t->threads * 16;
    float result = t->loop.kind == BENCH_LOOP_MAX ? -INFINITY : 0, most;
    switch (t->loop.kind) {
    case BENCH_LOOP_TRANSPOSE:
        transpose(t, begin, end);
        break;
    case BENCH_LOOP_ROW_SUM:
        for (int64_t r = begin; r < end; r++)
            t->y[r] = row_sum(t->x[0] + r * COLS);
        break;
    case BENCH_LOOP_SUM:
        for (int64_t r = begin; r < end; r++)
            result += row_sum(t->x[0] + r * COLS);
        break;
    case BENCH_LOOP_MAX:
        for (int64_t r = begin; r < end; r++) {
            most = row_max(t->x[0] + r * COLS);
            result = most > result ? most : result;
        }
        break;
    default:
        map_rows(t, begin, end);
        break;
    }
    t->partial[thread][0] = result;
    if (t->streaming)
        stream_end();
}

static bool call(void *data, tenon_stream *stream_unused, int turn_number)
{
    task *t = data;
    const bench_operands *operands = t->loop.operands;
    const int copy = turn_number % operands->copies;
    (void)stream_unused;
    for (int i = 0; i < 3; i++)
        t->x[i] = operands->operand[t->loop.x[i]].values[copy];
    t->y = operands->operand[t->loop.y].values[copy];
    bench_pool_run(t->threads, work, t);
    if (t->loop.kind == BENCH_LOOP_SUM || t->loop.kind == BENCH_LOOP_MAX) {
        float result = t->partial[0][0];
        for (int i = 1; i < t->threads; i++)
            if (t->loop.kind == BENCH_LOOP_SUM)
                result += t->partial[i][0];
            else
                result = t->partial[i][0] > result ? t->partial[i][0] : result;
        t->y[0] = result;
    }
    return true;
}

/* Returns the seconds of a call: the median of a few, after an untimed one. */
static double seconds_of(task *t)
{
    enum { MOST = 200 };
    double seconds[MOST], end = bench_now() + 0.03;
    int count = 0;
    call(t, NULL, 0);
    while (count < 3 || (count < MOST && bench_now() < end)) {
        double start = bench_now();
        call(t, NULL, count);
        seconds[count++] = bench_now() - start;
    }
    return bench_median(seconds, count);
}

/* Measures the four variants, sets the fastest in the task, and returns its name. */
static const char *choose(task *t)
{
    static const char *const names[2][2] = {{"one thread", "one thread, streaming"},
                                            {"threads", "threads, streaming"}};
    const int most = bench_pool_threads() < MOST_THREADS ? bench_pool_threads() : MOST_THREADS;
    double least = INFINITY;
    task best = *t;
    const char *name = NULL;
    bench_pin(0);
    for (int many = 0; many < 2; many++)
        for (int streaming = 0; streaming < 2; streaming++) {
            t->threads = many ? most : 1;
            t->streaming = streaming != 0;
            double seconds = seconds_of(t);
            if (seconds < least) {
                least = seconds;
                best = *t;
                name = names[many][streaming];
            }
        }
    bench_pin(-1);
    *t = best;
    return name;
}

bool bench_loop_way(const bench_loop *loop, bench_way *way)
{
    if (loop->dtype != TENON_DTYPE_F32 || loop->rows % 16 != 0)
        return false;
    task *t = calloc(1, sizeof *t);
    if (t == NULL)
        return false;
    t->loop = *loop;
    *way = (bench_way){"loop", call, true, t, free, NULL};
    way->algorithm = choose(t);
    return true;
}
