/* Types of tensors of indices and lengths: i32 and i64. */
#ifndef TN_OPS_COMMON_INDEX_H
#define TN_OPS_COMMON_INDEX_H

#include "base/status.h"

#include <tenon/tensor.h>

/* Checks the type of a tensor of indices. */
tenon_status tn_index_check(const char *caller, const char *argument, const tenon_tensor *indices);

/* Returns the build option for the type (cl_kernels/common/index.clh), with a leading space; "" for
 * i32. */
const char *tn_index_option(uint32_t dtype);

#endif
