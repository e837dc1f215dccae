/* Tests OpenCL calls and allocations that fail once or always: cached results, leaks and
 * error messages. */
#include "common/cl_faults.h"
#include "runtime.h"

#include "dispatch/plan.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/context/validation.h"

typedef struct fault {
    const char *function;
    cl_int error;
    unsigned nth;
} fault;

static uint32_t ask(tenon_context *context, tenon_capability capability)
{
    uint32_t available = 7;
    assert_ok(tenon_context_capability(context, capability, &available, NULL, 0));
    return available;
}

/* Makes a trial fail: an application's query fails, a choice of a solver treats the capability as
 * absent, and the next query repeats the trial. */
static void try_and_fail(tenon_capability capability, const fault *f)
{
    tenon_context *context = test_new_context(NULL);
    uint32_t available = 7;
    fail_before();
    faults_fail_next(f->function, f->error, f->nth);
    assert_false(tn_context_has(context, capability));
    assert_int_equal(faults_end(), 1);
    assert_as_before();
    assert_int_equal(ask(context, capability), test_has(capability));
    tenon_context_release(context);

    context = test_new_context(NULL);
    faults_fail_next(f->function, f->error, f->nth);
    tenon_status status = tenon_context_capability(context, capability, &available, NULL, 0);
    assert_int_equal(faults_end(), 1);
    if (status != TENON_ERROR_OUT_OF_MEMORY && status != TENON_ERROR_DEVICE_LOST)
        fail_msg("%s: %s", f->function, tenon_status_string(status));
    assert_int_equal(available, 7);
    assert_contains(tenon_last_error(), "tenon_context_capability");
    assert_contains(tenon_last_error(), tenon_capability_string(capability));
    assert_int_equal(ask(context, capability), test_has(capability));
    tenon_context_release(context);
}

