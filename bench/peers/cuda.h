/* What the peers on CUDA share. Its libraries are opened at run time and their functions declared
 * here by hand, so that the benchmark builds without them, and runs where they are not. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include "operands.h"

typedef uint64_t bench_cuda_address;

/* The card that the session's OpenCL device is, for CUDA. */
typedef struct bench_cuda {
    bool ready;
    int (*allocate)(bench_cuda_address *address, size_t bytes);
    int (*release)(bench_cuda_address address);
    int (*to_device)(bench_cuda_address to, const void *from, size_t bytes);
    int (*to_host)(void *to, bench_cuda_address from, size_t bytes);
    int (*synchronize)(void);
} bench_cuda;

/* Opens the driver, finds the card by its place on the bus and makes CUDA's context of it current;
 * NULL where the device is none of CUDA's. Done once; why not goes to stderr, once. */
const bench_cuda *bench_cuda_open(const bench_session *session);

/* Opens the first of the libraries that is there (names, NULL at the end); NULL, with a line on
 * stderr, where none is. */
void *bench_cuda_library(const char *what, const char *const *names);

/* A function of a library, or of the driver's; false, with a line on stderr, where it is not there.
 */
bool bench_cuda_find(void *library, const char *name, void *function);

/* The operands of a case in CUDA's memory. */
typedef struct bench_cuda_operands {
    const bench_operands *from;
    bench_cuda_address at[BENCH_MAX_COPIES][BENCH_MAX_OPERANDS];
} bench_cuda_operands;

bool bench_cuda_copy(const bench_cuda *cuda, const bench_operands *operands,
                     bench_cuda_operands *copied);
void bench_cuda_free(const bench_cuda *cuda, bench_cuda_operands *copied);

/* An element of an operand's first copy, as it is on the card; NaN where it cannot be read. */
double bench_cuda_element(const bench_cuda *cuda, const bench_cuda_operands *copied,
                          uint32_t number, int64_t element);

/* Whether a result is what it must be but for rounding: of a type's precision, to be trusted with
 * sums of `terms` products of numbers up to 1. Otherwise a line on stderr. */
bool bench_cuda_agrees(const char *who, tenon_dtype dtype, double got, double wanted,
                       int64_t terms);

#endif
