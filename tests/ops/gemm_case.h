/* What the tests of products share: cases of tenon_gemm, also for i8 and u8 and by a packed b, and
 * their trial on every solver. */
#ifndef TEST_OPS_GEMM_CASE_H
#define TEST_OPS_GEMM_CASE_H

#include "fixture.h"

#include "ops/gemm/int8.h"

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

/* How b is packed before each call. */
typedef enum gemm_pack { NOT_PACKED, IN_PANELS, IN_ROWS } gemm_pack;

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
    gemm_pack pack;
    /* Of products of i8 and u8: */
    tenon_dtype a_type, b_type, d_type;
    bool bias_i32;    /* where d is not i32 anyway */
    uint32_t vectors; /* bit i: scale or zero point i is there, where d can have it */
    uint32_t many;    /* bit i: it has more than one element */
} gemm_case;

#define ALL_VECTORS ((1U << INT8_VECTORS) - 1)

/* 13 x 37 x 41; in panels; and u8 by i8, f32 from all scales and zero points that this can have.
 * Their batch has rank 0, and the sizes 2, 3, 2 where a test gives it one. */
extern const gemm_case simple_gemm, simple_packed, simple_int8;

/* A case of other sizes. */
gemm_case gemm_of(const gemm_case *like, int64_t m, int64_t n, int64_t k);

/* With c and the bias of some forms, which are read, and layouts of c and d that go with them. */
gemm_case gemm_of_forms(const gemm_case *like, gemm_form c, gemm_form bias);

/* Sizes, batches, layouts, forms and scalars by chance, of at most 400,000 products; a and b in one
 * of five pairs of layouts, since each is a build of its own, and an activation that is not. */
gemm_case random_gemm(test_random *random);

/* The types that products of i8 and u8 may have; ends with TENON_DTYPE_INVALID. */
#define INT8_RESULTS 6
extern const tenon_dtype int8_results[INT8_RESULTS + 1];

/* Every kind; the last two need a build of their own. */
#define GEMM_ACTIVATIONS 5
extern const tenon_activation gemm_activations[GEMM_ACTIVATIONS];

/* Operands of tn_operation_gemm_int8 besides those of GEMM: scales and zero points by their
 * numbers, and d behind them. */
#define INT8_VECTOR(number) (GEMM_D + (number))

/* What a form says of c or the bias, over m by n elements without a batch. */
tenon_tensor gemm_term(tenon_dtype dtype, gemm_form form, test_layout layout, int64_t m, int64_t n,
                       int64_t offset);

/* A call of the case; of i8 and u8 it has types of its own. */
void begin_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype);

/* With its operands, filled for the judge; what must not be read is left poisoned. Of i8 and u8 an
 * exact result has small integers, and scales that are powers of two. */
void make_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random);

/* Whether integers must give an exact result. */
bool gemm_is_exact(const gemm_case *p);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(), where the case has no types of its own. */
void check_gemm_typed(const gemm_case *p, tenon_dtype dtype, test_random *random);
void check_gemm(const gemm_case *p, test_random *random);

/* check_gemm by other sizes. */
void check_gemm_sizes(const gemm_case *like, int64_t m, int64_t n, int64_t k, test_random *random);

/* Packs a view; "rows", "panels" or NULL. */
tenon_packed *pack_matrix(const tenon_tensor *b, const char *layout);

#endif
