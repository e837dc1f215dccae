/* Tests the store with drivers that refuse their own binaries, and while allocations fail. */
#include "common/cl_faults.h"
#include "kept.h"

#include "runtime/context/context.h"

/* If a binary cannot be loaded, the kernel is recompiled, a warning is logged once, and the new
 * binary is stored. */
TEST(binaries_that_are_refused_are_compiled_again)
{
    static const struct {
        const char *function;
        cl_int error;
    } faults[] = {{"clCreateProgramWithBinary", CL_INVALID_BINARY},
                  {"clBuildProgram", CL_BUILD_PROGRAM_FAILURE},
                  {"clBuildProgram", CL_INVALID_BINARY}};
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    const uint64_t bits = kept_run(&s, &store);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        faults_fail_next(faults[i].function, faults[i].error, 1);
        assert_true(kept_run(&s, &store) == bits);
        assert_int_equal(faults_end(), 1);
        assert_int_equal(s.log.warnings, 1);
        assert_contains(s.log.warning, "the driver rejected its own binary of kernel");
        assert_contains(s.log.warning, "compiling it again");
        assert_int_equal(s.seen.programs_built, 1);
        assert_int_equal(s.seen.programs_loaded, 0);
        assert_int_equal(s.seen.checks + s.seen.trials, 0);
        assert_true(kept_run(&s, &store) == bits);
        assert_nothing_new(&s);
        assert_int_equal(s.log.warnings, 0);
    }
    temporary_remove(folder);
}

/* If the driver provides no binary, none is stored, and there is no warning. */
TEST(binaries_that_are_not_given_are_not_kept)
{
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    faults_fail_query("clGetProgramInfo", CL_PROGRAM_BINARY_SIZES, CL_OUT_OF_HOST_MEMORY);
    kept_run(&s, &store);
    faults_end();
    assert_int_equal(kept_count(folder, TN_STORE_PROGRAM), 0);
    assert_int_equal(s.log.warnings, 0);
    temporary_remove(folder);
}

/* Each allocation fails in turn with a full store: the call fails or is correct, and stored data
 * stays correct. */
TEST(allocations_that_fail_spoil_nothing)
{
    static const char *const functions[] = {"malloc", "calloc", "realloc"};
    char *folder = temporary_make();
    const tenon_store store = kept_folder(folder);
    kept_session s;
    const uint64_t bits = kept_run(&s, &store);
    for (int f = 0; f < 3; f++) {
        unsigned struck = 1;
        for (unsigned nth = 1; struck > 0; nth++) {
            uint32_t available;
            kept_open(&s, &store);
            faults_fail_next(functions[f], CL_OUT_OF_HOST_MEMORY, nth);
            tenon_status status = tenon_context_capability(s.context, TENON_CAPABILITY_HARDWARE_FMA,
                                                           &available, NULL, 0);
            struck = faults_end();
            assert_true(status == TENON_OK || status == TENON_ERROR_OUT_OF_MEMORY);
            assert_true(kept_product(&s) == bits);
            assert_int_equal(s.log.warnings, 0);
            kept_close(&s);
        }
    }
    kept_run(&s, &store);
    assert_nothing_new(&s);
    temporary_remove(folder);
}

int main(void)
{
    return test_main_alone();
}
