#include "tune_calls.h"

#include "shapes/shapes.h"
#include "ops/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(void)
{
    fprintf(stderr, "tenon tune: out of memory\n");
    return false;
}

static bool grow(tune_calls *calls)
{
    const uint32_t capacity = calls->capacity * 2 + 16;
    tn_case *cases = realloc(calls->cases, capacity * sizeof *cases);
    if (cases == NULL)
        return no_memory();
    calls->cases = cases;
    char **texts = realloc(calls->texts, capacity * sizeof *texts);
    if (texts == NULL)
        return no_memory();
    calls->texts = texts;
    calls->capacity = capacity;
    return true;
}

bool tune_calls_add(tune_calls *calls, const tn_case *given)
{
    char text[TN_CASE_TEXT_SIZE];
    if (calls->count == calls->capacity && !grow(calls))
        return false;
    tn_case *c = &calls->cases[calls->count];
    *c = *given;
    c->seed = 1;
    c->integers = false;
    snprintf(c->solver, sizeof c->solver, "%s", c->operation->family->name);
    tn_case_text(c, text);
    for (uint32_t i = 0; i < calls->count; i++)
        if (strcmp(calls->texts[i], text) == 0)
            return true;
    if ((calls->texts[calls->count] = tn_text_copy(text)) == NULL)
        return no_memory();
    calls->count++;
    return true;
}

static bool add_line(tune_calls *calls, const char *line, tenon_dtype type)
{
    tn_case c;
    if (tn_case_parse_line(line, type, &c) == TENON_OK)
        return tune_calls_add(calls, &c);
    fprintf(stderr, "%s\n", tenon_last_error());
    return false;
}

static bool add_file_line(tune_calls *calls, const char *path, unsigned number, char *line,
                          size_t length, tenon_dtype type)
{
    static const char begins[] = "tenon check ";
    if (memchr(line, '\0', length) != NULL) {
        fprintf(stderr, "tenon tune: %s:%u: contains a null byte\n", path, number);
        return false;
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, begins, sizeof begins - 1) == 0)
        line += sizeof begins - 1;
    if (line[strspn(line, " \t")] == '\0' || line[0] == '#')
        return true;
    if (add_line(calls, line, type))
        return true;
    fprintf(stderr, "tenon tune: %s:%u: not a call\n", path, number);
    return false;
}

/* Reads a line with its newline. Returns its length; 0 at the end of the file or on an error, which
 * ferror and errno show. */
static size_t read_line(FILE *file, char **line, size_t *capacity)
{
    size_t length = 0;
    for (int c = 0; c != '\n' && (c = getc(file)) != EOF;) {
        if (length + 2 > *capacity) {
            char *larger = realloc(*line, 2 * *capacity + 128);
            if (larger == NULL)
                return 0;
            *line = larger;
            *capacity = 2 * *capacity + 128;
        }
        (*line)[length++] = (char)c;
        (*line)[length] = '\0';
    }
    return length;
}

bool tune_calls_add_file(tune_calls *calls, const char *path, tenon_dtype type)
{
    char *line = NULL;
    size_t capacity = 0;
    size_t length;
    bool added = true;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "tenon tune: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    errno = 0;
    for (unsigned n = 1; added && (length = read_line(file, &line, &capacity)) > 0; n++)
        added = add_file_line(calls, path, n, line, length, type);
    if (errno == ENOMEM || ferror(file)) {
        fprintf(stderr, "tenon tune: cannot read %s: %s\n", path, strerror(errno));
        added = false;
    }
    free(line);
    fclose(file);
    return added;
}

/* Suites of tenon-bench whose shapes are in a table. */
static const struct suite {
    const char *name;
    bool is_conv;
    int selection;
} suites[] = {
    {"gemm", false, BENCH_GEMM_SHORT},       {"gemm-cpu", false, BENCH_GEMM_CPU},
    {"gemm-gpu", false, BENCH_GEMM_GPU},     {"conv", true, BENCH_CONV_SHORT},
    {"conv-cpu", true, BENCH_CONV_NETWORKS}, {"conv-cpu-depthwise", true, BENCH_CONV_DEPTHWISE},
    {"conv-gpu", true, BENCH_CONV_GPU},
};

#define SUITES (sizeof suites / sizeof *suites)

/* Writes a factor of a product. A transposed factor is stored with its other dimension first. */
static void put_factor(char text[128], const char *type, const int64_t *shape, bool transposed)
{
    const int used = snprintf(text, 128, "%s:%" PRId64 "x%" PRId64 "x%" PRId64, type, shape[0],
                              shape[1], shape[2]);
    if (transposed)
        snprintf(text + used, 128 - (size_t)used, "/%" PRId64 ",1,%" PRId64, shape[1] * shape[2],
                 shape[1]);
}

/* Writes the call of a shape. Returns false beyond the last shape. */
static bool put_gemm(int selection, uint32_t number, tenon_dtype type, char line[512])
{
    bench_gemm_shape s;
    char a[128], b[128];
    if (!bench_gemm_shape_at((bench_gemm_selection)selection, number, &s))
        return false;
    const char *name = tenon_dtype_string(type);
    const bool is_i8 = type == TENON_DTYPE_I8;
    put_factor(a, name, (const int64_t[]){s.batch, s.m, s.k}, s.a_transposed);
    put_factor(b, name, (const int64_t[]){s.batch, s.k, s.n}, s.b_transposed);
    snprintf(line, 512, "%s a=%s b=%s d=%s:%" PRId64 "x%" PRId64 "x%" PRId64,
             is_i8 ? "gemm_int8" : "gemm", a, b, is_i8 ? "i32" : name, s.batch, s.m, s.n);
    return true;
}

static bool put_conv(int selection, uint32_t number, tenon_dtype type, char line[512])
{
    bench_conv_shape s;
    if (!bench_conv_shape_at((bench_conv_selection)selection, number, &s))
        return false;
    const char *t = tenon_dtype_string(type);
    const long long stride = s.stride, pad = s.pad;
    snprintf(line, 512,
             "conv x=%s:%lldx%lldx%lldx%lld w=%s:%lldx%lldx%lldx%lld y=%s:%lldx%lldx%lldx%lld "
             "groups=%lld stride=%lld,%lld pad_begin=%lld,%lld pad_end=%lld,%lld",
             t, (long long)s.n, (long long)s.c, (long long)s.h, (long long)s.w, t, (long long)s.k,
             (long long)(s.c / s.groups), (long long)s.r, (long long)s.s, t, (long long)s.n,
             (long long)s.k, (long long)bench_conv_output(&s, false),
             (long long)bench_conv_output(&s, true), (long long)s.groups, stride, stride, pad, pad,
             pad, pad);
    return true;
}

static const struct suite *suite_named(const char *name)
{
    for (size_t i = 0; i < SUITES; i++)
        if (strcmp(suites[i].name, name) == 0)
            return &suites[i];
    fprintf(stderr, "tenon tune: --suite: unknown suite \"%s\", allowed:", name);
    for (size_t i = 0; i < SUITES; i++)
        fprintf(stderr, " %s", suites[i].name);
    fputc('\n', stderr);
    return NULL;
}

bool tune_calls_add_suite(tune_calls *calls, const char *name, tenon_dtype type)
{
    char line[512];
    const struct suite *suite = suite_named(name);
    bool added = suite != NULL;
    for (uint32_t i = 0;
         added && (suite->is_conv ? put_conv : put_gemm)(suite->selection, i, type, line); i++)
        added = add_line(calls, line, type);
    return added;
}

void tune_calls_free(tune_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++)
        free(calls->texts[i]);
    free(calls->texts);
    free(calls->cases);
}
