/* What the tests of tenon_gemm for i8 and u8 share: problems, their tensors, and their trial on
 * every solver. */
#ifndef TEST_OPS_INT8_CASE_H
#define TEST_OPS_INT8_CASE_H

#include "gemm_case.h"

#include "ops/gemm/int8.h"

typedef struct int8_case {
    gemm_case gemm;
    tenon_dtype a, b, d;
    bool bias_i32;    /* where d is not i32 anyway */
    uint32_t vectors; /* bit i: scale or zero point i is there, where d can have it */
    uint32_t many;    /* bit i: it has more than one element */
} int8_case;

#define ALL_VECTORS ((1U << INT8_VECTORS) - 1)

/* 13 x 37 x 41, u8 by i8, f32 from all scales and zero points that this can have. */
extern const int8_case simple_int8;

/* The types that d may have; ends with TENON_DTYPE_INVALID. */
extern const tenon_dtype int8_results[];

typedef struct int8_data {
    int8_case problem;
    gemm_data gemm;
    test_tensor vectors[INT8_VECTORS];
    test_tensor operands[INT8_OPERANDS]; /* the same ones, d the last, for the harness */
    tn_bounded *expected;
} int8_data;

/* Makes the operands. For TEST_EXACT: small integers, and scales that are powers of two; for
 * TEST_BOUND, bytes of all of their range. */
void make_int8(int8_data *data, const int8_case *p, test_judge judge, test_random *random);
void destroy_int8(int8_data *data);

void upload_int8(const int8_data *data);

/* What is expected of the operands as they are now. */
void compute_int8_reference(int8_data *data);

/* With the views of scales and zero points on the device. */
tenon_gemm_params int8_params(const int8_data *data, const char *solver);

test_subject int8_subject(const int8_data *data);

/* Computes the reference and tries every solver. */
void try_int8(int8_data *data);

/* Tries every solver on both kinds of values. */
void check_int8(const int8_case *p, test_random *random);

#endif
