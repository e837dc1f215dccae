/* Types of tensors of indices and lengths. */
#include "ops/common/index.h"

tenon_status tn_index_check(const char *caller, const char *argument, const tenon_tensor *indices)
{
    if (indices->dtype == TENON_DTYPE_I32 || indices->dtype == TENON_DTYPE_I64)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be i32 or i64", caller,
                   argument, tenon_dtype_string(indices->dtype));
}

const char *tn_index_option(uint32_t dtype)
{
    return dtype == TENON_DTYPE_I64 ? " -DTENON_INDEX=long" : "";
}
