/* Collectives of a group in one process. The members are contexts of the device, or parts of it.
 * The size is that of the longest tensor of a member, and the bytes of a case are those that must
 * move to the members. */
#include "peers/peers.h"
#include "peers/pool.h"
#include "shapes/shapes.h"
#include "timing.h"

#include "base/dtype.h"
#include "check/bounds.h"
#include "check/host.h"

#include <tenon/group.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED      (1 << 16) /* elements of a member's result that are compared, at most */
#define MEMORY_SHARE 0.75      /* of the device's memory may be used */
#define TRIALS       5         /* of the peer's numbers of threads */
#define PERIOD       ((int64_t)1048573) /* of the values: a prime */

typedef struct collective {
    bench_collective_kind kind;
    uint32_t count; /* of members */
    bool are_parts;
    tenon_dtype dtype;
    int64_t elements; /* of the longest tensor */
    size_t bytes;     /* of that tensor */
    tenon_context *contexts[BENCH_MOST_MEMBERS];
    tenon_stream *streams[BENCH_MOST_MEMBERS];
    tenon_group *group;
    tenon_tensor whole[BENCH_MOST_MEMBERS]
                      [2]; /* memory of the operands; the second one may be empty */
    tenon_tensor x[BENCH_MOST_MEMBERS], y[BENCH_MOST_MEMBERS];
    unsigned char *values[BENCH_MOST_MEMBERS]; /* what the first memory of each member contains */
    unsigned char *copied[BENCH_MOST_MEMBERS]; /* written by the peer */
    int threads;                               /* of the peer */
} collective;

static collective collective_of(const bench_collective_shape *s, tenon_dtype dtype)
{
    return (collective){.kind = s->kind,
                        .count = (uint32_t)s->members,
                        .are_parts = s->are_parts,
                        .dtype = dtype,
                        .elements = s->bytes / (int64_t)tenon_dtype_size(dtype),
                        .bytes = (size_t)s->bytes};
}

static bool is_in_place(const collective *c)
{
    return c->kind == BENCH_ALL_GATHER || c->kind == BENCH_BROADCAST;
}

/* Returns the number of shares, each 1 / count of the longest tensor, that must move to the members
 * from others, or from their own other tensor. */
static uint32_t shares_of(const collective *c)
{
    const uint32_t one = c->count * (c->count - 1);
    return c->kind == BENCH_ALL_REDUCE   ? 2 * one
           : c->kind == BENCH_ALL_TO_ALL ? c->count * c->count
                                         : one;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const collective *c = data;
    (void)stream;
    (void)turn;
    switch (c->kind) {
    case BENCH_ALL_REDUCE:
        return BENCH_WELL(tenon_group_all_reduce(c->group, TENON_GROUP_SUM, c->x, c->y, NULL));
    case BENCH_ALL_GATHER:
        return BENCH_WELL(tenon_group_all_gather(c->group, c->x, c->y, NULL));
    case BENCH_REDUCE_SCATTER:
        return BENCH_WELL(tenon_group_reduce_scatter(c->group, TENON_GROUP_SUM, c->x, c->y, NULL));
    case BENCH_BROADCAST:
        return BENCH_WELL(tenon_group_broadcast(c->group, 0, c->x, c->y, NULL));
    default:
        return BENCH_WELL(tenon_group_all_to_all(c->group, c->x, c->y, NULL));
    }
}

static bool finish(void *data)
{
    const collective *c = data;
    bool well = BENCH_WELL(tenon_group_wait(c->group));
    for (uint32_t m = 0; well && m < c->count; m++)
        well = BENCH_WELL(tenon_stream_finish(c->streams[m]));
    return well;
}

/* Copies one of the parts of each share. */
static void copy_part(void *data, int thread)
{
    const collective *c = data;
    const size_t share = c->bytes / c->count, begin = share * (size_t)thread / (size_t)c->threads,
                 end = share * ((size_t)thread + 1) / (size_t)c->threads;
    for (uint32_t i = 0; i < shares_of(c); i++) {
        const size_t offset = i / c->count % c->count * share + begin;
        memcpy(c->copied[i % c->count] + offset, c->values[(i + 1) % c->count] + offset,
               end - begin);
    }
}

/* The peer: copies as many shares on the host, by memcpy. */
static bool copy(void *data, tenon_stream *stream, int turn)
{
    const collective *c = data;
    (void)stream;
    (void)turn;
    bench_pool_run(c->threads, copy_part, data);
    return true;
}

