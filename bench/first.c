/* tenon-bench first: measures the cost of first use, from an existing context on: a product of
 * 512x512x512, the first 3x3 convolution after it, all plans of a forward pass of ResNet-50 with 8
 * images, and the same plans once more; and, in a second table, the first inference of whole
 * networks with 1 image: from dense filters in memory to the first result. Each row is measured in
 * its own process, with these caches:
 *
 *   cold    all empty: Tenon's store and the driver's cache
 *   driver  Tenon's store off, the driver's cache full: the state without a store
 *   warm    Tenon's store full, the driver's cache empty
 *   exited  as warm, but the store was left by a process that made the first two calls, was idle
 *           for two seconds, and returned from main without releasing anything
 *   aborted as exited, but the process ended by abort, as after an uncaught exception
 *
 * The figures are medians of several rounds, each of which starts with the cold run. Results are
 * compared with sums in double, outside the measured time. */
#define _GNU_SOURCE
#include "first.h"

#include "device.h"
#include "environment.h"
#include "report.h"
#include "session.h"
#include "shapes/shapes.h"
#include "timing.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE   512
#define IMAGES 8
#define IDLE   2 /* seconds */

/* The end of a measured process: with everything released; the same after filling the store; or
 * after two calls and an idle period, with nothing released. */
typedef enum ending { RELEASED, FILLED, EXITED, ABORTED } ending;

enum { PRODUCT, CONVOLUTION, NETWORK, NETWORK_AGAIN, MEASURES };

static const char *const names[MEASURES] = {"first product 512x512x512", "first 3x3 convolution",
                                            "plans of ResNet-50, 8 images", "the same again"};

/* Compares a few rows of the product with sums in double; the bound is that of a sum of SIZE
 * products of numbers up to 1. */
static void compare_product(const float *a, const float *b, const float *d)
{
    for (int row = 0; row < SIZE; row += 101)
        for (int col = 0; col < SIZE; col++) {
            double sum = 0;
            for (int k = 0; k < SIZE; k++)
                sum += (double)a[row * SIZE + k] * b[k * SIZE + col];
            if (!(fabs(sum - d[row * SIZE + col]) <= SIZE * SIZE * 6e-8)) {
                fprintf(stderr, "tenon-bench first: element %d, %d is %g, must be %g\n", row, col,
                        (double)d[row * SIZE + col], sum);
                exit(1);
            }
        }
}

static double first_product(tenon_stream *stream)
{
    float *a_values, *b_values, *d_values;
    tenon_tensor a = bench_tensor(stream, SIZE, SIZE, &a_values);
    tenon_tensor b = bench_tensor(stream, SIZE, SIZE, &b_values);
    tenon_tensor d = bench_tensor(stream, SIZE, SIZE, &d_values);
    const double start = bench_now();
    BENCH_CHECK(tenon_gemm(stream, NULL, &a, &b, NULL, NULL, &d, NULL));
    BENCH_CHECK(tenon_stream_finish(stream));
    const double took = bench_now() - start;
    BENCH_CHECK(tenon_tensor_download(stream, &d, d_values, SIZE * SIZE * sizeof *d_values, NULL));
    compare_product(a_values, b_values, d_values);
    return took;
}

static tenon_tensor view(uint32_t rank, const int64_t *shape)
{
    return tenon_tensor_view(TENON_DTYPE_F32, rank, shape);
}

static void plan_conv(tenon_context *context, const bench_conv_shape *s)
{
    const int64_t x_shape[] = {s->n, s->c, s->h, s->w}, bias_shape[] = {s->k},
                  w_shape[] = {s->k, s->c / s->groups, s->r, s->s},
                  y_shape[] = {s->n, s->k, bench_conv_output(s, false), bench_conv_output(s, true)};
    const tenon_tensor x = view(4, x_shape), w = view(4, w_shape), y = view(4, y_shape),
                       bias = view(1, bias_shape);
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_plan *plan;
    params.groups = s->groups;
    params.geometry = bench_conv_geometry(s);
    params.epilogue.activation.kind = TENON_ACTIVATION_RELU;
    BENCH_CHECK(tenon_conv_forward_plan(context, &params, &x, &w, NULL, &bias, &y, &plan));
    tenon_plan_release(plan);
}

