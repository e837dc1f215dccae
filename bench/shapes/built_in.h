/* The files of this folder, embedded by embed.py. */
#ifndef BENCH_SHAPES_BUILT_IN_H
#define BENCH_SHAPES_BUILT_IN_H

#include <stddef.h>

typedef struct bench_built_in {
    const char *name, *text;
    size_t length;
} bench_built_in;

extern const bench_built_in bench_built_in_files[];
extern const size_t bench_built_in_count;

#endif
