/* What the questions of tenon-bench share. */
#ifndef BENCH_QUESTIONS_H
#define BENCH_QUESTIONS_H

#include "bench.h"

#include <jansson.h>

/* The question at hand and its answers so far. */
typedef struct bench_asking {
    const bench_session *session;
    json_t *all, *rows;
    bool well; /* the file could be written */
} bench_asking;

typedef enum bench_verdict { BENCH_NO, BENCH_YES, BENCH_UNKNOWN } bench_verdict;

/* What comes of one trial; written at once. `why` may be NULL, `format` says what was tried. */
__attribute__((format(printf, 4, 5))) void bench_answer(bench_asking *asking, bench_verdict works,
                                                        const char *why, const char *format, ...);

/* A program's kernel; NULL where there is no program, or none of that name in it. */
cl_kernel bench_kernel_of(cl_program program, const char *name);

/* Runs a kernel whose first argument is for floats. Why it did not do what it should; NULL where
 * each work-item wrote 1. */
const char *bench_all_ones(const bench_asking *asking, cl_kernel kernel);

/* Of NVIDIA's driver alone: which instructions it assembles, which target its PTX names, and
 * whether PTX loads that was edited. */
void bench_ask_assembler(bench_asking *asking);
void bench_ask_target(bench_asking *asking);
void bench_ask_edited_ptx(bench_asking *asking);

#endif
