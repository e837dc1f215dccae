/* The benchmark: suites of cases. A case is one call of an operation with one shape and type,
 * together with the peers (other libraries) that support the same. The runner times Tenon and the
 * peers alternately in one process. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <tenon/tenon.h>

#include <stdbool.h>

#define BENCH_MAX_PEERS 12
#define BENCH_NAME_SIZE 96

/* The command line. Lists are names separated by commas; NULL means all. In `suites`, "gpu" and
 * "cpu" select all suites whose names end so. */
typedef struct bench_options {
    const char *suites, *dtypes, *peers;
    const char *device;
    const char *filter; /* part of a case's name */
    const char
        *solvers; /* names separated by spaces, each forced in turn; NULL: the automatic choice */
    const char *solver;      /* the current one of `solvers` */
    double seconds;          /* approximate time of each case; 0: that of its suite */
    uint64_t workspace;      /* workspace limit of a stream, in bytes */
    double least_operations; /* cases with fewer operations are not ranked among the best and
                                slowest */
    bool emulated;           /* for "ceilings": run the emulation of the matrix units' kernels */
    bool trusted;            /* do not compare results with the reference */
    const char *network_program; /* command that runs networks and calls in other
                                    libraries; NULL: none */
    const char *clblast_tuning;  /* folder with the files of CLBlast's tuners */
    const char *json, *csv;
    uint32_t part, parts; /* for "build": only every `parts`-th case, from `part` on */
    uint32_t repeats;     /* further attempts at a case that was disturbed */
    bool quick;           /* a sample of the cases of each suite, for about two minutes */
    const char *shapes;   /* files with suites or recorded calls, separated by commas; NULL: none */
    const char *target;   /* for "predict": the name of the kind of device */
} bench_options;

/* The device under test. The second stream records times, which costs a little time. */
typedef struct bench_session {
    const bench_options *options;
    tenon_context *context;
    tenon_stream *stream, *profiled;
    tenon_device_info device;
    double opened;           /* by bench_now, when the first case began */
    uint32_t number;         /* position of the device in the result file */
    struct json_t *ceilings; /* its measured limits (roofline.h); NULL: not known */
    const char *energy;      /* the counter that is read (energy.h); NULL: none */
} bench_session;

/* A way to compute a case: Tenon, or a peer. `turn` counts the calls; it selects the copy of the
 * operands. */
typedef struct bench_way {
    const char *name;
    bool (*call)(void *data, tenon_stream *stream, int turn);
    bool waits; /* true: a call returns when the work is done, on threads of the host; false: the
                   stream must be finished */
    void *data;
    void (*destroy)(void *data);
    /* The algorithm that was fastest, for peers with several, or the version of a library in a
     * program of its own; otherwise NULL. */
    const char *algorithm;
    /* Waits for calls that are not on the stream; NULL: all are on the stream. */
    bool (*finish)(void *data);
    int edition; /* which of two versions of the library the peer is (peers/editions.h) */
} bench_way;

/* The valid names of --peers. */
#define BENCH_PEER_NAMES 21
extern const char *const bench_peer_names[BENCH_PEER_NAMES];

typedef struct bench_case {
    const char *suite;
    char name[BENCH_NAME_SIZE];
    tenon_dtype dtype;
    bool is_skipped;  /* it was not made because the device does not admit it: too little memory, or
                         it cannot be divided */
    double seconds;   /* approximate time of the case */
    char solver[128]; /* as in the plan's description */
    char repeat[2048]; /* the "tenon check" line that repeats it; "" if nothing is computed */
    tenon_plan **plan; /* the plan that the case's calls run, or one for each copy of packed
                        * weights; NULL if there is none */
    uint32_t copies;   /* the number of plans, if weights are packed; otherwise 0 */
    /* Plans the call with a solver and one copy of its packed weights. */
    bool (*replan)(bench_session *session, void *data, uint32_t copy, const char *solver,
                   tenon_plan **plan);
    double
        operations;   /* floating-point operations of a call; 0 if the case does not measure them */
    double bytes;     /* bytes that a call must read and write at least */
    double footprint; /* bytes that the calls use in turn, in all copies of the operands; 0: the
                         bytes of a call */
    bench_way tenon;
    bench_way peers[BENCH_MAX_PEERS];
    uint32_t peer_count;
    /* Compares the result of Tenon's last call with the reference; NULL if nothing is computed. */
    bool (*verify)(void *data, tenon_stream *stream, double *error_over_bound, char why[256]);
    /* Measures the nanoseconds of the layers of each kind of a network; NULL for other cases. */
    bool (*shares)(void *data, tenon_stream *stream, double *nanoseconds);
    void (*destroy)(struct bench_case *bench);
} bench_case;

/* A suite of cases. */
typedef struct bench_suite {
    const char *name, *about;
    const struct bench_kind *kind;
    double seconds; /* approximate time of a case, unless given on the command line */
    const struct bench_shape_suite *shapes; /* of suites that are data; otherwise NULL */
} bench_suite;

/* The functions of suites. */
typedef struct bench_kind {
    uint32_t (*count)(const bench_suite *suite);
    /* Return the name of a case, and whether it supports the type. */
    void (*name_of)(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE]);
    bool (*has_dtype)(const bench_suite *suite, uint32_t number, tenon_dtype dtype);
    /* Makes the operands and plans of a case, and sets up the peers. On failure, prints the reason
     * to stderr and returns false. */
    bool (*make)(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench);
} bench_kind;

/* All suites, those of files first. */
extern const bench_suite **bench_suites;
extern uint32_t bench_suite_count;

/* Sets up bench_suites: the embedded files, and a list of users' files separated by commas (NULL:
 * none), which can be given in a later call. On failure, prints the reason and returns false. */
bool bench_suites_load(const char *files);

/* For has_dtype: true for f64, f32, f16 and bf16; and for f32 only. */
bool bench_floating(const bench_suite *suite, uint32_t number, tenon_dtype dtype);
bool bench_only_f32(const bench_suite *suite, uint32_t number, tenon_dtype dtype);

/* For count and name_of of suites whose shapes are a list of `cases`. */
uint32_t bench_case_count(const bench_suite *suite);
void bench_case_name(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE]);

/* Returns true if a comma-separated list (NULL: all) contains the name. */
bool bench_listed(const char *list, const char *name);

/* Prints "tenon-bench: " and a message to stderr, and keeps the first one for the result file. */
__attribute__((format(printf, 1, 2))) void bench_complain(const char *format, ...);

/* Returns the first message since the last bench_forget_complaint; "" if there is none. */
const char *bench_complaint(void);
void bench_forget_complaint(void);

/* Returns true if a call succeeded; otherwise prints the failure by bench_complain. */
bool bench_went_well(tenon_status status, const char *call);
#define BENCH_WELL(call) bench_went_well(call, #call)

#endif
