/*
 * Cases: one call of an operation in words, so that a failure can be repeated by a line.
 *
 *   tenon check SOLVER [OPERATION] OPERAND=VIEW … [FIELD=VALUE[,VALUE…] …] --seed N [--integers]
 *
 * SOLVER is a solver's name (plan.h has the grammar), or a family's name alone for the automatic
 * choice. OPERATION is needed where the family serves several: without it, it is the first. A VIEW
 * is TYPE:SHAPE[/STRIDES][+OFFSET], as f32:3x5/8,1+2 (offset in elements; row-major without
 * strides; nothing after the colon is a scalar), or @NAME for the very view of another operand;
 * blanks in an operand's name are underscores. FIELDs are those of the parameter struct that are
 * not as its initialiser has them.
 */
#ifndef TN_CHECK_CASE_H
#define TN_CHECK_CASE_H

#include "check/host.h"
#include "dispatch/operation.h"

#define TN_CASE_TEXT_SIZE TN_REPEAT_SIZE

/* Room for the parameters of any operation. */
typedef union tn_case_params {
    tn_params_head head;
    double align;
    unsigned char bytes[TN_PARAMS_SIZE];
} tn_case_params;

typedef struct tn_case {
    const tn_operation *operation;
    char solver[TN_SOLVER_NAME_SIZE]; /* "gemm/tiled:…", or "gemm" for the automatic choice */
    uint64_t seed;
    bool integers; /* small ones as inputs, so that the result must be exact */
    tn_case_params params;
    /* Without memory. The type of one that is absent is 0. */
    tenon_tensor views[TN_MAX_OPERANDS];
    uint32_t same[TN_MAX_OPERANDS]; /* 1 + the number of the operand that it is; 0: itself */
    /* Of an awkward case: the context that it is for, and what the solver's parameters are for it
     * alone, where they are not 0. */
    tenon_context *context;
    int32_t values[TN_MAX_PARAMETERS];
} tn_case;

/* Reads the words after "tenon check" as a call of one of the registry's operations (ops/registry.h
 * has the same for those of the library). `type` is what T stands for; 0 where there is none. Says
 * what is wrong as a failure of the command `asked`. */
tenon_status tn_case_read(const tn_registry *registry, const char *asked, const char *const *words,
                          uint32_t count, tenon_dtype type, tn_case *out);

/* The same from one line whose words blanks separate, as a failure of "tenon check". */
tenon_status tn_case_read_line(const tn_registry *registry, const char *line, tenon_dtype type,
                               tn_case *out);

/* The line that repeats the case. Returns `text`. */
char *tn_case_text(const tn_case *c, char text[TN_CASE_TEXT_SIZE]);

/* A case from a call at hand: parameters, NULL for the defaults; views in the operation's order,
 * NULL where absent. Views of the same memory and the same elements become one. A NULL solver is
 * the automatic choice. */
void tn_case_make(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views, const char *solver, uint64_t seed,
                  tn_case *out);

/* The plan of a case's call by a solver; NULL: the automatic choice. */
tenon_status tn_case_plan(tenon_context *context, const tn_case *c, const char *solver,
                          tenon_plan **plan);

typedef struct tn_case_result {
    bool served; /* false: the solver says in `why` that it cannot */
    bool right;  /* false: `why` says what differed */
    char why[256];
    char solver[TN_SOLVER_NAME_SIZE]; /* what ran; "" for an empty output */
    double error_over_bound;          /* the largest, of the elements whose bound is not 0 */
} tn_case_result;

/* Runs a case on random values and compares outputs with the reference, and all other bytes with
 * what they were. Fails where the call does, otherwise than by a solver that cannot serve. */
tenon_status tn_case_run(tenon_stream *stream, const tn_case *c, tn_case_result *result);

/* What a registry names: its check, and the words of a call. */
tenon_status tn_oracle(tenon_stream *validation, const tn_family *family, const tn_problem *problem,
                       const tn_choice *choice, bool *right, char why[256]);
void tn_case_text_of_call(const tn_call *call, char text[TN_REPEAT_SIZE]);

/* For tn_operation.fill_valid: random integers from low to high, or reals in [low, high]. */
void tn_case_integers(const tenon_tensor *view, int64_t low, int64_t high, uint64_t *seed);
void tn_case_reals(const tenon_tensor *view, double low, double high, uint64_t *seed);
/* Reals in [-1, 1], and every third in [-100, 0], where exp() has a tail and does not overflow. */
void tn_case_tails(const tenon_tensor *view, uint64_t *seed);

#endif
