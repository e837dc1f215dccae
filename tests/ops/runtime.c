#include "runtime.h"

tenon_tensor make_tensor(tenon_context *context, int64_t size)
{
    tenon_tensor tensor;
    const int64_t shape[] = {size};
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, shape, &tensor));
    return tensor;
}

tenon_status relu(tenon_stream *stream, const tenon_tensor *x, const tenon_tensor *y,
                  const tenon_sync *sync)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    params.activation.kind = TENON_ACTIVATION_RELU;
    return tenon_activation_forward(stream, &params, x, y, sync);
}

void fail_before(void)
{
    assert_int_equal(tn_fail_cl(TENON_ERROR_OPENCL, CL_MAP_FAILURE, "mine"), TENON_ERROR_OPENCL);
}

void assert_as_before(void)
{
    assert_string_equal(tenon_last_error(), "mine");
    assert_int_equal(tenon_last_cl_error(), CL_MAP_FAILURE);
}
