/* Operands of a case: random values in host and device memory, in enough copies to exceed the
 * caches if that is required. */
#ifndef BENCH_OPERANDS_H
#define BENCH_OPERANDS_H

#include "bench.h"

#define BENCH_MAX_OPERANDS 6
#define BENCH_MAX_COPIES   64

typedef struct bench_operand {
    tenon_tensor view; /* without memory; see bench_operands.memory */
    tenon_tensor host; /* dense view of the values of the first copy, for references */
    float
        *values[BENCH_MAX_COPIES]; /* the same values as floats, for peers; NULL for other types */
    bool is_output;
} bench_operand;

typedef struct bench_operands {
    bench_operand operand[BENCH_MAX_OPERANDS];
    tenon_memory memory[BENCH_MAX_COPIES][BENCH_MAX_OPERANDS];
    uint32_t count;
    int copies;
} bench_operands;

/* Adds an operand with a row-major shape. Absent operands have rank 0 and no type. */
void bench_operand_add(bench_operands *operands, tenon_dtype dtype, uint32_t rank,
                       const int64_t *shape, bool is_output);
void bench_operand_add_absent(bench_operands *operands);

/* Allocates and fills the operands, unless the session has no stream; with `beyond_cache`, in
 * enough copies to exceed the caches. */
bool bench_operands_create(bench_session *session, bench_operands *operands, bool beyond_cache);
void bench_operands_destroy(bench_operands *operands);

/* Returns the size of all operands in bytes, counting one copy. */
double bench_operands_bytes(const bench_operands *operands);

/* Returns a copy of an output of the first copy from the device, dense and in the operand's type;
 * the caller frees it. */
void *bench_output(tenon_stream *stream, const bench_operands *operands, uint32_t number);

#endif