static void plan_pool(tenon_context *context, bool is_last)
{
    const int64_t first_x[] = {IMAGES, 64, 112, 112}, first_y[] = {IMAGES, 64, 56, 56},
                  last_x[] = {IMAGES, 2048, 7, 7}, last_y[] = {IMAGES, 2048, 1, 1};
    const tenon_tensor x = view(4, is_last ? last_x : first_x),
                       y = view(4, is_last ? last_y : first_y);
    tenon_pool_params params = TENON_POOL_PARAMS_INIT;
    tenon_plan *plan;
    if (is_last) {
        params.flags = TENON_POOL_GLOBAL;
        params.kind = TENON_POOL_AVERAGE;
    } else {
        params.window[0] = params.window[1] = 3;
        params.geometry.stride[0] = params.geometry.stride[1] = 2;
        params.geometry.pad_begin[0] = params.geometry.pad_begin[1] = 1;
        params.geometry.pad_end[0] = params.geometry.pad_end[1] = 1;
    }
    BENCH_CHECK(tenon_pool_forward_plan(context, &params, &x, &y, NULL, &plan));
    tenon_plan_release(plan);
}

static void plan_classifier(tenon_context *context)
{
    const int64_t x_shape[] = {IMAGES, 2048}, w_shape[] = {2048, 1000}, y_shape[] = {IMAGES, 1000},
                  bias_shape[] = {1000};
    const tenon_tensor x = view(2, x_shape), w = view(2, w_shape), y = view(2, y_shape),
                       bias = view(1, bias_shape);
    tenon_plan *plan;
    BENCH_CHECK(tenon_gemm_plan(context, NULL, &x, &w, NULL, &bias, &y, &plan));
    tenon_plan_release(plan);
}

static double plan_network(tenon_context *context)
{
    const bench_shape_suite *suite =
        bench_shapes_read_built_in() ? bench_shape_suite_named("conv-cpu") : NULL;
    const double start = bench_now();
    for (uint32_t i = 0; suite != NULL && i < suite->count; i++)
        if (suite->conv[i].n == IMAGES && strcmp(suite->conv[i].network, "resnet50") == 0)
            plan_conv(context, &suite->conv[i]);
    plan_pool(context, false);
    plan_pool(context, true);
    plan_classifier(context);
    return bench_now() - start;
}

/* Compares sums of ones: each pixel is the number of taps inside the image. */
static void compare_convolution(const float *y, int channels, int size)
{
    for (int i = 0; i < size * size; i++) {
        const int rows = i / size % (size - 1) == 0 ? 2 : 3,
                  cols = i % size % (size - 1) == 0 ? 2 : 3;
        const double sum = channels * rows * cols;
        if (!(fabs(y[i] - sum) <= 1e-3 * sum)) {
            fprintf(stderr, "tenon-bench first: pixel %d is %g, must be %g\n", i, (double)y[i],
                    sum);
            exit(1);
        }
    }
}

static double first_convolution(tenon_context *context, tenon_stream *stream)
{
    enum { CHANNELS = 64, PIXELS = 56, COUNT = CHANNELS * PIXELS * PIXELS };
    static float values[COUNT];
    const bench_conv_shape s = {"", 1, CHANNELS, PIXELS, PIXELS, CHANNELS, 3, 3, 1, 1, 1};
    const int64_t x_shape[] = {s.n, s.c, s.h, s.w}, w_shape[] = {s.k, s.c, s.r, s.s};
    tenon_tensor x, w, y;
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.geometry = bench_conv_geometry(&s);
    BENCH_CHECK(tenon_tensor_create(context, TENON_DTYPE_F32, 4, x_shape, &x));
    BENCH_CHECK(tenon_tensor_create(context, TENON_DTYPE_F32, 4, w_shape, &w));
    BENCH_CHECK(tenon_tensor_create(context, TENON_DTYPE_F32, 4, x_shape, &y));
    for (int i = 0; i < COUNT; i++)
        values[i] = 1;
    BENCH_CHECK(tenon_tensor_upload(stream, values, sizeof values, &x, NULL));
    BENCH_CHECK(
        tenon_tensor_upload(stream, values, CHANNELS * CHANNELS * 9 * sizeof *values, &w, NULL));
    const double start = bench_now();
    BENCH_CHECK(tenon_conv_forward(stream, &params, &x, &w, NULL, NULL, &y, NULL));
    BENCH_CHECK(tenon_stream_finish(stream));
    const double took = bench_now() - start;
    BENCH_CHECK(tenon_tensor_download(stream, &y, values, sizeof values, NULL));
    compare_convolution(values, CHANNELS, PIXELS);
    return took;
}