/* Returns the seconds of a copy by a number of threads: the least of several. */
static double copying_time(collective *c, int threads)
{
    double least = INFINITY;
    c->threads = threads;
    for (int i = 0; i < TRIALS; i++) {
        const double start = bench_now();
        (void)copy(c, NULL, i);
        least = fmin(least, bench_now() - start);
    }
    return least;
}

/* Sets up the peer with one thread or one per processor, whichever is faster. */
static bool copy_way(collective *c, bench_way *way)
{
    const int most = bench_pool_threads();
    const bool by_all = copying_time(c, most) < copying_time(c, 1);
    c->threads = by_all ? most : 1;
    *way = (bench_way){"memcpy", copy, true, c, NULL, by_all ? "all threads" : "1 thread", NULL};
    return true;
}

static double value_at(const collective *c, uint32_t member, int64_t element)
{
    return tn_dtype_load(c->dtype,
                         c->values[member] + (size_t)element * tenon_dtype_size(c->dtype));
}

/* Returns the sum of an element over the members, with the bound of docs/numerics.md. */
static tn_bounded sum_at(const collective *c, int64_t element)
{
    const double roundings = c->count - 1;
    const tenon_dtype accumulator = c->dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    double sum = 0, absolute = 0;
    for (uint32_t m = 0; m < c->count; m++) {
        sum += value_at(c, m, element);
        absolute += fabs(value_at(c, m, element));
    }
    const tn_bounded exact = {sum, tn_gamma(roundings, tn_roundoff(accumulator)) * absolute +
                                       roundings * tn_least_normal(accumulator)};
    return tn_stored(c->dtype, exact);
}

/* Returns what an element of a member's result must be. */
static tn_bounded expected_at(const collective *c, uint32_t member, int64_t element)
{
    const int64_t part = c->elements / c->count;
    switch (c->kind) {
    case BENCH_ALL_REDUCE:
        return sum_at(c, element);
    case BENCH_REDUCE_SCATTER:
        return sum_at(c, member * part + element);
    case BENCH_ALL_GATHER:
        return (tn_bounded){value_at(c, (uint32_t)(element / part), element), 0};
    case BENCH_BROADCAST:
        return (tn_bounded){value_at(c, 0, element), 0};
    default:
        return (tn_bounded){value_at(c, (uint32_t)(element / part), member * part + element % part),
                            0};
    }
}

/* Compares elements at equal distances, and the last one. */
static bool verify_member(const collective *c, uint32_t member, const unsigned char *got,
                          double *error_over_bound, char why[256])
{
    const int64_t elements = tenon_tensor_elements(&c->y[member]), step = elements / CHECKED | 1;
    for (int64_t i = 0; i < elements + step - 1; i += step) {
        const int64_t element = i < elements ? i : elements - 1;
        const double value =
            tn_dtype_load(c->dtype, got + (size_t)element * tenon_dtype_size(c->dtype));
        const tn_bounded expected = expected_at(c, member, element);
        const double ratio = expected.bound > 0 ? fabs(value - expected.value) / expected.bound : 0;
        *error_over_bound = ratio > *error_over_bound ? ratio : *error_over_bound;
        if (!tn_within(value, expected)) {
            snprintf(why, 256, "member %u: element %lld is %.9g, must be %.9g within %.3g", member,
                     (long long)element, value, expected.value, expected.bound);
            return false;
        }
    }
    return true;
}

