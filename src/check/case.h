/*
 * Cases: a call of an operation as text, with which a failure can be reproduced:
 *
 *   tenon check SOLVER [OPERATION] OPERAND=VIEW ... [FIELD=VALUE[,VALUE...] ...] --seed N
 * [--integers]
 *
 * SOLVER is a solver's name (plan.h has the grammar), or only a family's name for the automatic
 * choice. OPERATION is needed if the family serves several; the default is the first. A VIEW is
 * TYPE:SHAPE[/STRIDES][+OFFSET], such as f32:3x5/8,1+2 (offset in elements; row-major without
 * strides; nothing after the colon is a scalar), or @NAME for the same view as another operand.
 * Blanks in an operand's name are written as underscores. FIELDs are members of the parameter
 * struct that differ from its initializer.
 */
#ifndef TN_CHECK_CASE_H
#define TN_CHECK_CASE_H

#include "check/host.h"
#include "dispatch/operation.h"

#define TN_CASE_TEXT_SIZE TN_REPEAT_SIZE

/* Holds the parameters of any operation. */
typedef union tn_case_params {
    tn_params_head head;
    double align;
    unsigned char bytes[TN_PARAMS_SIZE];
} tn_case_params;

typedef struct tn_case {
    const tn_operation *operation;
    char solver[TN_SOLVER_NAME_SIZE]; /* "gemm/tiled:...", or "gemm" for the automatic choice */
    uint64_t seed;
    bool integers; /* small integers as inputs, so the result must be exact */
    tn_case_params params;
    /* Without memory. An absent operand has type 0. */
    tenon_tensor views[TN_MAX_OPERANDS];
    uint32_t same[TN_MAX_OPERANDS]; /* 1 + the index of the operand that it is identical to; 0:
                                     * none */
    /* For an awkward case: its context, and the solver parameters that it overrides if not 0. */
    tenon_context *context;
    int32_t values[TN_MAX_PARAMETERS];
    bool same_options; /* it is left out if it would build another kernel variant, unless no case
                        * builds this one */
} tn_case;

/* Parses the words after "tenon check" as a call of one of the registry's operations
 * (ops/registry.h has a version for the library's). `type` replaces T; 0 if there is none. Errors
 * are reported as those of the command `asked`. */
tenon_status tn_case_read(const tn_registry *registry, const char *asked, const char *const *words,
                          uint32_t count, tenon_dtype type, tn_case *out);

/* Parses a line of blank-separated words. Errors are reported as those of "tenon check". */
tenon_status tn_case_read_line(const tn_registry *registry, const char *line, tenon_dtype type,
                               tn_case *out);

/* Writes the line that repeats the case. Returns `text`. */
char *tn_case_text(const tn_case *c, char text[TN_CASE_TEXT_SIZE]);

/* Makes a case from a call: parameters, NULL for the defaults; views in the operation's order,
 * NULL if absent. Views of the same memory and elements become one. A NULL solver means the
 * automatic choice. */
void tn_case_make(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views, const char *solver, uint64_t seed,
                  tn_case *out);

/* Creates the plan of a case's call with a solver; NULL: the automatic choice. */
tenon_status tn_case_plan(tenon_context *context, const tn_case *c, const char *solver,
                          tenon_plan **plan);

typedef struct tn_case_result {
    bool served; /* false: `why` has the solver's reason for not serving */
    bool right;  /* false: `why` describes the difference */
    char why[256];
    char solver[TN_SOLVER_NAME_SIZE]; /* the solver that ran; empty for an empty output */
    double error_over_bound;          /* maximum over the elements whose bound is not 0 */
} tn_case_result;

/* Runs a case on random values, compares the outputs with the reference, and all other bytes with
 * their original values. Fails if the call fails, except for a solver that cannot serve. */
tenon_status tn_case_run(tenon_stream *stream, const tn_case *c, tn_case_result *result);

/* Functions for the registry: its check, and the text of a call. */
tenon_status tn_oracle(tenon_stream *validation, const tn_family *family, const tn_problem *problem,
                       const tn_choice *choice, bool *right, char why[256]);
void tn_case_text_of_call(const tn_call *call, char text[TN_REPEAT_SIZE]);

/* For tn_operation.fill_valid: random integers from low to high, or reals in [low, high]. */
void tn_case_integers(const tenon_tensor *view, int64_t low, int64_t high, uint64_t *seed);
void tn_case_reals(const tenon_tensor *view, double low, double high, uint64_t *seed);
/* Reals in [-1, 1], and every third one in [-100, 0], where exp() underflows gradually but does
 * not overflow. */
void tn_case_tails(const tenon_tensor *view, uint64_t *seed);

#endif