/* Measures in the child process; `user` is its ending. */
static void measure(const void *user, double *times)
{
    const ending end = *(const ending *)user;
    tenon_stream *stream = bench_open();
    tenon_context *context = tenon_stream_context(stream);
    times[PRODUCT] = first_product(stream);
    times[CONVOLUTION] = first_convolution(context, stream);
    if (end == EXITED || end == ABORTED)
        return;
    times[NETWORK] = plan_network(context);
    times[NETWORK_AGAIN] = plan_network(context);
    tenon_context_retain(context);
    tenon_stream_destroy(stream);
    if (end == FILLED)
        BENCH_CHECK(tenon_context_keep(context));
    tenon_context_release(context);
}

static void end_idle(const void *user)
{
    sleep(IDLE);
    if (*(const ending *)user == ABORTED)
        abort();
}

/* Runs a measurement in a process of its own. */
static void run(const char *store, const char *driver, ending end, double times[MEASURES])
{
    const bench_caches caches = {store, driver};
    const bench_measurement calls = {.measure = measure,
                                     .done = end == EXITED || end == ABORTED ? end_idle : NULL,
                                     .user = &end,
                                     .count = MEASURES,
                                     .signal = end == ABORTED ? SIGABRT : 0};
    bench_run_process(&caches, &calls, times);
}

void bench_first_add(bench_first *first, const char *name, const char *caches, const double *times)
{
    double sorted[BENCH_MOST_ROUNDS];
    json_t *rounds = json_array();
    for (int i = 0; i < first->rounds; i++) {
        sorted[i] = times[i];
        json_array_append_new(rounds, json_real(1e9 * times[i]));
    }
    json_array_append_new(
        first->results, json_pack("{s:i, s:s, s:s, s:s, s:f, s:o}", "device", 0, "suite", "first",
                                  "case", name, "caches", caches, "median_ns",
                                  1e9 * bench_median(sorted, first->rounds), "rounds_ns", rounds));
}

/* Prints and adds the first `measures` results of a state of the caches. */
static void add_row(bench_first *first, const char *caches, int measures,
                    double times[MEASURES][BENCH_MOST_ROUNDS])
{
    printf("%-8s", caches);
    for (int i = 0; i < measures; i++) {
        bench_first_add(first, names[i], caches, times[i]);
        printf("  %*.1f", (int)strlen(names[i]), 1e3 * bench_median(times[i], first->rounds));
    }
    printf("\n");
}

static void add(double times[MEASURES][BENCH_MOST_ROUNDS], int round, const double *more)
{
    for (int i = 0; i < MEASURES; i++)
        times[i][round] = more[i];
}

/* Measures the first calls of a process whose predecessor ended in the given way. */
static void measure_after(ending end, const char *store, const char *driver, double times[MEASURES])
{
    bench_empty_folder(store);
    bench_empty_folder(driver);
    run(store, driver, end, times);
    bench_empty_folder(driver);
    run(store, driver, EXITED, times);
}

/* Measures and prints the first table. */
static void measure_calls(const bench_caches *caches, bench_first *first)
{
    static double exited[MEASURES][BENCH_MOST_ROUNDS], aborted[MEASURES][BENCH_MOST_ROUNDS];
    static double cold[MEASURES][BENCH_MOST_ROUNDS], warm[MEASURES][BENCH_MOST_ROUNDS],
        driver_full[MEASURES][BENCH_MOST_ROUNDS];
    const char *store = caches->store, *driver = caches->driver;
    const int rounds = first->rounds;
    double times[MEASURES];
    printf("milliseconds, medians of %d rounds\n%-8s", rounds, "caches");
    for (int i = 0; i < MEASURES; i++)
        printf("  %s", names[i]);
    printf("\n");
    for (int round = 0; round < rounds; round++) {
        bench_empty_folder(store);
        bench_empty_folder(driver);
        run(store, driver, FILLED, times);
        add(cold, round, times);
        run(NULL, driver, RELEASED, times);
        add(driver_full, round, times);
        bench_empty_folder(driver);
        run(store, driver, RELEASED, times);
        add(warm, round, times);
        measure_after(EXITED, store, driver, times);
        add(exited, round, times);
        measure_after(ABORTED, store, driver, times);
        add(aborted, round, times);
    }
    add_row(first, "cold", MEASURES, cold);
    add_row(first, "driver", MEASURES, driver_full);
    add_row(first, "warm", MEASURES, warm);
    add_row(first, "exited", CONVOLUTION + 1, exited);
    add_row(first, "aborted", CONVOLUTION + 1, aborted);
    printf("\n");
}

