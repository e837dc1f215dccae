/* Tests devices whose information cannot be read, completely or in part. */
#include "common/cl_faults.h"
#include "common/processor.h"
#include "common/temporary.h"
#include "runtime.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/probe/constants.h"
#include "runtime/context/context.h"

#include <CL/cl_ext.h>

typedef struct query {
    cl_device_info what;
    const char *name;
} query;
#define QUERY(what)                                                                                \
    {                                                                                              \
        what, #what                                                                                \
    }

static const query needed[] = {
    QUERY(CL_DEVICE_TYPE),
    QUERY(CL_DEVICE_NAME),
    QUERY(CL_DEVICE_VENDOR),
    QUERY(CL_DEVICE_VERSION),
    QUERY(CL_DRIVER_VERSION),
    QUERY(CL_DEVICE_PLATFORM),
    QUERY(CL_DEVICE_EXTENSIONS),
    QUERY(CL_DEVICE_COMPILER_AVAILABLE),
    QUERY(CL_DEVICE_MAX_COMPUTE_UNITS),
    QUERY(CL_DEVICE_GLOBAL_MEM_SIZE),
    QUERY(CL_DEVICE_MAX_MEM_ALLOC_SIZE),
    QUERY(CL_DEVICE_LOCAL_MEM_SIZE),
    QUERY(CL_DEVICE_MEM_BASE_ADDR_ALIGN),
    QUERY(CL_DEVICE_MAX_WORK_GROUP_SIZE),
    QUERY(CL_DEVICE_MAX_WORK_ITEM_SIZES),
};

/* Ordered like the values of hint_of. */
static const query hints[] = {
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT),
    QUERY(CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE),
    QUERY(CL_DEVICE_HOST_UNIFIED_MEMORY),
    QUERY(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE),
};

/* Imports or creates a context; creating also selects the device. */
static tenon_status make(bool import, tenon_context **out)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    *out = test_context;
    assert_ok(tenon_context_device(test_context, &info));
    return import ? tenon_context_import(tenon_context_cl(test_context), info.device, NULL, out)
                  : tenon_context_create(NULL, out);
}

static void assert_unreadable(tenon_status wanted, cl_int error, const char *name)
{
    for (int import = 0; import < 2; import++) {
        tenon_context *context;
        tenon_status status = make(import == 1, &context);
        if (status != wanted)
            fail_msg("without %s: %s", name, tenon_status_string(status));
        assert_null(context);
        assert_contains(tenon_last_error(), name);
        assert_contains(tenon_last_error(), tn_cl_error_string(error));
        assert_int_equal(tenon_last_cl_error(), error);
    }
}

TEST(what_is_needed_must_be_read)
{
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        faults_fail_query("clGetDeviceInfo", needed[i].what, CL_INVALID_VALUE);
        assert_unreadable(TENON_ERROR_OPENCL, CL_INVALID_VALUE, needed[i].name);
        faults_fail_query("clGetDeviceInfo", needed[i].what, CL_OUT_OF_HOST_MEMORY);
        assert_unreadable(TENON_ERROR_OUT_OF_MEMORY, CL_OUT_OF_HOST_MEMORY, needed[i].name);
    }
    faults_fail_all("clGetPlatformInfo", CL_INVALID_PLATFORM);
    assert_unreadable(TENON_ERROR_OPENCL, CL_INVALID_PLATFORM, "CL_PLATFORM_NAME");
    faults_end();
}

static uint64_t hint_of(const tn_device *device, size_t number)
{
    const uint64_t values[] = {device->info.vector_width_f32, device->vector_width_f64,
                               device->info.unified_memory, device->model.cache_size};
    return values[number];
}

TEST(hints_may_be_unknown)
{
    const uint64_t unknown[] = {1, 1, test_context->device.is_cpu, 0};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        faults_fail_query("clGetDeviceInfo", hints[i].what, CL_INVALID_VALUE);
        for (int import = 0; import < 2; import++) {
            tenon_context *context;
            assert_ok(make(import == 1, &context));
            for (size_t j = 0; j < sizeof hints / sizeof *hints; j++)
                assert_int_equal(hint_of(&context->device, j),
                                 i == j ? unknown[j] : hint_of(&test_context->device, j));
            tenon_context_release(context);
        }
        faults_fail_query("clGetDeviceInfo", hints[i].what, CL_OUT_OF_RESOURCES);
        assert_unreadable(TENON_ERROR_OUT_OF_MEMORY, CL_OUT_OF_RESOURCES, hints[i].name);
    }
    faults_end();
}

/* Fails each call of a function in turn: the context is created completely or not at all. */
static void fail_each(const char *function, bool import)
{
    bool struck = true;
    for (unsigned nth = 1; struck; nth++) {
        tenon_context *context;
        fail_before();
        faults_fail_next(function, CL_OUT_OF_HOST_MEMORY, nth);
        tenon_status status = make(import, &context);
        struck = faults_end() == 1;
        if (!struck)
            assert_as_before();
        if (status != (struck ? TENON_ERROR_OUT_OF_MEMORY : TENON_OK))
            fail_msg("%s number %u: %s: %s", function, nth, tenon_status_string(status),
                     tenon_last_error());
        assert_int_equal(context == NULL, struck);
        tenon_context_release(context);
    }
}

