/* What the files that measure a device's limits share. */
#ifndef BENCH_DEVICE_LIMITS_H
#define BENCH_DEVICE_LIMITS_H

#include "bench.h"

#include <jansson.h>

#define BENCH_GROUP 256 /* work-items of a group of a GPU's */

typedef struct bench_limits {
    bench_session *session;
    cl_command_queue queue;
    cl_program program;
    cl_mem x, y;
    uint64_t bytes; /* of each of the two */
    size_t items;   /* work-items that fill the device */
    size_t group;   /* of them in a work-group: on a CPU one, with vectors of its own */
    int lanes;      /* of a CPU's vectors of f32; 0: no CPU */
    json_t *list, *left_out;
    const char *failed; /* the call that did since the last limit was noted; NULL: none */
    cl_int error;       /* its */
    bool well;
} bench_limits;

/* A kernel of arithmetic alone: its results and then `loops` are its first arguments. */
typedef struct bench_arithmetic {
    const char *name, *source, *kernel, *options;
    bool may_lack;           /* not every compiler that has its like takes it */
    double operations, once; /* of a work-item: in a loop, and beside them */
    float result;            /* of each work-item */
} bench_arithmetic;

/* Whether options->filter asks for a limit of this name. */
bool bench_limit_wanted(const bench_limits *c, const char *name);

/* What cannot be measured here, and why. */
void bench_limit_left_out(bench_limits *c, const char *name, const char *why);

/* Measures it and notes the limit; its arguments after `loops` are two words, as bits. */
void bench_measure_arithmetic(bench_limits *c, const bench_arithmetic *a, cl_uint first,
                              cl_uint second);

/* The matrix units that the device has, in each type that it multiplies; with options->emulated all
 * that there are, in their emulation. */
void bench_measure_units(bench_limits *c);

#endif
