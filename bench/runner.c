#include "runner.h"

#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_SECONDS  0.02 /* of a round */
#define LEAST_ROUNDS   5
#define MOST_ROUNDS    200
#define LATENCY_ROUNDS 15

volatile int bench_interrupted;

bench_times bench_summary(double *values, int count)
{
    double median = bench_median(values, count);
    /* The ranks between which the median lies: a binomial, by its normal approximation. */
    double half = 1.96 * sqrt((double)count) / 2;
    int low = (int)floor(count / 2.0 - half), high = (int)ceil(count / 2.0 + half);
    low = low < 0 ? 0 : low;
    high = high >= count ? count - 1 : high;
    return (bench_times){median, values[low], values[high]};
}

/* Seconds of so many calls and the wait for them; negative where a call failed. */
static double round_of(bench_session *session, const bench_way *way, int calls, int *turn)
{
    double start = bench_now();
    for (int i = 0; i < calls; i++)
        if (!way->call(way->data, session->stream, (*turn)++))
            return -1;
    if (!way->waits && !BENCH_WELL(tenon_stream_finish(session->stream)))
        return -1;
    return bench_now() - start;
}

/* How many calls make a round: enough for the fastest. 0 on failure. */
static int calls_of(bench_session *session, bench_way *const *ways, uint32_t count)
{
    double fastest = INFINITY;
    for (uint32_t w = 0; w < count; w++) {
        int turn = 0, calls = 1;
        double seconds = round_of(session, ways[w], 1, &turn); /* compiles, fills the caches */
        while (seconds >= 0) {
            seconds = round_of(session, ways[w], calls, &turn);
            if (seconds > LEAST_SECONDS / 4)
                break;
            calls *= 2;
        }
        if (seconds < 0)
            return 0;
        fastest = fmin(fastest, seconds / calls);
    }
    return (int)(LEAST_SECONDS / fastest) + 1;
}

static bool rounds_of(bench_session *session, bench_way *const *ways, uint32_t count, int calls,
                      bench_times *times)
{
    static double values[BENCH_MAX_PEERS + 1][MOST_ROUNDS];
    double end = bench_now() + session->options->seconds;
    int rounds = 0, turn[BENCH_MAX_PEERS + 1] = {0};
    while (rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || bench_now() < end) &&
           (!bench_interrupted || rounds == 0)) {
        for (uint32_t w = 0; w < count; w++) {
            double seconds = round_of(session, ways[w], calls, &turn[w]);
            if (seconds < 0)
                return false;
            values[w][rounds] = 1e9 * seconds / calls;
        }
        rounds++;
    }
    for (uint32_t w = 0; w < count; w++)
        times[w] = bench_summary(values[w], rounds);
    return true;
}

static bool measure_latency(bench_session *session, const bench_way *way, double *latency)
{
    double values[LATENCY_ROUNDS];
    int turn = 0;
    for (int i = 0; i < LATENCY_ROUNDS; i++) {
        values[i] = 1e9 * round_of(session, way, 1, &turn);
        if (values[i] < 0)
            return false;
    }
    *latency = bench_median(values, LATENCY_ROUNDS);
    return true;
}

/* The launches of a call: when the first began and the last ended. */
typedef struct span {
    cl_event first, last;
} span;

static void keep_events(void *user, const tenon_trace_record *record)
{
    span *s = user;
    if (s->first == NULL && clRetainEvent(record->event) == CL_SUCCESS)
        s->first = record->event;
    if (s->last != NULL)
        clReleaseEvent(s->last);
    s->last = clRetainEvent(record->event) == CL_SUCCESS ? record->event : NULL;
}

static double nanoseconds(const span *s)
{
    cl_ulong start = 0, end = 0;
    if (s->first == NULL || s->last == NULL ||
        clGetEventProfilingInfo(s->first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL) !=
            CL_SUCCESS ||
        clGetEventProfilingInfo(s->last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL) !=
            CL_SUCCESS)
        return 0;
    return end > start ? (double)(end - start) : 0;
}

static bool measure_events(bench_session *session, const bench_way *way, double *event)
{
    double values[LATENCY_ROUNDS];
    if (!BENCH_WELL(tenon_stream_finish(session->stream)))
        return false;
    for (int i = 0; i < LATENCY_ROUNDS; i++) {
        span s = {NULL, NULL};
        bool well = BENCH_WELL(tenon_stream_set_trace(session->profiled, keep_events, &s)) &&
                    way->call(way->data, session->profiled, i) &&
                    BENCH_WELL(tenon_stream_finish(session->profiled)) &&
                    BENCH_WELL(tenon_stream_set_trace(session->profiled, NULL, NULL));
        values[i] = well ? nanoseconds(&s) : 0;
        if (s.first != NULL)
            clReleaseEvent(s.first);
        if (s.last != NULL)
            clReleaseEvent(s.last);
        if (!well)
            return false;
    }
    *event = bench_median(values, LATENCY_ROUNDS);
    return true;
}

static bool verify(bench_session *session, bench_case *bench, bench_result *result)
{
    char why[256] = "";
    if (bench->verify == NULL)
        return true;
    if (!bench->tenon.call(bench->tenon.data, session->stream, 0) ||
        !BENCH_WELL(tenon_stream_finish(session->stream)))
        return false;
    result->verified =
        bench->verify(bench->tenon.data, session->stream, &result->error_over_bound, why);
    if (!result->verified)
        fprintf(stderr, "tenon-bench: %s %s %s by %s is wrong: %s\n", bench->suite, bench->name,
                tenon_dtype_string(bench->dtype), bench->solver, why);
    return result->verified;
}

bool bench_run(bench_session *session, bench_case *bench, bench_result *result)
{
    bench_way *ways[BENCH_MAX_PEERS + 1] = {&bench->tenon};
    bench_times times[BENCH_MAX_PEERS + 1];
    uint32_t count = 1 + bench->peer_count;
    memset(result, 0, sizeof *result);
    result->suite = bench->suite;
    memcpy(result->name, bench->name, sizeof result->name);
    memcpy(result->solver, bench->solver, sizeof result->solver);
    result->dtype = bench->dtype;
    result->operations = bench->operations;
    result->bytes = bench->bytes;
    if (!verify(session, bench, result))
        return false;
    for (uint32_t p = 0; p < bench->peer_count; p++)
        ways[p + 1] = &bench->peers[p];
    int calls = calls_of(session, ways, count);
    if (calls == 0 || !rounds_of(session, ways, count, calls, times) ||
        !measure_latency(session, &bench->tenon, &result->latency) ||
        !measure_events(session, &bench->tenon, &result->event))
        return false;
    result->wall = times[0];
    result->peer_count = bench->peer_count;
    for (uint32_t p = 0; p < bench->peer_count; p++) {
        result->peers[p].name = bench->peers[p].name;
        result->peers[p].median = times[p + 1].median;
    }
    return true;
}
