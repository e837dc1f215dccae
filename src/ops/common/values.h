/* Types whose elements are combined by scans and reductions of segments
 * (cl_kernels/scan/values.clh): f64, f32, f16, bf16, i32, u32 and i64. */
#ifndef TN_OPS_COMMON_VALUES_H
#define TN_OPS_COMMON_VALUES_H

#include "dispatch/solver.h"

/* Checks that a type is one of these, and that the device supports f64 if it is f64. */
tenon_status tn_value_check(const char *caller, const char *argument, tenon_context *context,
                            tenon_dtype dtype);

/* Returns the build options for a type. */
const char *tn_value_options(uint32_t dtype);

/* Returns the size in bytes of the type in which elements are combined. */
uint32_t tn_value_size(uint32_t dtype);

#endif
