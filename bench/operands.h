/* Operands of a case: random values in memory of the host and of the device, in as many copies as
 * it takes to be larger than the caches, where that matters. */
#ifndef BENCH_OPERANDS_H
#define BENCH_OPERANDS_H

#include "bench.h"

#define BENCH_MAX_OPERANDS 6
#define BENCH_MAX_COPIES   64

typedef struct bench_operand {
    tenon_tensor view; /* no memory: see bench_operands.memory */
    tenon_tensor host; /* a dense view of the values, as references take it; of the first copy */
    float *values[BENCH_MAX_COPIES]; /* the same values as floats, for peers; NULL for others */
    bool is_output;
} bench_operand;

typedef struct bench_operands {
    bench_operand operand[BENCH_MAX_OPERANDS];
    tenon_memory memory[BENCH_MAX_COPIES][BENCH_MAX_OPERANDS];
    uint32_t count;
    int copies;
} bench_operands;

/* Adds an operand of a row-major shape; absent operands have rank 0 and no type. */
void bench_operand_add(bench_operands *operands, tenon_dtype dtype, uint32_t rank,
                       const int64_t *shape, bool is_output);
void bench_operand_add_absent(bench_operands *operands);

/* Allocates and fills; with `beyond_cache`, as many copies as that takes. */
bool bench_operands_create(bench_session *session, bench_operands *operands, bool beyond_cache);
void bench_operands_destroy(bench_operands *operands);

/* Bytes of all operands, once. */
double bench_operands_bytes(const bench_operands *operands);

/* An output of the first copy as it is on the device, dense in the operand's type; the caller
 * frees it. */
void *bench_output(tenon_stream *stream, const bench_operands *operands, uint32_t number);

#endif