TEST(nothing_is_made_without_memory)
{
    static const char *const allocators[] = {"malloc", "calloc", "realloc"};
    fail_each("clGetDeviceInfo", true);
    fail_each("clGetPlatformInfo", true);
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
        for (int import = 0; import < 2; import++)
            fail_each(allocators[i], import == 1);
}

/* A device that cannot be read appears in the list with a note. */
TEST(a_list_says_what_is_broken)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    uint32_t count = 0;
    fail_before();
    faults_fail_query("clGetDeviceInfo", CL_DEVICE_NAME, CL_INVALID_DEVICE);
    assert_ok(tenon_device_list(&info, 1, &count));
    assert_true(faults_end() > 0);
    assert_true(count > 0);
    assert_as_before();
    assert_null(info.device);
    assert_contains(info.note, "CL_DEVICE_NAME");
    assert_contains(info.note, "CL_INVALID_DEVICE");
}

/* A driver that cannot divide its devices. */
TEST(divisions)
{
    tenon_device_info whole = TENON_DEVICE_INFO_INIT, part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    assert_ok(tenon_context_device(test_context, &whole));
    snprintf(selector, sizeof selector, "%s/1:0", whole.selector);
    faults_fail_next("clCreateSubDevices", CL_DEVICE_PARTITION_FAILED, 1);
    assert_refused(tenon_device_select(selector, &part), TENON_ERROR_UNSUPPORTED_DEVICE,
                   "tenon_device_select", "CL_DEVICE_PARTITION_FAILED");
    assert_int_equal(faults_end(), 1);
    assert_null(part.device);
}

/* The truncated name keeps its beginning, which selectors of devices use. */
TEST(a_long_platform_name_is_cut)
{
    char name[300];
    tenon_context *context;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    const char *const own = test_context->device.info.platform_name;
    memcpy(name, own, strlen(own));
    for (int import = 0; import < 2; import++) {
        tenon_device_info info = TENON_DEVICE_INFO_INIT;
        faults_answer_query("clGetPlatformInfo", CL_PLATFORM_NAME, name, sizeof name);
        assert_ok(make(import == 1, &context));
        assert_true(faults_end() > 0);
        assert_ok(tenon_context_device(context, &info));
        assert_int_equal(strlen(info.platform_name), sizeof info.platform_name - 1);
        assert_memory_equal(info.platform_name, name, sizeof info.platform_name - 1);
        tenon_context_release(context);
    }
    static const char pocl[] = "Portable Computing Language";
    faults_answer_query("clGetPlatformInfo", CL_PLATFORM_NAME, pocl, sizeof pocl);
    assert_ok(make(true, &context));
    faults_end();
    assert_true(context->device.keeps_builds);
    tenon_context_release(context);
}

TEST(more_dimensions_than_three_are_read)
{
    static const size_t sizes[] = {4096, 2048, 1024, 512};
    tenon_context *context;
    faults_answer_query("clGetDeviceInfo", CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes, sizeof sizes);
    assert_ok(make(true, &context));
    faults_end();
    assert_memory_equal(context->device.max_work_item, sizes, sizeof context->device.max_work_item);
    tenon_context_release(context);
}

/* Creates a context of the test's device with a driver that reports this cache size. */
static tenon_context *make_with_cache(cl_ulong cache, const tenon_store *store)
{
    faults_answer_query("clGetDeviceInfo", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache, sizeof cache);
    tenon_context *context = test_context_with(.store = *store);
    assert_true(faults_end() > 0);
    assert_int_equal(context->device.driver_cache, cache);
    return context;
}

/* A CPU's constants are measured regardless of the cache size that the driver reports. */
TEST(constants_are_measured_whatever_the_driver_reports)
{
    static const cl_ulong caches[] = {0, 2 << 20, 480 << 20, 1 << 30};
    processor p = processor_usual();
    if (!test_context->device.is_cpu)
        skip();
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        char *folder = temporary_make();
        const tenon_store store = {.kind = TENON_STORE_FOLDER, .folder = folder};
        tenon_context *context = make_with_cache(caches[i], &store);
        p.units = context->device.info.compute_units;
        p.lanes = context->device.model.kind->lanes;
        processor_put(&p, test_random_for(76));
        context->constants.take = processor_take;
        tn_constants_need(context);
        assert_int_equal(processor_at_hand.taken, 1);
        assert_ptr_equal(context->device.model.kind, &context->constants.kind);
        assert_int_equal(context->device.model.cache_size, p.cache);
        assert_int_equal(context->device.driver_cache, caches[i]);
        tenon_context_release(context);
        temporary_remove(folder);
    }
}
