/* Tests failures of NVIDIA's drivers: edited PTX that is refused, local memory that is smaller or
 * larger than reported, a lost device. The test's driver is made to look like one of NVIDIA's. */
#include "common/cl_faults.h"
#include "gemm_case.h"
#include "kept.h"

#include "ops/registry.h"
#include "runtime/context/context.h"
#include "runtime/probe/local_memory.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

/* The array is that of LOCAL_MEMORY with the least alignment. */
#define PTX_OF(target)                                                                             \
    ".version 7.8\n.target " target ", texmode_independent\n.address_size 64\n"                    \
    "\t.shared .align 16 .b8 trial_$_tenon_grows[16];\n\t//tenon:wgmma.fence.sync.aligned;\n"
#define EDITED(bytes)                                                                              \
    ".version 8.0\n.target sm_90a, texmode_independent\n.address_size 64\n"                        \
    "\t.shared .align 16 .b8 trial_$_tenon_grows[" bytes "];\n\twgmma.fence.sync.aligned;\n"

static void look_like_nvidia(tenon_context *context)
{
    tenon_stream *validation;
    assert_ok(tn_validation_enter(context, &validation));
    tn_device *devices[] = {&context->device, &validation->context->device};
    for (int i = 0; i < 2; i++) {
        devices[i]->is_cpu = devices[i]->keeps_builds = false;
        devices[i]->speaks_nvidia = true;
        devices[i]->info.local_memory = 48 << 10;
    }
    tn_validation_leave(context);
}

static tenon_context *nvidia(void)
{
    tenon_context *context = test_new_context(NULL);
    look_like_nvidia(context);
    return context;
}

static void tries(tenon_context *context, tn_local_method way, uint64_t bytes, bool works,
                  const char *why)
{
    char reason[256];
    bool found;
    assert_ok(tn_local_memory_try(context, way, bytes, &found, reason));
    if (found != works || strstr(reason, why) == NULL)
        fail_msg("%s of %u: %d, %s", tn_local_method_name(way), (unsigned)bytes, found, reason);
}

/* Arrays and kernel arguments in local memory work on any device. */
TEST(local_memory_is_tried_by_a_kernel)
{
    tenon_context *context = nvidia();
    tries(context, TN_LOCAL_ARRAY, 30000, true, "can be written and read back");
    tries(context, TN_LOCAL_ARGUMENT, 30000, true, "can be written and read back");
    tries(context, TN_LOCAL_ENLARGED, 16, false, "the driver's binary is not PTX");
    tenon_context_release(context);
}

TEST(arrays_are_enlarged_in_ptx)
{
    static const struct {
        const char *ptx, *why;
    } bad[] = {{PTX_OF("sm_80"), "not for sm_90"},
               {".version 8.0\n.target sm_90\n", "no array of local memory"},
               {"", "not PTX"}};
    tenon_context *context = nvidia();
    faults_give_ptx(PTX_OF("sm_90"));
    tries(context, TN_LOCAL_ENLARGED, 16, true, "can be written and read back");
    assert_string_equal(faults_loaded_ptx(), EDITED("16"));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        faults_give_ptx(bad[i].ptx);
        /* Another size, since the program of the first is already built. */
        tries(context, TN_LOCAL_ENLARGED, 32 + 16 * i, false, bad[i].why);
        assert_string_equal(faults_loaded_ptx(), "");
    }
    faults_give_ptx(NULL);
    tenon_context_release(context);
}

TEST(a_driver_may_refuse_the_edited_text)
{
    static const struct {
        const char *function;
        cl_int error;
        unsigned nth;
    } faults[] = {{"clCreateProgramWithBinary", CL_INVALID_BINARY, 1},
                  {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE, 2}};
    tenon_context *context = nvidia();
    faults_give_ptx(PTX_OF("sm_90"));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        faults_fail_next(faults[i].function, faults[i].error, faults[i].nth);
        tries(context, TN_LOCAL_ENLARGED, 16, false,
              "clBuildProgram of the edited PTX returned CL_");
        assert_int_equal(faults_end(), 1);
    }
    tries(context, TN_LOCAL_ENLARGED, 16, true, "can be written and read back");
    faults_give_ptx(NULL);
    tenon_context_release(context);
}

/* Fails every third allocation in turn: this trial may fail, and the next one succeeds. */
TEST(memory_that_is_short)
{
    unsigned struck = 1;
    for (unsigned nth = 1; struck > 0; nth += 3) {
        tenon_context *context = nvidia();
        char reason[256];
        bool works;
        faults_give_ptx(PTX_OF("sm_90"));
        faults_fail_next("malloc", CL_OUT_OF_HOST_MEMORY, nth);
        const tenon_status status =
            tn_local_memory_try(context, TN_LOCAL_ENLARGED, 16, &works, reason);
        struck = faults_end();
        assert_true(status == TENON_ERROR_OUT_OF_MEMORY || status == TENON_OK);
        tries(context, TN_LOCAL_ENLARGED, 16, true, "can be written and read back");
        faults_give_ptx(NULL);
        tenon_context_release(context);
    }
}

