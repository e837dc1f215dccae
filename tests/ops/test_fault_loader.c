/* Tests an OpenCL loader that lacks a function. The library looks up all functions only once, so
 * the process runs no other test. */
#include "common/cl_faults.h"
#include "common/testing.h"

#include <tenon/context.h>

TEST(the_missing_function_is_named)
{
    faults_hide("clEnqueueMarkerWithWaitList");
    for (int i = 0; i < 2; i++) {
        tenon_context *context = (tenon_context *)(uintptr_t)1;
        uint32_t count = 7;
        assert_int_equal(tenon_context_create(NULL, &context), TENON_ERROR_NO_OPENCL);
        assert_null(context);
        assert_string_equal(tenon_last_error(),
                            "tenon_context_create: OpenCL is not available: the loader lacks "
                            "clEnqueueMarkerWithWaitList");
        assert_int_equal(tenon_device_list(NULL, 0, &count), TENON_ERROR_NO_OPENCL);
        assert_contains(tenon_last_error(), "tenon_device_list: OpenCL is not available");
    }
}

int main(void)
{
    return test_run_group();
}
