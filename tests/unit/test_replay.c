/* Replays choices on processors for which `tenon-bench regret --json` recorded the time of every
 * candidate. Needs neither these processors nor a clock. */
#include "common/testing.h"

#include "check/case.h"
#include "ops/registry.h"
#include "runtime/probe/constants.h"
#include "runtime/context/target.h"

#include <jansson.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CASES 512

static const char *folder; /* of the recorded files */

/* A product as named in a file: "words [BATCHx ]MxNxK [a'][b']", where a' and b' are transposed. */
typedef struct product {
    int batch, m, n, k;
    bool a_is_transposed, b_is_transposed;
} product;

static bool read_product(const char *name, product *p)
{
    const char *at = name + strlen(name);
    *p = (product){.batch = 1};
    p->a_is_transposed = strstr(name, "a'") != NULL;
    p->b_is_transposed = strstr(name, "b'") != NULL;
    /* Finds the last word of three numbers, and the batch before it. */
    while (at > name && sscanf(at, " %dx%dx%d", &p->m, &p->n, &p->k) != 3)
        at--;
    while (at > name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (sscanf(at, "%dx%dx%d", &p->m, &p->n, &p->k) != 3)
        return false;
    while (at > name && (at[-1] == ' ' || at[-1] == 'x'))
        at--;
    while (at > name && at[-1] >= '0' && at[-1] <= '9')
        at--;
    int length = 0;
    if (sscanf(at, "%dx %n", &p->batch, &length) != 1 || length == 0)
        p->batch = 1;
    return true;
}

static void write_operand(char *text, size_t size, int batch, int rows, int columns,
                          bool is_transposed)
{
    int used = 0;
    if (batch > 1)
        used = snprintf(text, size, "%dx", batch);
    used += snprintf(text + used, size - (size_t)used, "%dx%d", rows, columns);
    if (is_transposed && batch > 1)
        snprintf(text + used, size - (size_t)used, "/%d,1,%d", rows * columns, rows);
    else if (is_transposed)
        snprintf(text + used, size - (size_t)used, "/1,%d", rows);
}

static void write_product(char *line, size_t size, const char *name)
{
    char a[64], b[64], d[64];
    product p;
    if (!read_product(name, &p))
        fail_msg("%s does not name a product", name);
    write_operand(a, sizeof a, p.batch, p.m, p.k, p.a_is_transposed);
    write_operand(b, sizeof b, p.batch, p.k, p.n, p.b_is_transposed);
    write_operand(d, sizeof d, p.batch, p.m, p.n, false);
    snprintf(line, size, "gemm a=T:%s b=T:%s d=T:%s", a, b, d);
}

typedef struct convolution {
    int channels, side, filters, filter, stride, images;
    bool is_depthwise;
} convolution;

/* A convolution as named in a file: "network CHANNELS@SIDE kFILTERS RxS[/STRIDE] nIMAGES", with
 * "dw" for the filters of a depthwise one. */
static bool read_convolution(const char *name, convolution *c)
{
    char filters[16], filter[16];
    *c = (convolution){.stride = 1};
    if (sscanf(name, "%*s %d@%d %15s %15s n%d", &c->channels, &c->side, filters, filter,
               &c->images) != 5)
        return false;
    c->is_depthwise = strcmp(filters, "dw") == 0;
    c->filters = c->channels;
    return (c->is_depthwise || sscanf(filters, "k%d", &c->filters) == 1) &&
           sscanf(filter, "%dx%*d/%d", &c->filter, &c->stride) >= 1;
}

/* Returns the size of y: padded so that y is as large as x if the stride is 1. */
static int output_side(const convolution *c)
{
    return (c->side + 2 * (c->filter / 2) - c->filter) / c->stride + 1;
}

static void write_convolution(char *line, size_t size, const char *name)
{
    convolution c;
    if (!read_convolution(name, &c))
        fail_msg("%s does not name a convolution", name);
    const int pad = c.filter / 2, out = output_side(&c);
    snprintf(line, size,
             "conv x=T:%dx%dx%dx%d w=T:%dx%dx%dx%d y=T:%dx%dx%dx%d stride=%d,%d "
             "pad_begin=%d,%d pad_end=%d,%d groups=%d",
             c.images, c.channels, c.side, c.side, c.filters, c.is_depthwise ? 1 : c.channels,
             c.filter, c.filter, c.images, c.filters, out, out, c.stride, c.stride, pad, pad, pad,
             pad, c.is_depthwise ? c.channels : 1);
}

/* Writes the solver that would be chosen, with its parameters. */
static void choose(tenon_context *context, const char *suite, const char *name, char *solver,
                   size_t size)
{
    char line[512], text[1024];
    tenon_plan *plan = NULL;
    tn_case c;
    if (strcmp(suite, "gemm-cpu") == 0)
        write_product(line, sizeof line, name);
    else
        write_convolution(line, sizeof line, name);
    memset(&c, 0, sizeof c);
    if (tn_case_parse_line(line, TENON_DTYPE_F32, &c) != TENON_OK ||
        tn_case_plan(context, &c, NULL, &plan) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    tenon_plan_describe(plan, text, sizeof text);
    tenon_plan_release(plan);
    snprintf(solver, size, "%.*s", (int)strcspn(text, " ;("), text);
}

/* Returns the recorded nanoseconds of a solver. If its parameters were not timed, returns the time
 * with the first parameters that were; 0 if it was not timed at all. */
static double time_of(const json_t *measured, const char *solver)
{
    double first = 0;
    const size_t name = strcspn(solver, ":");
    for (size_t i = 0; i < json_array_size(measured); i++) {
        const json_t *m = json_array_get(measured, i);
        const char *other = json_string_value(json_object_get(m, "solver"));
        const double time = json_number_value(json_object_get(m, "median_ns"));
        if (strcmp(other, solver) == 0)
            return time;
        if (first == 0 && strncmp(other, solver, name) == 0 && strcspn(other, ":") == name)
            first = time;
    }
    return first;
}

static double best_of(const json_t *measured)
{
    double best = INFINITY;
    for (size_t i = 0; i < json_array_size(measured); i++)
        best = fmin(best,
                    json_number_value(json_object_get(json_array_get(measured, i), "median_ns")));
    return best;
}

static json_t *read_file(const char *name)
{
    char path[1024];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *file = json_load_file(path, 0, &error);
    if (file == NULL)
        fail_msg("%s: %s", path, error.text);
    return file;
}

/* Creates a target context for the device of a file. */
static tenon_context *context_of(const json_t *file)
{
    const json_t *device = json_object_get(file, "device");
    const char *kind = json_string_value(json_object_get(device, "kind"));
    const json_int_t units = json_integer_value(json_object_get(device, "compute_units"));
    tenon_context *context;
    assert_int_equal(tn_target_context(tn_device_kind_named(kind), NULL, NULL, &context), TENON_OK);
    context->device.info.compute_units = (uint32_t)units;
    context->device.model.units = (double)units;
    context->device.model.cache_size =
        (uint64_t)json_integer_value(json_object_get(device, "cache"));
    return context;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Times of the choices relative to those of the best candidates. */
typedef struct regret {
    double median, late, most; /* `late`: the 95th percentile */
} regret;

static regret regret_of(double *ratios, size_t count)
{
    assert_true(count > 0);
    qsort(ratios, count, sizeof *ratios, compare);
    return (regret){ratios[count / 2], ratios[(size_t)ceil(0.95 * (double)count) - 1],
                    ratios[count - 1]};
}

static bool is_of(const json_t *result, const char *suite)
{
    return strcmp(json_string_value(json_object_get(result, "suite")), suite) == 0 &&
           strcmp(json_string_value(json_object_get(result, "dtype")), "f32") == 0;
}

/* Returns true if the kernels of a case are those that the file measured. The files are older than
 * the multiplication of narrow last panels vector by vector (multiply_narrow in
 * gemm/cpu_tile.clh), which made products with such a panel faster. */
static bool is_current(const char *title)
{
    enum { WIDEST_PANEL = 64 };
    product p;
    convolution c;
    int columns = 0;
    if (read_product(title, &p))
        columns = p.n;
    else if (read_convolution(title, &c) && !c.is_depthwise)
        columns = output_side(&c) * output_side(&c); /* of the product of an image */
    const int last = columns % WIDEST_PANEL;
    return columns < WIDEST_PANEL || last == 0 || last > WIDEST_PANEL / 2;
}

/* Computes the regret of the choices when the file was written, and of the choices of `context`
 * now. */
static void compare_choices(const json_t *file, const char *suite, tenon_context *context,
                            regret *then, regret *now)
{
    static double old[MOST_CASES], new[MOST_CASES];
    const json_t *list = json_object_get(file, "results");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *result = json_array_get(list, i);
        const char *title = json_string_value(json_object_get(result, "case"));
        const json_t *measured = json_object_get(result, "measured");
        const double best = best_of(measured);
        char solver[128];
        if (!is_of(result, suite) || !is_current(title))
            continue;
        assert_true(count < MOST_CASES);
        old[count] = time_of(measured, json_string_value(json_object_get(result, "chosen"))) / best;
        choose(context, suite, title, solver, sizeof solver);
        new[count] = time_of(measured, solver) / best;
        if (old[count] < 1 || new[count] < 1)
            fail_msg("%s: %s was not timed", title, solver);
        print_message("%-36s %.2f, was %.2f: %s\n", title, new[count], old[count], solver);
        count++;
    }
    *then = regret_of(old, count);
    *now = regret_of(new, count);
}

/* Replays a suite of a file with the table's constants (`speed` is NULL) or a processor's. Choices
 * must be no worse than when the file was written; the worst must be better if `improves`. */
static void replay(const char *name, const char *suite, const tn_host_speed *speed, bool improves)
{
    json_t *file = read_file(name);
    tenon_context *context = context_of(file);
    regret then, now;
    tn_device_kind own;
    if (speed != NULL) {
        tn_constants_apply(context->device.model.kind, speed, &own);
        context->device.model.kind = &own;
        context->device.model.cache_size = speed->cache_size;
    }
    compare_choices(file, suite, context, &then, &now);
    print_message(
        "%s, %s: median %.3f, 95th percentile %.3f, largest %.3f; were %.3f, %.3f, %.3f\n", name,
        suite, now.median, now.late, now.most, then.median, then.late, then.most);
    assert_true(now.median <= then.median && now.late <= then.late && now.most <= then.most);
    assert_true(!improves || now.late < then.late);
    tenon_context_release(context);
    json_decref(file);
}

#define EPYC       "2026-11-23-cpu-regret.json"
#define INTEL_GEMM "2026-11-23-intel-480MiB-gemm-cpu-regret.json"
#define INTEL_CONV "2026-11-23-intel-480MiB-conv-cpu-regret.json"

TEST(choices_by_the_table)
{
    replay(EPYC, "gemm-cpu", NULL, false);
    replay(EPYC, "conv-cpu", NULL, false);
    replay(INTEL_GEMM, "gemm-cpu", NULL, true);
    replay(INTEL_CONV, "conv-cpu", NULL, false);
}

/* Measured three times on two cores of the same kind of processor (CPU family 6, model 207), under
 * load from other programs. */
static const tn_host_speed intel[] = {{90.3, 21.2, 54.4, 2 << 20, 0.48, 0.68},
                                      {81.6, 17.8, 16.9, 16 << 20, 0.71, 0.84},
                                      {57.8, 16.2, 45.3, 2 << 20, 0.65, 0.81}};

TEST(choices_by_measured_constants)
{
    for (size_t i = 0; i < sizeof intel / sizeof *intel; i++)
        replay(INTEL_GEMM, "gemm-cpu", &intel[i], true);
}

/* Speeds of that processor without other programs, measured by tenon-bench: 31 bytes per nanosecond
 * from memory; per core, 170 from up to 8 MiB and 67 from 32 MiB. Whatever part of the cache other
 * guests leave, the choices for products are better. */
TEST(choices_for_any_cache_share)
{
    for (uint64_t size = 1; size <= 128; size *= 2) {
        const tn_host_speed speed = {
            .rate = 90.3,
            .memory = 31,
            .cache = size <= 32 ? 170 : 67, /* sets of a quarter of `size` are read at this speed */
            .cache_size = size << 20,
            .pages = 0.6,
            .unaligned = 0.75};
        replay(INTEL_GEMM, "gemm-cpu", &speed, true);
    }
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : "bench/results";
    return test_run_group();
}
