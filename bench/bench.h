/*
 * The benchmark: suites of cases. A case is one call of an operation on one shape and type, with
 * the peers that can do the same; the runner times them in turn, in one process.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <tenon/tenon.h>

#include <stdbool.h>

#define BENCH_MAX_PEERS 6
#define BENCH_NAME_SIZE 96

/* What the command line asks for. Lists are of names between commas; NULL means all. Of suites
 * "gpu" and "cpu" stand for all whose names end so. */
typedef struct bench_options {
    const char *suites, *dtypes, *peers;
    const char *device;
    const char *filter;  /* part of a case's name */
    const char *solvers; /* names between blanks, each forced in turn; NULL: the automatic choice */
    const char *solver;  /* the one of them whose turn it is */
    double seconds;      /* of each case, about; 0: as its suite has it */
    uint64_t workspace;  /* the most bytes that a stream may use for it */
    double least_operations;    /* of a case that counts among the best and the slowest */
    bool emulated;              /* of "ceilings": matrix units' kernels in their emulation */
    bool trusted;               /* results are not compared with the reference */
    const char *clblast_tuning; /* a folder of the files of CLBlast's tuners */
    const char *json, *csv;
    uint32_t part, parts; /* of "build": every so many of the cases, from the first on */
} bench_options;

/* The device under test. The second stream records times, which costs a little. */
typedef struct bench_session {
    const bench_options *options;
    tenon_context *context;
    tenon_stream *stream, *profiled;
    tenon_device_info device;
} bench_session;

/* One who does the work of a case: Tenon, or a peer. `turn` counts calls, so that the copies of the
 * operands are taken in turn. */
typedef struct bench_way {
    const char *name;
    bool (*call)(void *data, tenon_stream *stream, int turn);
    bool waits; /* calls return when the work is done, on threads of the host's; otherwise the
                   stream is finished */
    void *data;
    void (*destroy)(void *data);
    const char
        *algorithm; /* which of several a peer was found fastest with; NULL for the only one */
    bool (*finish)(void *data); /* waits for calls that are not the stream's; NULL: they are */
} bench_way;

/* The names that --peers knows. */
#define BENCH_PEER_NAMES 10
extern const char *const bench_peer_names[BENCH_PEER_NAMES];

typedef struct bench_case {
    const char *suite;
    char name[BENCH_NAME_SIZE];
    tenon_dtype dtype;
    double seconds;    /* that it may take, about */
    char solver[128];  /* as the plan describes it */
    char repeat[2048]; /* the "tenon check" line; "" where nothing is computed */
    tenon_plan *
        *plan; /* where the case keeps the plan that its calls run; NULL where it has none */
    double operations; /* of floating point, in a call; 0: not what the case is about */
    double bytes;      /* that a call must at least read and write */
    bench_way tenon;
    bench_way peers[BENCH_MAX_PEERS];
    uint32_t peer_count;
    /* Compares what Tenon's last call gave with the reference; NULL where nothing is computed. */
    bool (*verify)(void *data, tenon_stream *stream, double *error_over_bound, char why[256]);
    void (*destroy)(struct bench_case *bench);
} bench_case;

/* Several suites may share functions: `selection` says which cases of theirs. */
typedef struct bench_suite bench_suite;
struct bench_suite {
    const char *name, *about;
    uint32_t (*count)(const bench_suite *suite);
    /* The name of a case, and whether it comes in the type. */
    void (*name_of)(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE]);
    bool (*has_dtype)(const bench_suite *suite, uint32_t number, tenon_dtype dtype);
    /* Makes the operands and plans of a case, and asks the peers; false with why on stderr. */
    bool (*make)(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench);
    double seconds; /* that a case takes, about, unless the command line says otherwise */
    int selection;
};

extern const bench_suite *const bench_suites[];
extern const uint32_t bench_suite_count;

/* For has_dtype: f64, f32, f16 and bf16. */
bool bench_floating(const bench_suite *suite, uint32_t number, tenon_dtype dtype);

/* Whether a list between commas (NULL: all) has the name. */
bool bench_listed(const char *list, const char *name);

/* Whether a call went well; otherwise says why not on stderr. */
bool bench_went_well(tenon_status status, const char *call);
#define BENCH_WELL(call) bench_went_well(call, #call)

#endif
