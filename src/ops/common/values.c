#include "ops/common/values.h"

#include "ops/common/epilogue.h"

tenon_status tn_value_check(const char *caller, const char *argument, tenon_context *context,
                            tenon_dtype dtype)
{
    if (dtype == TENON_DTYPE_I32 || dtype == TENON_DTYPE_U32 || dtype == TENON_DTYPE_I64)
        return TENON_OK;
    return tn_float_check(caller, argument, context, dtype);
}

const char *tn_value_options(uint32_t dtype)
{
    switch (dtype) {
    case TENON_DTYPE_F64:
        return "-DTENON_DTYPE=1";
    case TENON_DTYPE_F16:
        return "-DTENON_DTYPE=3";
    case TENON_DTYPE_BF16:
        return "-DTENON_DTYPE=4";
    case TENON_DTYPE_I32:
        return "-DTENON_DTYPE=2 -DTENON_INTEGER=32";
    case TENON_DTYPE_U32:
        return "-DTENON_DTYPE=2 -DTENON_INTEGER=32 -DTENON_UNSIGNED=1";
    case TENON_DTYPE_I64:
        return "-DTENON_DTYPE=2 -DTENON_INTEGER=64";
    default:
        return "-DTENON_DTYPE=2";
    }
}

uint32_t tn_value_size(uint32_t dtype)
{
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_I64 ? 8 : 4;
}
