#include "runner.h"

#include "energy.h"
#include "environment.h"
#include "roofline.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_SECONDS  0.02 /* of a round */
#define LEAST_ROUNDS   5
#define SLOW           5 /* slower than Tenon by this factor: minimum number of rounds */
#define SLOW_ROUNDS    3
#define MOST_ROUNDS    200
#define LATENCY_ROUNDS 15
#define LONG_CALL      0.3e9 /* nanoseconds; the latency of longer calls is measured fewer times */
#define LONG_ROUNDS    2

volatile int bench_interrupted;

bench_times bench_times_of(double *values, int count)
{
    double median = bench_median(values, count);
    /* The ranks of the confidence interval of the median: a binomial distribution, in the normal
     * approximation. */
    double half = 1.96 * sqrt((double)count) / 2;
    int low = (int)floor(count / 2.0 - half), high = (int)ceil(count / 2.0 + half);
    low = low < 0 ? 0 : low;
    high = high >= count ? count - 1 : high;
    return (bench_times){median, values[low], values[high]};
}

double bench_round(bench_session *session, const bench_way *way, int calls, int *turn)
{
    double start = bench_now();
    for (int i = 0; i < calls; i++)
        if (!way->call(way->data, session->stream, (*turn)++))
            return -1;
    if (way->finish != NULL ? !way->finish(way->data)
                            : !way->waits && !BENCH_WELL(tenon_stream_finish(session->stream)))
        return -1;
    return bench_now() - start;
}

/* Switches to the calls of another library. The caller's thread takes part in the work of libraries
 * on the host and is pinned like their threads; spinning threads of the previous library have
 * stopped after a while. */
static void take_turns(const bench_way *last, const bench_way *next)
{
    const struct timespec while_threads_spin = {0, 3000000};
    bench_pin(next->waits ? 0 : -1);
    if (last->waits && last != next)
        nanosleep(&while_threads_spin, NULL);
}

int bench_calls(bench_session *session, const bench_way *way, double *seconds_of_call)
{
    int turn = 0, calls = 1;
    double seconds = bench_round(session, way, 1, &turn); /* compiles, and fills the caches */
    if (seconds > LEAST_SECONDS)
        seconds = bench_round(session, way, 1, &turn);
    else
        while (seconds >= 0 && !bench_interrupted) {
            seconds = bench_round(session, way, calls, &turn);
            if (seconds > LEAST_SECONDS / 4)
                break;
            calls *= 2;
        }
    *seconds_of_call = seconds / calls;
    return seconds < 0 || bench_interrupted ? 0 : (int)(LEAST_SECONDS * calls / seconds) + 1;
}

/* The times of Tenon (the first element) and of each peer. */
typedef struct rounds_result {
    bench_times times[BENCH_MAX_PEERS + 1];
    double energy; /* nanojoules of a call of Tenon */
} rounds_result;

/* Runs rounds of Tenon (the first element of `ways`) and the peers alternately, for `limit`
 * seconds. Peers that are much slower than Tenon run fewer rounds. Returns false if a call fails or
 * the run is interrupted. */
static bool rounds_of(bench_session *session, bench_way *const *ways, uint32_t count, double limit,
                      rounds_result *result)
{
    static double values[BENCH_MAX_PEERS + 1][MOST_ROUNDS];
    int rounds[BENCH_MAX_PEERS + 1] = {0}, turn[BENCH_MAX_PEERS + 1] = {0};
    int calls[BENCH_MAX_PEERS + 1];
    double each[BENCH_MAX_PEERS + 1], energy = 0;
    for (uint32_t w = 0; w < count; w++) {
        take_turns(ways[w > 0 ? w - 1 : 0], ways[w]);
        calls[w] = bench_calls(session, ways[w], &each[w]);
        if (calls[w] == 0)
            return false;
    }
    double end = bench_now() + limit;
    for (uint32_t last = count - 1;
         rounds[0] < MOST_ROUNDS && (rounds[0] < LEAST_ROUNDS || bench_now() < end);)
        for (uint32_t w = 0; w < count; w++) {
            if (bench_interrupted)
                return false;
            if (each[w] > SLOW * each[0] && rounds[w] == SLOW_ROUNDS)
                continue;
            take_turns(ways[last], ways[w]);
            const double used = w == 0 ? bench_energy_now() : 0;
            double seconds = bench_round(session, ways[w], calls[w], &turn[w]);
            if (seconds < 0)
                return false;
            energy += w == 0 ? bench_energy_now() - used : 0;
            values[w][rounds[w]++] = 1e9 * seconds / calls[w];
            last = w;
        }
    bench_pin(-1);
    for (uint32_t w = 0; w < count; w++)
        result->times[w] = bench_times_of(values[w], rounds[w]);
    result->energy = energy / rounds[0] / calls[0];
    return true;
}

