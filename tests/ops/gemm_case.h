/* Test cases of matrix products: calls of tenon_gemm, including those of i8 and u8 and with a
 * packed b, and their run on every solver. */
#ifndef TEST_OPS_GEMM_CASE_H
#define TEST_OPS_GEMM_CASE_H

#include "fixture.h"

#include "ops/gemm/int8.h"

/* Shapes of c and the bias, which are broadcast to d. */
typedef enum gemm_form {
    FORM_NONE,
    FORM_FULL,    /* d's shape */
    FORM_COLUMNS, /* shape N */
    FORM_ROWS,    /* shape M 1 */
    FORM_SCALAR,  /* rank 0 */
    FORM_SAME,    /* d itself; only for c */
    FORMS
} gemm_form;

/* Packing of b before each call. */
typedef enum gemm_pack { NOT_PACKED, IN_PANELS, IN_ROWS } gemm_pack;

#define MAX_BATCH_RANK 3

typedef struct gemm_case {
    int64_t m, n, k;
    uint32_t batch_rank;
    int64_t batch[MAX_BATCH_RANK];
    uint32_t a_once, b_once; /* bit i: the matrix has size 1 in batch dimension i */
    bool a_flat, b_flat;     /* the matrix has rank 2 */
    test_layout a, b, c, d;
    bool gap; /* gaps between the matrices of a batch */
    int64_t offset;
    gemm_form c_form, bias_form;
    uint32_t c_once, bias_once; /* like a_once, for FORM_FULL */
    double alpha, beta;
    tenon_activation activation;
    uint32_t flags;
    gemm_pack pack;
    /* For products of i8 and u8: */
    tenon_dtype a_type, b_type, d_type;
    bool bias_i32;    /* if d is not i32, in which case the bias always is */
    uint32_t vectors; /* bit i: scale or zero point i is present, if d can have it */
    uint32_t many;    /* bit i: it has more than one element */
} gemm_case;

#define ALL_VECTORS ((1U << INT8_VECTORS) - 1)

/* 13 x 37 x 41: plain; packed in panels; and u8 by i8 to f32 with all scales and zero points that
 * it supports. Their batch has rank 0; the sizes are 2, 3, 2 if a test gives it one. */
extern const gemm_case simple_gemm, simple_packed, simple_int8;
#define SIMPLE_GEMM .m = 13, .n = 37, .k = 41, .batch = {2, 3, 2}, .alpha = 1
/* simple_gemm with other members. */
#define gemm_like(...) TENON_LITERAL(gemm_case, SIMPLE_GEMM, __VA_ARGS__)

/* Returns a case with other sizes. */
gemm_case gemm_of(const gemm_case *like, int64_t m, int64_t n, int64_t k);

/* Returns a case with c and bias in the given forms, scalars with which they are read, and suitable
 * layouts of c and d. */
gemm_case gemm_of_forms(const gemm_case *like, gemm_form c, gemm_form bias);

/* Returns a case with random sizes, batch, layouts, forms and scalars, and at most 400,000
 * products. a and b have one of five pairs of layouts, since each requires a build, and an
 * activation that requires none. */
gemm_case random_gemm(test_random *random);

/* Result types of i8 and u8 products, terminated by TENON_DTYPE_INVALID. */
#define INT8_RESULTS 6
extern const tenon_dtype int8_results[INT8_RESULTS + 1];

/* One activation of every kind; the last two require a build of their own. */
#define GEMM_ACTIVATIONS 5
extern const tenon_activation gemm_activations[GEMM_ACTIVATIONS];

/* Returns the parameters of tenon_gemm for a call of tn_operation_gemm or tn_operation_gemm_int8,
 * with the scales and zero points among its views. */
tenon_gemm_params gemm_params_of(const void *params, const tenon_tensor *const *v);

/* Returns the view of c or the bias in a form, for m by n elements without a batch. */
tenon_tensor gemm_term(tenon_dtype dtype, gemm_form form, test_layout layout, int64_t m, int64_t n,
                       int64_t offset);

/* Begins a call of the case. Cases of i8 and u8 have types of their own. */
void begin_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype);

/* Begins a call and fills its operands as the judge requires; operands that must not be read remain
 * poisoned. For exact results, i8 and u8 products use small integers and scales that are powers of
 * two. */
void make_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random);

/* Fills an operand, numbered as those of products of i8 and u8, with values that suit the judge. */
void fill_int8_operand(test_tensor *tensor, uint32_t operand, test_judge judge,
                       test_random *random);

/* Returns true if integers must give an exact result. */
bool gemm_is_exact(const gemm_case *p);

/* Run every solver on random reals and, if the result can be exact, on integers: in one type, or in
 * every type of test_float_types() unless the case has its own types. */
void check_gemm_typed(const gemm_case *p, tenon_dtype dtype, test_random *random);
void check_gemm(const gemm_case *p, test_random *random);

/* Runs check_gemm with other sizes. */
void check_gemm_sizes(const gemm_case *like, int64_t m, int64_t n, int64_t k, test_random *random);

/* Packs a matrix; the layout is "rows", "panels" or NULL. */
tenon_packed *pack_matrix(const tenon_tensor *b, const char *layout);

#endif
