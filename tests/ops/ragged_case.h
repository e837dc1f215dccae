/* What the tests of tenon_gemm_ragged share: problems, their tensors, and their trial on every
 * solver. */
#ifndef TEST_OPS_RAGGED_CASE_H
#define TEST_OPS_RAGGED_CASE_H

#include "gemm_case.h"

#include "ops/gemm/ragged.h"

/* How the offsets divide the rows. */
typedef enum division {
    EVENLY,
    AT_RANDOM, /* all rows, some groups empty */
    WITHIN,    /* rows before and after all groups */
    ALL_EMPTY,
    RUBBISH, /* any numbers at all */
    DIVISIONS
} division;

typedef struct ragged_case {
    int64_t rows, k, n, groups;
    division division;
    test_layout a, b, c, d;
    bool gap; /* between the matrices of b */
    int64_t offset;
    gemm_form c_form, bias_form; /* the bias: FORM_FULL is groups by columns */
    double alpha, beta;
    tenon_activation activation;
} ragged_case;

extern const ragged_case simple_ragged;

typedef struct ragged_data {
    ragged_case problem;
    test_judge judge;
    tenon_dtype dtype;
    test_tensor operands[RAGGED_OPERANDS];
    tn_bounded *expected;
} ragged_data;

/* Makes the operands, filled for the judge. What must not be read is left poisoned. */
void make_ragged(ragged_data *data, const ragged_case *p, tenon_dtype dtype, test_judge judge,
                 test_random *random);
void destroy_ragged(ragged_data *data);

/* What is expected of the operands as they are now; what was expected before is dropped. */
void compute_ragged_reference(ragged_data *data);

tenon_gemm_ragged_params ragged_params(const ragged_case *p, const char *solver);
test_subject ragged_subject(const ragged_data *data);

/* An operand, c being d where the problem says so; NULL where it is absent. */
const tenon_tensor *ragged_view(const ragged_data *data, int operand, bool host);

/* The call; user is a ragged_data. */
tenon_status call_ragged(const void *user, const char *solver);

/* The problem in words. The text lasts until the next call. */
const char *describe_ragged(const void *user);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(). */
void check_ragged_typed(const ragged_case *p, tenon_dtype dtype, test_random *random);
void check_ragged(const ragged_case *p, test_random *random);

#endif
