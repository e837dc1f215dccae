/* Tests the measurement of a GPU's copy bandwidth and its use in the device model: on simulated
 * GPUs, and with every OpenCL call that may fail. The test's device is made to look like a GPU. */
#include "common/cl_faults.h"
#include "kept.h"

#include "device/copy_speed.h"
#include "runtime/probe/constants.h"
#include "runtime/probe/copy_bandwidth.h"
#include "runtime/context/validation.h"

#include <math.h>

/* The copy bandwidth of an H200. The built-in table has the H100's. */
#define SPEED 4320.0

typedef struct gpu {
    double speed;
    unsigned runs, fails_at, noise;
} gpu;

static bool run(void *user, uint32_t copies, double *nanoseconds)
{
    gpu *g = user;
    g->runs++;
    *nanoseconds = copies * 1e9 / g->speed * (1 + g->noise * (g->runs % 3));
    return g->runs != g->fails_at;
}

static void look_like_gpu(tn_device *device)
{
    device->is_cpu = false;
    device->info.type = CL_DEVICE_TYPE_GPU;
    device->info.global_memory = (uint64_t)1 << 30;
    device->info.max_allocation = (uint64_t)1 << 28;
    device->model = (tn_model){tn_device_kind_named("sm_90"), 132, 4 << 20};
}

/* Determines the constants of a GPU with a probe, or without one if NULL; returns the bandwidth. */
static double bandwidth_with(const tenon_store *store, const tn_copy_probe *probe,
                             tenon_measurements measurements)
{
    tenon_stream *stream;
    tenon_context *context = test_context_with(.store = *store, .measurements = measurements);
    assert_ok(tn_validation_enter(context, &stream));
    look_like_gpu(&stream->context->device);
    tn_validation_leave(context);
    look_like_gpu(&context->device);
    context->constants.probe = probe;
    tn_constants_need(context);
    tn_constants_need(context);
    const double bandwidth = context->device.model.kind->memory.bandwidth;
    assert_string_equal(context->device.model.kind->name, "sm_90");
    tenon_context_release(context);
    return bandwidth;
}

static double bandwidth(const tenon_store *store, gpu *g)
{
    const tn_copy_probe probe = {run, g, 1e9, 132};
    return bandwidth_with(store, &probe, TENON_MEASUREMENTS_USUAL);
}

TEST(it_is_measured_once_and_kept)
{
    const double own = 3350 * exp2(0.5), table = 3350;
    char *folder = temporary_make(), name[256];
    const tenon_store store = kept_folder(folder), none = {.kind = TENON_STORE_NONE};
    gpu first = {.speed = SPEED}, second = {.speed = 100}, third = {.speed = SPEED};
    assert_true(fabs(bandwidth(&store, &first) - own) < 1);
    assert_int_equal(first.runs, 2 + TN_COPY_REPEATS);
    assert_true(fabs(bandwidth(&store, &second) - own) < 1);
    assert_int_equal(second.runs, 0);
    assert_int_equal(kept_count(folder, TN_STORE_CONSTANTS), 1);
    const tn_copy_probe probe = {run, &second, 1e9, 132};
    assert_true(bandwidth_with(&store, &probe, TENON_MEASUREMENTS_NONE) == table);
    assert_true(bandwidth(&none, &second) == table);
    assert_int_equal(second.runs, 0);
    assert_true(temporary_find(folder, ".constants", name));
    temporary_write(temporary_path(folder, name), "damaged", 7);
    assert_true(fabs(bandwidth(&store, &third) - own) < 1);
    assert_int_equal(third.runs, 2 + TN_COPY_REPEATS);
    temporary_remove(folder);
}

TEST(where_it_fails_the_table_stays)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    gpu bad[] = {{.speed = SPEED, .fails_at = 1},
                 {.speed = SPEED, .fails_at = 2},
                 {.speed = SPEED, .fails_at = 2 + TN_COPY_REPEATS},
                 {.speed = SPEED, .noise = 3},
                 {.speed = -SPEED},
                 {.speed = 1e-3},
                 {.speed = 1e9}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_true(bandwidth(&store, &bad[i]) == 3350);
        assert_int_equal(kept_count(folder, TN_STORE_CONSTANTS), 0);
        assert_int_equal(kept_count(folder, TN_STORE_RUNNING), 0);
    }
    temporary_remove(folder);
}

/* Errors of OpenCL: no memory, a kernel that does not compile or is refused, a failing queue. */
TEST(calls_that_fail_leave_the_table)
{
    static const struct {
        const char *call;
        cl_int error;
    } faults[] = {{"clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE},
                  {"clCreateProgramWithSource", CL_OUT_OF_HOST_MEMORY},
                  {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE},
                  {"clCreateKernel", CL_INVALID_KERNEL_NAME},
                  {"clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES},
                  {"clFinish", CL_OUT_OF_RESOURCES}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *folder = temporary_make();
        const tenon_store store = kept_folder(folder);
        faults_fail_all(faults[i].call, faults[i].error);
        assert_true(bandwidth_with(&store, NULL, TENON_MEASUREMENTS_USUAL) == 3350);
        if (faults_end() == 0)
            fail_msg("%s is not called", faults[i].call);
        assert_int_equal(kept_count(folder, TN_STORE_CONSTANTS), 0);
        temporary_remove(folder);
    }
}
