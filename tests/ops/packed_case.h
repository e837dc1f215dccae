/* What the tests of packed weights share: tenon_gemm's cases, with b packed first. */
#ifndef TEST_OPS_PACKED_CASE_H
#define TEST_OPS_PACKED_CASE_H

#include "gemm_case.h"

#include "ops/packed/internal.h"

/* Packs a view; "rows", "panels" or NULL. */
tenon_packed *pack_matrix(const tenon_tensor *b, const char *layout);

/* The product of a GEMM case whose b is packed in panels before each call. */
test_subject packed_subject(const gemm_data *data);

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(). */
void check_packed_typed(const gemm_case *p, tenon_dtype dtype, test_random *random);
void check_packed(const gemm_case *p, test_random *random);

#endif