TEST(trials_that_cannot_be_made_are_made_again)
{
    static const fault faults[] = {
        {"clCreateContext", CL_OUT_OF_HOST_MEMORY, 1},
        {"clCreateCommandQueue", CL_OUT_OF_RESOURCES, 1},
        {"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1},
        {"clCreateBuffer", CL_OUT_OF_RESOURCES, 1},
        {"clCreateProgramWithSource", CL_OUT_OF_HOST_MEMORY, 1},
        {"clBuildProgram", CL_OUT_OF_HOST_MEMORY, 1},
        {"clBuildProgram", CL_OUT_OF_RESOURCES, 1},
        {"clCreateKernel", CL_OUT_OF_HOST_MEMORY, 1},
        {"clCreateKernel", CL_OUT_OF_RESOURCES, 2},
        {"clSetKernelArg", CL_OUT_OF_RESOURCES, 1},
        {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, 1},
        {"clEnqueueNDRangeKernel", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1},
        {"clFinish", CL_OUT_OF_RESOURCES, 1},
        {"malloc", CL_OUT_OF_HOST_MEMORY, 1},
        {"calloc", CL_OUT_OF_HOST_MEMORY, 1},
        {"realloc", CL_OUT_OF_HOST_MEMORY, 1},
        {"malloc", CL_OUT_OF_HOST_MEMORY, 2}, /* the allocation of the message */
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        try_and_fail(TENON_CAPABILITY_NONTEMPORAL_STORE, &faults[i]);
}

/* If the compiler reports fast fma, it is not timed: a single launch checks that it is correct. */
TEST(fma_is_timed_only_where_the_compiler_says_nothing)
{
    tenon_context *context = test_new_context(NULL);
    if (!test_has(TENON_CAPABILITY_HARDWARE_FMA))
        skip();
    faults_delay("clEnqueueNDRangeKernel", ~0u);
    assert_int_equal(ask(context, TENON_CAPABILITY_HARDWARE_FMA), 1);
    const unsigned launches = faults_end();
    if (context->capabilities.results[TENON_CAPABILITY_HARDWARE_FMA].is_reported)
        assert_int_equal(launches, 1);
    else
        assert_true(launches >= 9);
    tenon_context_release(context);
}

/* Times fma in a new context, regardless of the compiler's report, with the current fault or delay.
 */
static tenon_status time_fma(tn_capability_result *result)
{
    tenon_context *context = test_new_context(NULL);
    tenon_stream *validation;
    assert_ok(tn_validation_enter(context, &validation));
    const tenon_status status = tn_capability_time_fma(validation, result);
    tn_validation_leave(context);
    tenon_context_release(context);
    return status;
}

TEST(a_launch_that_fails_while_fma_is_timed_is_told)
{
    for (unsigned nth = 1; nth <= 8; nth += 3) {
        tn_capability_result result = {0};
        faults_fail_next("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, nth);
        const tenon_status status = time_fma(&result);
        assert_int_equal(faults_end(), 1);
        assert_false(tn_failure_lasts(status));
        assert_int_not_equal(status, TENON_OK);
    }
}

TEST(what_a_driver_refuses_is_remembered)
{
    static const fault faults[] = {
        {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE, 1},
        {"clBuildProgram", CL_INVALID_BINARY, 1},
        {"clCreateKernel", CL_INVALID_KERNEL_DEFINITION, 1},
        {"clEnqueueNDRangeKernel", CL_INVALID_WORK_GROUP_SIZE, 1},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        tenon_context *context = test_new_context(NULL);
        fail_before();
        faults_fail_next(faults[i].function, faults[i].error, 1);
        assert_int_equal(ask(context, TENON_CAPABILITY_HARDWARE_FMA), 0);
        assert_int_equal(faults_end(), 1);
        assert_int_equal(ask(context, TENON_CAPABILITY_HARDWARE_FMA), 0);
        assert_as_before();
        tenon_context_release(context);
    }
}

/* Other processes delay launches: the first ones, or every second one for a while. */
TEST(a_busy_machine_does_not_make_fma_slow)
{
    static const unsigned delayed[] = {0x1f, 0xff, 0x5555, 0xaaaa};
    if (!test_has(TENON_CAPABILITY_HARDWARE_FMA))
        skip();
    for (size_t i = 0; i < sizeof delayed / sizeof *delayed; i++) {
        tn_capability_result result = {0};
        faults_delay("clEnqueueNDRangeKernel", delayed[i]);
        assert_ok(time_fma(&result));
        assert_true(faults_end() > 0);
        assert_true(result.available);
    }
}

/* Lack of memory is not reported as a missing type. */
TEST(types_are_not_refused_for_want_of_memory)
{
    tenon_context *context = test_new_context(NULL);
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const int64_t shape[] = {3};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F64, 1, shape);
    tenon_plan *plan;
    faults_fail_next("clCreateBuffer", CL_OUT_OF_RESOURCES, 1);
    assert_refused(tenon_activation_forward_plan(context, &params, &view, &view, &plan),
                   TENON_ERROR_OUT_OF_MEMORY, "tenon_activation_forward_plan", "f64");
    assert_int_equal(faults_end(), 1);
    assert_int_equal(tenon_last_cl_error(), CL_OUT_OF_RESOURCES);
    tenon_context_release(context);
}

static cl_uint map_count(const tenon_tensor *tensor)
{
    cl_uint count = 7;
    assert_ok(tenon_stream_finish(test_stream));
    assert_int_equal(
        clGetMemObjectInfo(tensor->memory.u.buffer, CL_MEM_MAP_COUNT, sizeof count, &count, NULL),
        CL_SUCCESS);
    return count;
}

TEST(nothing_stays_mapped_after_a_failure)
{
    float data[10] = {0};
    tenon_tensor x = make_tensor(test_context, 10);
    void *pointer = data;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    faults_fail_next("clEnqueueMarkerWithWaitList", CL_OUT_OF_RESOURCES, 1);
    assert_int_equal(tenon_tensor_map(test_stream, &x, TENON_MAP_WRITE, &pointer, &sync),
                     TENON_ERROR_OUT_OF_MEMORY);
    assert_int_equal(faults_end(), 1);
    assert_ptr_equal(pointer, data);
    assert_int_equal(map_count(&x), 0);
    faults_fail_next("clEnqueueUnmapMemObject", CL_OUT_OF_RESOURCES, 1);
    tenon_status status = tenon_tensor_upload(test_stream, data, sizeof data, &x, &sync);
    /* If memory is not shared, nothing is mapped. */
    assert_int_equal(status, faults_end() == 1 ? TENON_ERROR_OUT_OF_MEMORY : TENON_OK);
    assert_int_equal(map_count(&x), 0);
    if (event != NULL)
        clReleaseEvent(event);
    tenon_memory_destroy(&x.memory);
}

/* Two sub-buffers that share bytes. */
TEST(overlaps_are_not_overlooked)
{
    static const cl_mem_info asked[] = {CL_MEM_ASSOCIATED_MEMOBJECT, CL_MEM_OFFSET};
    tenon_tensor whole = make_tensor(test_context, 4096), part[2] = {whole, whole};
    for (size_t i = 0; i < 2; i++) {
        const cl_buffer_region region = {.origin = i * 4096, .size = 8192};
        cl_int error;
        part[i].shape[0] = 2048;
        part[i].memory.u.buffer = clCreateSubBuffer(whole.memory.u.buffer, CL_MEM_READ_WRITE,
                                                    CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
        assert_int_equal(error, CL_SUCCESS);
    }
    assert_refused(relu(test_stream, &part[0], &part[1], NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_activation_forward", "x overlaps the output y");
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        faults_fail_query("clGetMemObjectInfo", asked[i], CL_OUT_OF_HOST_MEMORY);
        assert_int_equal(relu(test_stream, &part[0], &part[1], NULL), TENON_ERROR_OUT_OF_MEMORY);
        assert_true(faults_end() > 0);
        assert_int_equal(tenon_last_cl_error(), CL_OUT_OF_HOST_MEMORY);
    }
    /* The memory of an empty view is not queried. */
    tenon_tensor nothing = part[0], none = part[1];
    nothing.shape[0] = none.shape[0] = 0;
    nothing.memory.u.buffer = NULL;
    assert_ok(relu(test_stream, &nothing, &none, NULL));
    for (size_t i = 0; i < 2; i++)
        tenon_memory_destroy(&part[i].memory);
    tenon_memory_destroy(&whole.memory);
}

/* A call with several launches. If one after the first fails, its error is kept. */
typedef tenon_status (*several)(void);

static void fail_each_launch(several call)
{
    bool struck = true;
    unsigned nth = 1;
    assert_ok(call());
    for (; struck; nth++) {
        faults_fail_next("clEnqueueNDRangeKernel", CL_MEM_OBJECT_ALLOCATION_FAILURE, nth);
        tenon_status status = call();
        struck = faults_end() == 1;
        assert_int_equal(status, !struck    ? TENON_OK
                                 : nth == 1 ? TENON_ERROR_OUT_OF_MEMORY
                                            : TENON_ERROR_INCOMPLETE);
        if (struck)
            assert_int_equal(tenon_last_cl_error(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    }
    assert_true(nth > 3);
    assert_ok(tenon_stream_finish(test_stream));
}

static tenon_tensor vectors[3]; /* of 100, 100 and 200 elements */

static tenon_status call_clip_by_norm(void)
{
    const tenon_tensor sum = tenon_tensor_slice(vectors[2], 0, 0, 1);
    tenon_tensor scalar;
    TN_TRY(tenon_tensor_reshape(&sum, 0, NULL, &scalar));
    return tenon_clip_by_norm(test_stream, NULL, vectors, 2, &scalar, NULL);
}

static tenon_status call_concat(void)
{
    const tenon_tensor *const inputs[] = {&vectors[0], &vectors[1]};
    return tenon_concat(test_stream, NULL, inputs, 2, &vectors[2], NULL);
}

static tenon_status call_pack(void)
{
    const int64_t shape[] = {2, 100};
    tenon_packed *packed = NULL;
    tenon_tensor b;
    tenon_pack_params params = tenon_pack_params(.layout = "panels");
    TN_TRY(tenon_tensor_reshape(&vectors[2], 2, shape, &b));
    tenon_status status = tenon_gemm_pack(test_stream, &params, &b, &packed, NULL);
    tenon_packed_release(packed);
    return status;
}

TEST(the_error_behind_half_a_call_is_kept)
{
    for (int i = 0; i < 3; i++) {
        vectors[i] = make_tensor(test_context, i < 2 ? 100 : 200);
        assert_ok(tenon_tensor_fill(test_stream, &vectors[i], 1, NULL));
    }
    fail_each_launch(call_clip_by_norm);
    fail_each_launch(call_concat);
    fail_each_launch(call_pack);
    for (int i = 0; i < 3; i++)
        tenon_memory_destroy(&vectors[i].memory);
}

TEST(packed_memory_that_fails_tells_why)
{
    const int64_t shape[] = {10, 10};
    tenon_packed *packed;
    tenon_tensor b = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    faults_fail_next("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 1);
    assert_refused(tenon_gemm_pack(test_stream, NULL, &b, &packed, NULL), TENON_ERROR_OUT_OF_MEMORY,
                   "tenon_gemm_pack", "clCreateBuffer returned CL_MEM_OBJECT_ALLOCATION_FAILURE");
    assert_int_equal(faults_end(), 1);
    assert_int_equal(tenon_last_cl_error(), CL_MEM_OBJECT_ALLOCATION_FAILURE);
    tenon_memory_destroy(&b.memory);
}
