/* Convolutions with packed filters as test fixtures. */
#ifndef TEST_OPS_PACKED_CASE_H
#define TEST_OPS_PACKED_CASE_H

#include "conv_case.h"

#include "ops/packed/internal.h"

/* Packs filters in panels. */
tenon_packed *pack_filters(const tenon_tensor *w);

/* Makes a case of tenon_conv_forward (conv_begin, conv_make) a call with filters in panels, by the
 * solvers of `family`. No solver of conv transforms the filters: the bounds are those of plain
 * sums. */
void packed_begin(test_fixture *f, const conv_case *p, tenon_dtype dtype, const tn_family *family);
void packed_make(test_fixture *f, const conv_case *p, tenon_dtype dtype, const tn_family *family,
                 test_judge judge, test_random *random);

#endif
