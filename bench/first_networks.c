#include "first.h"

#include "bench.h"
#include "networks/model.h"
#include "networks/networks.h"
#include "shapes/shapes.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the seconds from packing the weights to the first result, without drawing random values.
 */
static double first_inference(tenon_stream *stream, const bench_network *network)
{
    bench_session session = {.context = tenon_stream_context(stream), .stream = stream};
    bench_model *model = calloc(1, sizeof *model);
    const double start = bench_now();
    if (model == NULL || !bench_model_create(&session, network, 1, model) ||
        !bench_model_run(model, stream))
        exit(1);
    BENCH_CHECK(tenon_stream_finish(stream));
    const double took = bench_now() - start - model->drawing;
    bench_model_destroy(model);
    free(model);
    return took;
}

static void measure_network(const void *user, double *times)
{
    tenon_stream *stream = bench_open();
    tenon_context *context = tenon_stream_context(stream);
    times[0] = first_inference(stream, user);
    tenon_context_retain(context);
    tenon_stream_destroy(stream);
    BENCH_CHECK(tenon_context_keep(context));
    tenon_context_release(context);
}

/* Prints and adds the times of the first inference of a network. */
static void compare(const bench_caches *caches, const bench_network_shape *shape,
                    bench_first *first)
{
    const bench_measurement inference = {
        .measure = measure_network, .user = shape->layers, .count = 1};
    const int rounds = first->rounds;
    double cold[BENCH_MOST_ROUNDS], warm[BENCH_MOST_ROUNDS];
    char name[BENCH_NAME_SIZE];
    for (int round = 0; round < rounds; round++) {
        bench_empty_folder(caches->store);
        bench_empty_folder(caches->driver);
        bench_run_process(caches, &inference, &cold[round]);
        bench_empty_folder(caches->driver);
        bench_run_process(caches, &inference, &warm[round]);
    }
    snprintf(name, sizeof name, "first inference of %s, 1 image", shape->network);
    bench_first_add(first, name, "cold", cold);
    bench_first_add(first, name, "warm", warm);
    printf("%-14s  %8.1f  %8.1f\n", shape->network, 1e3 * bench_median(cold, rounds),
           1e3 * bench_median(warm, rounds));
}

void bench_first_networks(const bench_caches *caches, const char *filter, bench_first *first)
{
    const bench_shape_suite *suite =
        bench_shapes_read_built_in() ? bench_shape_suite_named("networks") : NULL;
    printf("first inference with 1 image, milliseconds, medians of %d rounds\n%-14s  %8s  %8s\n",
           first->rounds, "network", "cold", "warm");
    for (uint32_t i = 0; suite != NULL && i < suite->count; i++) {
        const bench_network_shape *shape = &suite->cases[i].network;
        if (shape->n == 1 && !shape->trains && strstr(shape->network, filter) != NULL)
            compare(caches, shape, first);
    }
}