static bool measure_latency(bench_session *session, const bench_way *way, int rounds,
                            double *latency)
{
    double values[LATENCY_ROUNDS];
    int turn = 0;
    for (int i = 0; i < rounds; i++) {
        values[i] = 1e9 * bench_round(session, way, 1, &turn);
        if (values[i] < 0 || bench_interrupted)
            return false;
    }
    *latency = bench_median(values, rounds);
    return true;
}

/* The launches of a call: the first one's event has the begin, the last one's the end. */
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

static bool measure_events(bench_session *session, const bench_way *way, int rounds, double *event)
{
    double values[LATENCY_ROUNDS];
    if (!BENCH_WELL(tenon_stream_finish(session->stream)))
        return false;
    for (int i = 0; i < rounds; i++) {
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
        if (!well || bench_interrupted)
            return false;
    }
    *event = bench_median(values, rounds);
    return true;
}

bool bench_verify_case(bench_session *session, bench_case *bench, double *error_over_bound)
{
    char why[256] = "";
    if (!bench->tenon.call(bench->tenon.data, session->stream, 0) ||
        !BENCH_WELL(tenon_stream_finish(session->stream)))
        return false;
    const bool right = bench->verify(bench->tenon.data, session->stream, error_over_bound, why);
    if (!right && !bench_interrupted)
        bench_complain("%s %s %s by %s is wrong: %s\n  %s", bench->suite, bench->name,
                       tenon_dtype_string(bench->dtype), bench->solver, why, bench->repeat);
    return right;
}

/* Describes the case in its result. */
static void describe(const bench_session *session, const bench_case *bench, bench_result *result)
{
    memset(result, 0, sizeof *result);
    result->device = session->number;
    result->suite = bench->suite;
    memcpy(result->name, bench->name, sizeof result->name);
    memcpy(result->solver, bench->solver, sizeof result->solver);
    if (session->options->solver != NULL)
        snprintf(result->asked, sizeof result->asked, "%s", session->options->solver);
    result->dtype = bench->dtype;
    result->operations = bench->operations;
    result->bytes = bench->bytes;
    result->peer_count = bench->peer_count;
    for (uint32_t p = 0; p < bench->peer_count; p++) {
        result->peers[p].name = bench->peers[p].name;
        snprintf(result->peers[p].algorithm, sizeof result->peers[p].algorithm, "%s",
                 bench->peers[p].algorithm != NULL ? bench->peers[p].algorithm : "");
    }
}

/* One attempt: the rounds, and the load of the machine during them. */
static bool attempt(bench_session *session, bench_case *bench, rounds_result *rounds,
                    bench_load *load)
{
    bench_way *ways[BENCH_MAX_PEERS + 1] = {&bench->tenon};
    for (uint32_t p = 0; p < bench->peer_count; p++)
        ways[p + 1] = &bench->peers[p];
    const bench_ticks begin = bench_ticks_now();
    const bool well = rounds_of(session, ways, 1 + bench->peer_count, bench->seconds, rounds);
    const bench_ticks end = bench_ticks_now();
    *load = bench_load_between(&begin, &end);
    return well;
}

/* Measures the rounds, again while the machine is disturbed, and keeps the best attempt. */
static bool measure_rounds(bench_session *session, bench_case *bench, rounds_result *best,
                           bench_result *result)
{
    if (!attempt(session, bench, best, &result->load))
        return false;
    while (bench_is_disturbed(&result->load) && result->repeats < session->options->repeats) {
        rounds_result next;
        bench_load load;
        result->repeats++;
        if (!attempt(session, bench, &next, &load))
            return false;
        if (load.known && load.other + load.steal < result->load.other + result->load.steal) {
            *best = next;
            result->load = load;
        }
    }
    return true;
}

bool bench_run(bench_session *session, bench_case *bench, bench_result *result)
{
    rounds_result best;
    if (bench_interrupted)
        return false;
    describe(session, bench, result);
    result->verified = bench->verify != NULL && !session->options->trusted;
    if (result->verified && !bench_verify_case(session, bench, &result->error_over_bound))
        return false;
    if (bench_interrupted)
        return false;
    if (!measure_rounds(session, bench, &best, result))
        return false;
    const int rounds = best.times[0].median > LONG_CALL ? LONG_ROUNDS : LATENCY_ROUNDS;
    if (!measure_latency(session, &bench->tenon, rounds, &result->latency) ||
        !measure_events(session, &bench->tenon, rounds, &result->event))
        return false;
    result->has_layers = bench->shares != NULL;
    if (result->has_layers && !bench->shares(bench->tenon.data, session->stream, result->layers))
        return false;
    result->wall = best.times[0];
    result->energy = session->energy != NULL ? best.energy : -1;
    for (uint32_t p = 0; p < bench->peer_count; p++)
        result->peers[p].median = best.times[p + 1].median;
    result->attainable = bench_attainable(session->ceilings, bench, result->ceiling);
    return true;
}
