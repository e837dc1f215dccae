/* What the tests of random numbers, dropout and the optimizers share: operations on tensors of one
 * shape, which may differ in type and layout, or be absent. */
#ifndef TEST_OPS_LINES_CASE_H
#define TEST_OPS_LINES_CASE_H

#include "support.h"

#include "check/case.h"
#include "ops/common/lines.h"

#define LINES_MOST TENON_LINES_VIEWS

typedef struct lines_case {
    const tn_operation *of;
    tenon_dtype dtype[LINES_MOST]; /* TENON_DTYPE_INVALID: absent */
    uint32_t single;               /* a bit for each operand that has one element */
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[LINES_MOST][TENON_MAX_RANK];
    int64_t offset;
    bool in_place; /* operand 0 is the last one */
    const void *params;
    void (*describe)(const void *params, char *text, size_t size);
} lines_case;

typedef struct lines_run {
    lines_case problem;
    test_tensor operands[LINES_MOST];
} lines_run;

/* Gives every operand the strides of a layout. */
void lines_lay(lines_case *p, test_layout layout, bool gap);

/* Draws rank, shape, layouts and offset. `most` elements at the utmost. */
void lines_draw(lines_case *p, test_random *random, int64_t most);

/* Makes the operands, all poison. */
void lines_make(lines_run *run, const lines_case *p);

/* Runs it (all solvers, or the automatic choice alone), compares with the reference, and destroys
 * it. */
void lines_check(lines_run *run, test_judge judge, bool all);

/* The plans that the context keeps: calls that share one do not add to them. */
uint32_t lines_plans(void);

#endif
