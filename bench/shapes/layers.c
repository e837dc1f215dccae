/* Reads the cases of suites of packed weights, recurrent layers, collectives, data-parallel
 * training steps, and training steps of historic workloads. */
#include "reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_WIDTH 65536 /* hidden units, channels and units of a layer */
#define MOST_STEPS 65536
#define MOST_BYTES (INT64_C(1) << 36)

static bool add_packed(const bench_reader *reader, const bench_gemm_shape *shape,
                       bench_shape_suite *to)
{
    char name[BENCH_GEMM_NAME_SIZE], other[BENCH_GEMM_NAME_SIZE];
    bench_gemm_name(shape, name);
    for (uint32_t i = 0; i < to->count; i++) {
        bench_gemm_name(&to->gemm[i], other);
        if (strcmp(name, other) == 0)
            return bench_refuse(reader, "an earlier case has the same name and sizes");
    }
    if (!bench_tensor_fits(reader, "the factor a", 1, shape->m, shape->k) ||
        !bench_tensor_fits(reader, "the weights", 1, shape->k, shape->n) ||
        !bench_tensor_fits(reader, "the product", 1, shape->m, shape->n))
        return false;
    bench_gemm_shape *list = realloc(to->gemm, (to->count + 1) * sizeof *list);
    if (list == NULL)
        return bench_refuse(reader, "out of memory");
    to->gemm = list;
    to->gemm[to->count++] = *shape;
    return true;
}

bool bench_read_packed(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    static const char *const known[] = {"name", "source", "m", "n", "k", NULL};
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        bench_gemm_shape shape = {.batch = 1};
        bench_integers rows = {.count = 0};
        const json_t *owner = json_object_get(each, "m") != NULL ? each : suite;
        bench_set_case(reader, to->name, number);
        if (!bench_only_known(reader, each, known) || !bench_read_source(reader, each) ||
            !bench_read_text(reader, each, "name", true, &shape.what) ||
            !bench_read_integers(reader, owner, "m", 1, BENCH_MOST_SIZE, &rows) ||
            !bench_read_integer(reader, each, "n", true, 1, BENCH_MOST_SIZE, &shape.n) ||
            !bench_read_integer(reader, each, "k", true, 1, BENCH_MOST_SIZE, &shape.k))
            return false;
        for (size_t i = 0; i < rows.count; i++) {
            shape.m = rows.values[i];
            if (!add_packed(reader, &shape, to))
                return false;
        }
    }
    return true;
}