/* Writes the file of --json. The device is opened only now, because a process that uses OpenCL must
 * not be copied. */
static bool write_json(const bench_options *o, int argc, char **argv, bench_first *first)
{
    bench_session session = {.options = o};
    bench_file file = bench_file_begin(o, argc, argv);
    bool well = bench_open_session(&session);
    if (well) {
        json_array_append_new(file.devices, bench_json_device(&session));
        well = bench_json_write(
            o->json, bench_json_document(&file, true, json_incref(first->results),
                                         json_pack("{s:[], s:[]}", "ratios", "slowest")));
    }
    bench_close_session(&session);
    bench_file_end(&file);
    return well;
}

/* Measures with caches in a temporary folder. Returns false if there is none. */
static bool measure_all(const char *network, bench_first *first)
{
    char store[PATH_MAX + 16], driver[PATH_MAX + 16];
    const bench_caches caches = {store, driver};
    const char *folder = bench_temporary_folder();
    if (folder == NULL)
        return false;
    snprintf(store, sizeof store, "%s/store", folder);
    snprintf(driver, sizeof driver, "%s/driver", folder);
    if (network == NULL)
        measure_calls(&caches, first);
    bench_first_networks(&caches, network != NULL ? network : "", first);
    return true;
}

/* Reads the number of rounds. Returns false, after a message, if it is not allowed. */
static bool read_rounds(const char *text, int *rounds)
{
    char end;
    if (text == NULL ||
        (sscanf(text, "%d%c", rounds, &end) == 1 && *rounds >= 1 && *rounds <= BENCH_MOST_ROUNDS))
        return true;
    (void)command_line_wrong(&bench_first_command, "ROUNDS: \"%s\" is not an integer from 1 to %d",
                             text, BENCH_MOST_ROUNDS);
    return false;
}

/* Runs the measurements and writes the file. Returns the exit status. */
static int run_with(const bench_options *o, int argc, char **argv, int rounds, const char *network)
{
    bench_first first = {.rounds = rounds, .results = json_array()};
    bool well = measure_all(network, &first);
    if (well && json_array_size(first.results) == 0) {
        bench_complain("first: no network has a name with \"%s\"", network);
        well = false;
    }
    if (well && o->json != NULL)
        well = write_json(o, argc, argv, &first);
    json_decref(first.results);
    return well ? 0 : 1;
}

static int run_command(int argc, char **argv)
{
    bench_options o = {.workspace = TENON_WORKSPACE_DEFAULT, .peers = "none"};
    command_line line;
    int rounds = 3;
    const command_option known[] = {
        {"json", OPTION_TEXT, &o.json, "FILE", "write the results as JSON"},
        {NULL},
    };
    if (!command_line_read(&bench_first_command, argc, argv, known, 2, &line))
        return line.status;
    if (!read_rounds(line.operands[0], &rounds) || !bench_suites_load(NULL) ||
        (o.json != NULL && !bench_can_write(o.json)))
        return BENCH_WRONG_USE;
    bench_prepare_environment(argv);
    return run_with(&o, argc, argv, rounds, line.count > 1 ? line.operands[1] : NULL);
}

const command bench_first_command = {
    .name = "first",
    .summary = "measure the cost of first use, with empty and with full caches",
    .run = run_command,
    .arguments = "[ROUNDS [NETWORK]]",
    .details =
        "Each row is measured in processes of their own with caches of their own: cold: all\n"
        "empty; driver: Tenon's store off, the driver's cache full; warm: Tenon's store full,\n"
        "the driver's cache empty; exited and aborted: as warm, but the store was left by a\n"
        "process that released nothing. Prints medians of ROUNDS rounds (default 3); with\n"
        "NETWORK, only the first inference of the networks whose names contain it.\n",
};
