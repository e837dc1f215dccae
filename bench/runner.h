/* Timing of a case: Tenon and its peers in turn, rounds of many calls each, and medians. */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include "bench.h"
#include "load.h"
#include "networks/networks.h"

/* Nanoseconds per call: the median of the rounds, and a confidence interval of the median of 95 %
 * (by order statistics, for any distribution). */
typedef struct bench_times {
    double median, low, high;
} bench_times;

typedef struct bench_result {
    uint32_t device; /* number of the session */
    const char *suite;
    char name[BENCH_NAME_SIZE], solver[128];
    char asked[128]; /* the solver that was requested; "": the automatic choice */
    tenon_dtype dtype;
    bench_times wall; /* throughput: calls back to back with one finish */
    double event;   /* from the start of the first command to the end of the last one; 0: unknown */
    double latency; /* one call and its finish */
    double operations, bytes;
    double energy;     /* nanojoules of a call; negative: not reported */
    double attainable; /* nanoseconds that the device's ceilings allow; 0: not known */
    char ceiling[64];  /* the name of the one that binds */
    bench_load load;   /* of the machine during the rounds */
    uint32_t repeats;  /* further attempts, because the machine was disturbed */
    bool verified;
    double error_over_bound;
    bool has_layers;
    double layers[BENCH_LAYER_KINDS]; /* nanoseconds of the layers of each kind of a network */
    uint32_t peer_count;
    struct {
        const char *name;
        char algorithm[64]; /* as in bench_way; "" for NULL */
        double median;
    } peers[BENCH_MAX_PEERS];
} bench_result;

/* Runs a case. If a call fails or the result is wrong, prints the reason to stderr and returns
 * false; it also returns false if the run is interrupted. */
bool bench_run(bench_session *session, bench_case *bench, bench_result *result);

/* Compares the result of a call of Tenon with the reference, for a case that has one. Prints the
 * difference to stderr and returns false if the result is wrong. */
bool bench_verify_case(bench_session *session, bench_case *bench, double *error_over_bound);

/* Returns the number of calls in a round, and the time of one call; 0 on failure and if
 * the run is interrupted. */
int bench_calls(bench_session *session, const bench_way *way, double *seconds_of_call);

/* Returns the seconds for `calls` calls and the wait for them; negative if a call failed. */
double bench_round(bench_session *session, const bench_way *way, int calls, int *turn);

/* Set by a signal handler: the running case ends after the current round, or while it is verified
 * after the current layer or call. */
extern volatile int bench_interrupted;

/* Returns the median and the interval; sorts the values. */
bench_times bench_times_of(double *values, int count);

#endif
