/* Shared code of the files that measure a device's limits. */
#ifndef BENCH_DEVICE_LIMITS_H
#define BENCH_DEVICE_LIMITS_H

#include "bench.h"

#include <jansson.h>

#define BENCH_GROUP 256 /* work-items of a work-group on a GPU */

typedef struct bench_limits {
    bench_session *session;
    cl_command_queue queue;
    cl_program program;
    cl_mem x, y;
    uint64_t bytes; /* of each of the two buffers */
    size_t items;   /* number of work-items that fill the device */
    size_t group;   /* work-items in a work-group; 1 on a CPU, where each has its own vectors */
    int lanes;      /* lanes of a CPU's f32 vectors; 0: not a CPU */
    /* The limit that is being measured, for the result file: its kind (as in results.schema.json),
     * the type of arithmetic or NULL, the memory level or NULL, and the size of the range that is
     * read. */
    const char *kind, *dtype, *level;
    uint64_t window;
    double fast, slow; /* nanoseconds: the quartiles of the last timing */
    json_t *list, *left_out;
    const char
        *failed;  /* the call that has failed since the last limit was recorded; NULL if none has */
    cl_int error; /* OpenCL's code of that call */
    bool well;
} bench_limits;

/* A kernel that only does arithmetic. Its first arguments are the results and `loops`. */
typedef struct bench_arithmetic {
    const char *name, *source, *kernel, *options;
    const char *kind, *dtype; /* "vector" or "matrix"; the type's name */
    bool may_lack;            /* not all compilers of this kind of device support it */
    double operations, once;  /* of a work-item: per loop, and outside the loop */
    float result;             /* expected result of each work-item */
} bench_arithmetic;

/* Measures the limits into `c`, whose lists the caller releases. Returns false if a kernel gives a
 * wrong result, or the device fails. */
bool bench_limits_measure(bench_session *session, bench_limits *c);

/* Returns true if options->filter selects a limit of this name. */
bool bench_limit_wanted(const bench_limits *c, const char *name);

/* Records a limit that cannot be measured here, with the reason. */
void bench_limit_left_out(bench_limits *c, const char *name, const char *why);

/* Measures and records the limit. The kernel's arguments after `loops` are two 32-bit words. */
void bench_measure_arithmetic(bench_limits *c, const bench_arithmetic *a, cl_uint first,
                              cl_uint second);

/* Measures the bandwidth of each cache whose size is known: on a CPU from the operating system, on
 * a GPU from the driver. Caches of unknown size are recorded as left out. */
void bench_measure_caches(bench_limits *c);

/* Measures and records the bandwidth at which `items` work-items together read a range of `window`
 * bytes again and again. `level`: the memory level that holds the range, or NULL. The work-items
 * must have equal shares of the range's 16-byte vectors. */
void bench_measure_read(bench_limits *c, const char *name, const char *level, uint64_t window,
                        size_t items);

/* Measures the device's matrix units for each supported type; with options->emulated, the emulation
 * of all known units. */
void bench_measure_units(bench_limits *c);

#endif
