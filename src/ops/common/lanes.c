#include "ops/common/lanes.h"

#include "runtime/context/context.h"

int32_t tn_gpu_lanes(uint32_t dtype)
{
    return dtype == TENON_DTYPE_F64 ? 2 : 4;
}

uint32_t tn_stream_lanes(const tenon_context *context, uint32_t dtype)
{
    return context->device.is_cpu ? tn_lanes(context, dtype)
                                  : 16 / (uint32_t)tenon_dtype_size((tenon_dtype)dtype);
}

tn_rate tn_sum_rate(uint32_t dtype)
{
    return dtype == TENON_DTYPE_F64 ? TN_RATE_F64 : TN_RATE_F32;
}

uint32_t tn_lanes(const tenon_context *context, uint32_t dtype)
{
    if (!context->device.is_cpu)
        return (uint32_t)tn_gpu_lanes(dtype);
    const uint32_t native = dtype == TENON_DTYPE_F64 ? context->device.vector_width_f64
                                                     : context->device.info.vector_width_f32;
    return native < 2 ? 2 : native > 16 ? 16 : native;
}