/* If launches fail for lack of resources, no size that is tried is available, whatever the driver
 * reports. Sizes that no caller requests are not tried. */
TEST(less_than_it_says)
{
    char reason[256];
    tn_local_method way;
    tenon_context *context = nvidia();
    faults_fail_all("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES);
    assert_true(tn_local_memory_fits(context, 32 << 10, &way));
    assert_int_equal(way, TN_LOCAL_ARRAY);
    assert_false(tn_local_memory_fits(context, (32 << 10) + 1, &way));
    assert_int_equal(tn_local_memory_most(context, TN_LOCAL_ARRAY, reason), 0);
    assert_contains(reason, "CL_OUT_OF_RESOURCES");
    assert_true(faults_end() > 0);
    tenon_context_release(context);
}

/* The driver provides more than the 48 KiB that it reports. Larger sizes are tried only on request.
 */
TEST(more_than_it_says)
{
    tn_local_method way;
    tenon_context *context = nvidia();
    assert_true(tn_local_memory_fits(context, 100 << 10, &way));
    assert_int_equal(way, TN_LOCAL_ARRAY);
    assert_false(tn_local_memory_fits(context, (227 << 10) + 1, &way));
    /* The reports of other drivers are trusted. */
    context->device.speaks_nvidia = false;
    assert_false(tn_local_memory_fits(context, 60 << 10, &way));
    context->device.is_cpu = true;
    assert_false(tn_local_memory_fits(context, 60 << 10, &way));
    assert_true(tn_local_memory_fits(context, 48 << 10, &way));
    tenon_context_release(context);
}

/* Lasting refusals are stored for the next process; failures that may be temporary are not. */
TEST(what_is_found_is_kept)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    tn_local_method way;
    for (int run = 0; run < 3; run++) {
        kept_open(&s, &store);
        look_like_nvidia(s.context);
        if (run == 0)
            faults_fail_next("clBuildProgram", CL_BUILD_PROGRAM_FAILURE, 1);
        assert_true(tn_local_memory_fits(s.context, 40 << 10, &way));
        assert_int_equal(way, TN_LOCAL_ARGUMENT);
        if (run == 0)
            assert_int_equal(faults_end(), 1);
        kept_see(&s);
        assert_int_equal(s.seen.trials, run == 0 ? 2 : 0);
        kept_close(&s);
    }
    temporary_remove(folder);
}

static void run_line(tenon_context *context, const char *line)
{
    tn_case c;
    tn_case_result result;
    tenon_stream *stream = test_new_stream(context);
    memset(&c, 0, sizeof c);
    assert_ok(tn_case_parse_line(line, TENON_DTYPE_INVALID, &c));
    assert_ok(tn_case_run(stream, &c, &result));
    assert_true(result.served);
    if (!result.right)
        fail_msg("%s: %s", line, result.why);
    tenon_stream_destroy(stream);
}

/* 192 KiB of local memory, while arrays are limited to 48 KiB. */
TEST(products_take_an_argument)
{
    tenon_context *context = nvidia();
    tn_capability_set(context, TENON_CAPABILITY_NVIDIA_WGMMA,
                      -1); /* there is no PTX to test here */
    tn_local_memory_set(context, TN_LOCAL_ARRAY, 48 << 10);
    tn_local_memory_set(context, TN_LOCAL_ARGUMENT, 227 << 10);
    tn_local_memory_set(context, TN_LOCAL_ENLARGED, 0);
    run_line(context, "gemm/wgmma:em1,mb128,nb256,wm2,wn1,kb64,st4 a=f16:133x72 b=f16:72x130 "
                      "d=f16:133x130");
    run_line(context, "gemm_int8/wgmma:em1,mb128,nb256,wm2,wn1,kb128 a=i8:133x72 b=u8:72x130 "
                      "d=i32:133x130");
    tenon_context_release(context);
}

/* A product with a kernel that marks places in its PTX runs normally, and its PTX has been edited.
 */
TEST(products_run_from_edited_ptx)
{
    tenon_context *context = test_new_context(NULL);
    tn_capability_set(context, TENON_CAPABILITY_NVIDIA_WGMMA, 1);
    faults_give_ptx(PTX_OF("sm_90"));
    run_line(context, "gemm/wgmma:em1 a=f16:65x72 b=f16:72x130 d=f16:65x130");
    assert_string_equal(faults_loaded_ptx(), EDITED("16"));
    faults_give_ptx(NULL);
    tenon_context_release(context);
}

int main(void)
{
    return test_main_alone();
}