static size_t bytes_of(const tenon_tensor *tensor)
{
    return (size_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const collective *c = data;
    unsigned char *got = malloc(c->bytes);
    bool well = got != NULL && finish(data);
    (void)stream;
    if (!well)
        snprintf(why, 256, "its result cannot be read");
    for (uint32_t m = 0; well && m < c->count; m++)
        well = BENCH_WELL(
                   tenon_tensor_download(c->streams[m], &c->y[m], got, bytes_of(&c->y[m]), NULL)) &&
               verify_member(c, m, got, error_over_bound, why);
    free(got);
    return well;
}

static void destroy(bench_case *bench)
{
    collective *c = bench->tenon.data;
    tenon_group_destroy(c->group);
    for (uint32_t m = 0; m < c->count; m++) {
        tenon_tensor_destroy(&c->whole[m][0]);
        tenon_tensor_destroy(&c->whole[m][1]);
        tenon_stream_destroy(c->streams[m]);
        tenon_context_release(c->contexts[m]);
        free(c->values[m]);
        free(c->copied[m]);
    }
    free(c);
}

/* Fills an array with values in [-1, 1], which differ between the members. */
static void fill(const collective *c, uint32_t member)
{
    const size_t size = tenon_dtype_size(c->dtype);
    uint64_t seed = member + 1; /* Knuth's MMIX generator */
    for (int64_t i = 0; i < c->elements && i < PERIOD; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        tn_dtype_store(c->dtype, c->values[member] + (size_t)i * size,
                       (double)(int64_t)seed / 9223372036854775808.0);
    }
    for (int64_t i = PERIOD; i < c->elements; i += PERIOD) {
        const int64_t more = c->elements - i < PERIOD ? c->elements - i : PERIOD;
        memcpy(c->values[member] + (size_t)i * size, c->values[member], (size_t)more * size);
    }
}

static bool make_context(const bench_session *session, collective *c, uint32_t member)
{
    char selector[64];
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    snprintf(selector, sizeof selector, c->are_parts ? "%s/%u:%u" : "%s", session->device.selector,
             c->count, member);
    params.device = selector;
    params.workspace_limit = session->options->workspace;
    return BENCH_WELL(tenon_context_create(&params, &c->contexts[member])) &&
           BENCH_WELL(tenon_stream_create(c->contexts[member], NULL, &c->streams[member]));
}

/* Makes the operands of a member. */
static bool make_operands(collective *c, uint32_t member)
{
    tenon_tensor *whole = c->whole[member];
    const int64_t part = c->elements / c->count,
                  second = c->kind == BENCH_REDUCE_SCATTER ? part : c->elements;
    if (!BENCH_WELL(
            tenon_tensor_create(c->contexts[member], c->dtype, 1, &c->elements, &whole[0])) ||
        (!is_in_place(c) &&
         !BENCH_WELL(tenon_tensor_create(c->contexts[member], c->dtype, 1, &second, &whole[1]))))
        return false;
    c->x[member] = c->kind == BENCH_ALL_GATHER
                       ? tenon_tensor_slice(whole[0], 0, member * part, part)
                       : whole[0];
    c->y[member] = whole[is_in_place(c) ? 0 : 1];
    c->values[member] = malloc(c->bytes);
    c->copied[member] = calloc(1, c->bytes);
    if (c->values[member] == NULL || c->copied[member] == NULL)
        return false;
    fill(c, member);
    return BENCH_WELL(
        tenon_tensor_upload(c->streams[member], c->values[member], c->bytes, &whole[0], NULL));
}

/* Returns false, with a message, if the device cannot be divided or has too little memory. */
static bool fits(const bench_session *session, const collective *c, bench_case *bench)
{
    const tenon_device_info *device = &session->device;
    const double needed = 4.0 * c->count * (double)c->bytes; /* on the device and on the host */
    const char *why = NULL;
    if (c->are_parts &&
        ((device->type & CL_DEVICE_TYPE_CPU) == 0 || strchr(device->selector, '/') != NULL))
        why = "only a whole CPU is divided";
    else if (c->are_parts && device->compute_units < c->count)
        why = "the CPU has too few compute units";
    else if (needed > MEMORY_SHARE * (double)device->global_memory)
        why = "the device has too little memory";
    if (why != NULL)
        fprintf(stderr, "tenon-bench: %s is skipped: %s\n", bench->name, why);
    bench->is_skipped = why != NULL;
    return why == NULL;
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    collective *c = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    *c = collective_of(&suite->shapes->cases[number].collective, dtype);
    bench->tenon = (bench_way){"tenon", call, false, c, NULL, NULL, finish};
    bench->destroy = destroy;
    bench->verify = verify;
    snprintf(bench->solver, sizeof bench->solver, "group");
    if (session->stream == NULL) { /* of predict */
        bench_complain("%s needs a device", bench->name);
        return false;
    }
    if (!fits(session, c, bench))
        return false;
    for (uint32_t m = 0; m < c->count; m++)
        if (!make_context(session, c, m) || !make_operands(c, m))
            return false;
    if (!BENCH_WELL(tenon_group_create(c->streams, c->count, NULL, &c->group)))
        return false;
    bench->bytes = (double)shares_of(c) * (double)c->bytes / c->count;
    bench->footprint = 2.0 * c->count * (double)c->bytes;
    BENCH_ADD_PEER(session, bench, "memcpy", copy_way(c, bench_way_at));
    return true;
}

const bench_kind bench_collective_cases = {bench_case_count, bench_case_name, bench_floating, make};
