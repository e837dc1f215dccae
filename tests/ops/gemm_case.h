/* What the tests of tenon_gemm share: problems, their tensors, and their trial on every
 * solver. */
#ifndef TEST_OPS_GEMM_CASE_H
#define TEST_OPS_GEMM_CASE_H

#include "support.h"

#include "ops/gemm/internal.h"

/* How c and the bias cover d. */
typedef enum gemm_form {
    FORM_NONE,
    FORM_FULL,    /* d's shape */
    FORM_COLUMNS, /* shape N */
    FORM_ROWS,    /* shape M 1 */
    FORM_SCALAR,  /* rank 0 */
    FORM_SAME,    /* d itself; c alone */
    FORMS
} gemm_form;

#define MAX_BATCH_RANK 3

typedef struct gemm_case {
    int64_t m, n, k;
    uint32_t batch_rank;
    int64_t batch[MAX_BATCH_RANK];
    uint32_t a_once, b_once; /* bit i: the matrix has size 1 in dimension i of the batch */
    bool a_flat, b_flat;     /* the matrix has rank 2 */
    test_layout a, b, c, d;
    bool gap; /* between the matrices of a batch */
    int64_t offset;
    gemm_form c_form, bias_form;
    uint32_t c_once, bias_once; /* as a_once, for FORM_FULL */
    double alpha, beta;
    tenon_activation activation;
    uint32_t flags;
} gemm_case;

extern const gemm_case simple_gemm;

/* Every kind; the last two need a build of their own. */
#define GEMM_ACTIVATIONS 5
extern const tenon_activation gemm_activations[GEMM_ACTIVATIONS];

typedef struct gemm_data {
    gemm_case problem;
    tenon_dtype dtype;
    tenon_dtype types[GEMM_OPERANDS]; /* dtype, but in products of i8 and u8 */
    test_judge judge;
    test_tensor operands[GEMM_OPERANDS];
    tn_bounded *expected;
} gemm_data;

/* Makes the operands of data->types, all poisoned. */
void create_gemm(gemm_data *data);

/* Makes the operands, filled for the judge. What must not be read is left poisoned. */
void make_gemm(gemm_data *data, const gemm_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random);
void destroy_gemm(gemm_data *data);

/* What is expected of the operands as they are now; what was expected before is dropped. */
void compute_gemm_reference(gemm_data *data);

/* The same with the bound of a solver. */
void compute_gemm_reference_of(gemm_data *data, const char *solver);

/* The view of an operand on the device or the host, NULL where it is absent. */
const tenon_tensor *gemm_view(const gemm_data *data, int operand, bool host);

tenon_gemm_params gemm_params(const gemm_case *p, const char *solver);
test_subject gemm_subject(const gemm_data *data);

/* The problem in words; user is a gemm_data. The text lasts until the next call. */
const char *describe_gemm(const void *user);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(). */
void check_gemm_typed(const gemm_case *p, tenon_dtype dtype, test_random *random);
void check_gemm(const gemm_case *p, test_random *random);

#endif
