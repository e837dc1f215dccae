/* Timing a case: Tenon and its peers in turn, rounds of many calls each, medians. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include "bench.h"

/* Nanoseconds of a call: the median of the rounds, and an interval that holds the true median with
 * a probability of 95 % (by order statistics, whatever the distribution is). */
typedef struct bench_times {
    double median, low, high;
} bench_times;

typedef struct bench_result {
    const char *suite;
    char name[BENCH_NAME_SIZE], solver[128];
    tenon_dtype dtype;
    bench_times wall; /* throughput: calls back to back, one finish */
    double event;     /* from the first command's start to the last one's end; 0: not known */
    double latency;   /* one call and its finish */
    double operations, bytes;
    bool verified;
    double error_over_bound;
    uint32_t peer_count;
    struct {
        const char *name, *algorithm;
        double median;
    } peers[BENCH_MAX_PEERS];
} bench_result;

/* Runs a case. False, with why on stderr, where a call fails or the result is wrong. */
bool bench_run(bench_session *session, bench_case *bench, bench_result *result);

/* Whether the result of a call of Tenon's is that of the reference, for a case that has one;
 * otherwise says what differs on stderr. */
bool bench_verify_case(bench_session *session, bench_case *bench, double *error_over_bound);

/* How many calls of a way make a round, and how long one takes; 0 on failure. */
int bench_calls(bench_session *session, const bench_way *way, double *seconds_of_call);

/* Seconds of so many calls and the wait for them; negative where a call failed. */
double bench_round(bench_session *session, const bench_way *way, int calls, int *turn);

/* Set from a signal handler: the runner stops after the round that it is in. */
extern volatile int bench_interrupted;

/* Sorts the values. */
bench_times bench_times_of(double *values, int count);

#endif