/* Adds a layer with each number of sequences and of steps. */
static bool add_layers(const bench_reader *reader, const char *name, bench_recurrent_shape layer,
                       const bench_integers *n, const bench_integers *steps, bench_shape_suite *to)
{
    for (size_t i = 0; i < n->count * steps->count; i++) {
        bench_shape_case shape = {.name = ""};
        layer.n = n->values[i / steps->count];
        layer.steps = steps->values[i % steps->count];
        shape.recurrent = layer;
        snprintf(shape.name, sizeof shape.name, "%.32s h%" PRId64 " n%" PRId64 " t%" PRId64, name,
                 layer.hidden, layer.n, layer.steps);
        if (!bench_tensor_fits(reader, "the result", layer.steps, layer.n, layer.hidden) ||
            !bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}

bool bench_read_recurrent(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    static const char *const known[] = {"name", "source", "cell", "hidden", "n", "steps", NULL};
    static const char *const cells[] = {
        [BENCH_CELL_LSTM] = "lstm", [BENCH_CELL_GRU] = "gru", [BENCH_CELL_TANH] = "tanh"};
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        uint32_t cell = 0;
        bench_recurrent_shape layer = {.hidden = 0};
        bench_integers n = {.count = 0}, steps = {.count = 0};
        const json_t *n_owner = json_object_get(each, "n") != NULL ? each : suite,
                     *steps_owner = json_object_get(each, "steps") != NULL ? each : suite;
        bench_set_case(reader, to->name, number);
        if (!bench_only_known(reader, each, known) || !bench_read_source(reader, each) ||
            !bench_read_text(reader, each, "name", true, &name) ||
            !bench_read_choice(reader, each, "cell", true, cells, 3, &cell) ||
            !bench_read_integer(reader, each, "hidden", true, 1, MOST_WIDTH, &layer.hidden) ||
            !bench_read_integers(reader, n_owner, "n", 1, BENCH_MOST_IMAGES, &n) ||
            !bench_read_integers(reader, steps_owner, "steps", 1, MOST_STEPS, &steps))
            return false;
        layer.cell = (bench_cell)cell;
        if (!add_layers(reader, name, layer, &n, &steps, to))
            return false;
    }
    return true;
}

static const char *const collective_names[BENCH_COLLECTIVES] = {
    [BENCH_ALL_REDUCE] = "all-reduce",         [BENCH_ALL_GATHER] = "all-gather",
    [BENCH_REDUCE_SCATTER] = "reduce-scatter", [BENCH_BROADCAST] = "broadcast",
    [BENCH_ALL_TO_ALL] = "all-to-all",
};

/* Adds a collective of one size with each number of members, as parts and as contexts. */
static bool add_collectives(const bench_reader *reader, const char *name,
                            bench_collective_shape *collective, const bench_integers *members,
                            bench_shape_suite *to)
{
    for (size_t i = 0; i < 2 * members->count; i++) {
        char size[BENCH_SIZE_TEXT];
        bench_shape_case shape = {.name = ""};
        collective->members = members->values[i / 2];
        collective->are_parts = i % 2 == 0;
        if (collective->bytes % (8 * collective->members) != 0)
            return bench_refuse(reader,
                                "\"bytes\" must be multiples of 8 for each of %" PRId64
                                " members, not %" PRId64,
                                collective->members, collective->bytes);
        shape.collective = *collective;
        bench_size_text(collective->bytes, size);
        snprintf(shape.name, sizeof shape.name, "%.40s %sB %" PRId64 " %s", name, size,
                 collective->members, collective->are_parts ? "parts" : "contexts");
        if (!bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}

bool bench_read_collectives(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    static const char *const known[] = {"name", "source", "collective", "bytes", "members", NULL};
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        uint32_t kind = 0;
        bench_integers bytes = {.count = 0}, members = {.count = 0};
        const json_t *bytes_owner = json_object_get(each, "bytes") != NULL ? each : suite,
                     *members_owner = json_object_get(each, "members") != NULL ? each : suite;
        bench_set_case(reader, to->name, number);
        if (!bench_only_known(reader, each, known) || !bench_read_source(reader, each) ||
            !bench_read_text(reader, each, "name", true, &name) ||
            !bench_read_choice(reader, each, "collective", true, collective_names,
                               BENCH_COLLECTIVES, &kind) ||
            !bench_read_integers(reader, bytes_owner, "bytes", 1, MOST_BYTES, &bytes) ||
            !bench_read_integers(reader, members_owner, "members", 2, BENCH_MOST_MEMBERS, &members))
            return false;
        for (size_t i = 0; i < bytes.count; i++) {
            bench_collective_shape collective = {.kind = (bench_collective_kind)kind,
                                                 .bytes = bytes.values[i]};
            if (!add_collectives(reader, name, &collective, &members, to))
                return false;
        }
    }
    return true;
}

/* Adds a training step with one number of rows, with each number of members. */
static bool add_scaling(const bench_reader *reader, const char *name, bench_scaling_shape *scaling,
                        const bench_integers *members, bench_shape_suite *to)
{
    for (size_t i = 0; i < members->count; i++) {
        bench_shape_case shape = {.name = ""};
        scaling->members = members->values[i];
        if (scaling->n % scaling->members != 0)
            return bench_refuse(reader,
                                "\"n\" must be multiples of %" PRId64 " members, not %" PRId64,
                                scaling->members, scaling->n);
        shape.scaling = *scaling;
        snprintf(shape.name, sizeof shape.name, "%.40s n%" PRId64 " %" PRId64 " members", name,
                 scaling->n, scaling->members);
        if (!bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}

bool bench_read_scaling(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    static const char *const known[] = {"name", "source", "widths", "n", "members", NULL};
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        bench_integers widths = {.count = 0}, n = {.count = 0}, members = {.count = 0};
        const json_t *n_owner = json_object_get(each, "n") != NULL ? each : suite,
                     *members_owner = json_object_get(each, "members") != NULL ? each : suite;
        bench_set_case(reader, to->name, number);
        if (!bench_only_known(reader, each, known) || !bench_read_source(reader, each) ||
            !bench_read_text(reader, each, "name", true, &name) ||
            !bench_read_integers(reader, each, "widths", 1, MOST_WIDTH, &widths) ||
            !bench_read_integers(reader, n_owner, "n", 1, BENCH_MOST_IMAGES, &n) ||
            !bench_read_integers(reader, members_owner, "members", 2, BENCH_MOST_MEMBERS, &members))
            return false;
        if (widths.count < 2)
            return bench_refuse(reader, "\"widths\" must have at least two integers");
        for (size_t i = 0; i < n.count; i++) {
            bench_scaling_shape scaling = {.width_count = widths.count, .n = n.values[i]};
            memcpy(scaling.widths, widths.values, sizeof scaling.widths);
            if (!add_scaling(reader, name, &scaling, &members, to))
                return false;
        }
    }
    return true;
}

/* Reads exactly `count` integers. */
static bool read_widths(const bench_reader *reader, const json_t *from, const char *name,
                        int64_t divisor, int64_t *widths, size_t count)
{
    bench_integers list = {.count = 0};
    if (!bench_read_integers(reader, from, name, divisor, MOST_WIDTH, &list))
        return false;
    if (list.count != count)
        return bench_refuse(reader, "\"%s\" must be an array of %zu integers", name, count);
    for (size_t i = 0; i < count; i++) {
        if (list.values[i] % divisor != 0)
            return bench_refuse(reader, "\"%s\" must be multiples of %" PRId64 ", not %" PRId64,
                                name, divisor, list.values[i]);
        widths[i] = list.values[i];
    }
    return true;
}

/* The smallest image after whose layers a pixel remains, and the most. */
#define LEAST_SIDE 67
#define MOST_SIDE  4096

static bool read_workload(const bench_reader *reader, const json_t *from,
                          bench_historic_shape *shape)
{
    static const char *const workloads[] = {
        [BENCH_ALEXNET] = "alexnet", [BENCH_BELIEF_NETWORK] = "dbn"};
    static const char *const alexnet[] = {"name", "source",  "workload",  "n",
                                          "side", "filters", "connected", NULL};
    static const char *const belief[] = {"name", "source", "workload", "n", "units", NULL};
    uint32_t workload = 0;
    if (!bench_read_choice(reader, from, "workload", true, workloads, 2, &workload) ||
        !bench_only_known(reader, from, workload == BENCH_ALEXNET ? alexnet : belief) ||
        !bench_read_source(reader, from) ||
        !bench_read_integer(reader, from, "n", true, 1, BENCH_MOST_IMAGES, &shape->n))
        return false;
    shape->workload = (bench_workload)workload;
    if (workload == BENCH_BELIEF_NETWORK)
        return read_widths(reader, from, "units", 1, shape->units, 4);
    return bench_read_integer(reader, from, "side", true, LEAST_SIDE, MOST_SIDE, &shape->side) &&
           read_widths(reader, from, "filters", 2, shape->filters, 5) && /* of two groups */
           read_widths(reader, from, "connected", 1, shape->connected, 3);
}

bool bench_read_historic(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *each;
    size_t number;
    json_array_foreach(json_object_get(suite, "cases"), number, each)
    {
        const char *name = NULL;
        bench_shape_case shape = {.name = ""};
        bench_set_case(reader, to->name, number);
        if (!bench_read_text(reader, each, "name", true, &name) ||
            !read_workload(reader, each, &shape.historic))
            return false;
        snprintf(shape.name, sizeof shape.name, "%.80s n%" PRId64, name, shape.historic.n);
        if (!bench_add_case(reader, &shape, to))
            return false;
    }
    return true;
}
