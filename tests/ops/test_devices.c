/* Tests the list of devices, selectors and capabilities. */
#include "runtime.h"

TEST(devices_are_listed)
{
    uint32_t count = 0, again = 0;
    assert_ok(tenon_device_list(NULL, 0, &count));
    assert_true(count > 0);
    tenon_device_info *infos = calloc(count, sizeof *infos);
    assert_non_null(infos);
    assert_invalid(tenon_device_list(infos, count, &again), "infos: struct_size is 0");
    infos[0].struct_size = sizeof *infos;
    assert_ok(tenon_device_list(infos, count, &again));
    assert_int_equal(again, count);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(infos[i].platform_name[0] != '\0');
        if (infos[i].device == NULL) {
            assert_true(infos[i].note[0] != '\0');
            continue;
        }
        assert_true(infos[i].compute_units > 0 && infos[i].max_allocation > 0);
        assert_true(infos[i].vector_width_f32 > 0);
        tenon_device_info same = TENON_DEVICE_INFO_INIT;
        assert_ok(tenon_device_select(infos[i].selector, &same));
        assert_ptr_equal(same.device, infos[i].device);
    }
    free(infos);
    assert_invalid(tenon_device_list(NULL, 0, NULL), "count");
    assert_invalid(tenon_device_list(NULL, 1, &count), "infos");
}

TEST(selectors)
{
    tenon_device_info mine = TENON_DEVICE_INFO_INIT, info = TENON_DEVICE_INFO_INIT;
    char fragment[16];
    assert_ok(tenon_context_device(test_context, &mine));
    assert_ok(tenon_device_select(mine.selector, &info));
    assert_ptr_equal(info.device, mine.device);
    assert_ok(tenon_device_select(NULL, &info));
    assert_ptr_equal(info.device, mine.device);
    assert_ok(tenon_device_select("", &info));
    assert_ptr_equal(info.device, mine.device);
    const char *type = (mine.type & CL_DEVICE_TYPE_CPU) != 0 ? "CPU" : "Gpu";
    assert_ok(tenon_device_select(type, &info));
    assert_true((info.type & mine.type) != 0);
    /* Part of the platform's name with its case inverted selects this device or an earlier match.
     */
    snprintf(fragment, sizeof fragment, "%.8s", mine.platform_name);
    for (char *c = fragment; *c != '\0'; c++)
        *c ^= (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ? 0x20 : 0;
    assert_ok(tenon_device_select(fragment, &info));
    assert_invalid(tenon_device_select("gpu", NULL), "info");
}

TEST(no_match_lists_what_there_is)
{
    static const char *const none[] = {"no such device", "accelerator", "99:0", "0:99", ":", "0:"};
    tenon_device_info mine = TENON_DEVICE_INFO_INIT, info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &mine));
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        if (i == 1 && tenon_device_select("accelerator", &info) == TENON_OK)
            continue;
        assert_refused(tenon_device_select(none[i], &info), TENON_ERROR_DEVICE_NOT_FOUND,
                       "tenon_device_select", none[i]);
        assert_contains(tenon_last_error(), mine.name);
        assert_contains(tenon_last_error(), mine.selector);
    }
    tenon_context *context = test_context;
    tenon_context_params params = tenon_context_params(.device = "no such device");
    assert_refused(tenon_context_create(&params, &context), TENON_ERROR_DEVICE_NOT_FOUND,
                   "tenon_context_create", "no such device");
    assert_null(context);
}

/* Multiplies two fixed matrices on the device and returns the result's bits in `d`. */
static void multiply(const char *selector, float d[35 * 33])
{
    enum { M = 35, N = 33, K = 61 };
    float a[M * K], b[K * N];
    tenon_context *context = NULL;
    tenon_stream *stream = NULL;
    tenon_context_params params = tenon_context_params(.device = selector);
    assert_ok(tenon_context_create(&params, &context));
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(context, &info));
    assert_string_equal(info.selector, selector);
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    assert_ok(tenon_stream_create(context, NULL, &stream));
    tenon_tensor ta, tb, td;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (const int64_t[]){M, K}, &ta));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (const int64_t[]){K, N}, &tb));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, (const int64_t[]){M, N}, &td));
    assert_ok(tenon_tensor_upload(stream, a, sizeof a, &ta, NULL));
    assert_ok(tenon_tensor_upload(stream, b, sizeof b, &tb, NULL));
    assert_ok(tenon_gemm(stream, NULL, &ta, &tb, NULL, NULL, &td, NULL));
    assert_ok(tenon_tensor_download(stream, &td, d, M * N * sizeof *d, NULL));
    tenon_tensor_destroy(&ta);
    tenon_tensor_destroy(&tb);
    tenon_tensor_destroy(&td);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

static void check_part(const tenon_device_info *whole, unsigned parts, unsigned index)
{
    static float expected[35 * 33], found[35 * 33];
    char selector[64];
    tenon_device_info part = TENON_DEVICE_INFO_INIT, again = TENON_DEVICE_INFO_INIT;
    snprintf(selector, sizeof selector, "%s/%u:%u", whole->selector, parts, index);
    assert_ok(tenon_device_select(selector, &part));
    assert_string_equal(part.selector, selector);
    assert_int_equal(part.compute_units, whole->compute_units / parts);
    assert_true(part.device != NULL && part.device != whole->device);
    assert_string_equal(part.name, whole->name);
    assert_ok(tenon_device_select(part.selector, &again));
    assert_ptr_equal(again.device, part.device);
    multiply(whole->selector, expected);
    multiply(selector, found);
    /* Sums of small integers are exact, whatever the solver. */
    assert_memory_equal(found, expected, sizeof found);
}

/* Parts of the device are devices, and are the same at every request. */
TEST(parts)
{
    tenon_device_info whole = TENON_DEVICE_INFO_INIT, first = TENON_DEVICE_INFO_INIT;
    char selector[sizeof whole.name + 16];
    assert_ok(tenon_context_device(test_context, &whole));
    const unsigned parts = whole.compute_units >= 2 ? 2 : 1;
    snprintf(selector, sizeof selector, "%s/%u", whole.selector, parts);
    const tenon_status status = tenon_device_select(selector, &first);
    if (status == TENON_ERROR_UNSUPPORTED_DEVICE) { /* the driver divides no device */
        assert_contains(tenon_last_error(), "clCreateSubDevices");
        return;
    }
    assert_ok(status);
    for (unsigned i = 0; i < parts; i++)
        check_part(&whole, parts, i);
    snprintf(selector, sizeof selector, "%s/%u:0", whole.selector, parts);
    assert_string_equal(first.selector, selector);
    snprintf(selector, sizeof selector, "%s/%u:0", whole.name, parts);
    assert_ok(tenon_device_select(selector, &first));
    assert_contains(first.selector, "/");
    assert_ok(tenon_device_select("/1", &first));
}

TEST(parts_that_do_not_exist)
{
    tenon_device_info whole = TENON_DEVICE_INFO_INIT, info = TENON_DEVICE_INFO_INIT;
    char selector[64];
    assert_ok(tenon_context_device(test_context, &whole));
    snprintf(selector, sizeof selector, "%s/1:1", whole.selector);
    assert_refused(tenon_device_select(selector, &info), TENON_ERROR_DEVICE_NOT_FOUND,
                   "tenon_device_select", "part 1 of 1");
    snprintf(selector, sizeof selector, "%s/%u", whole.selector, whole.compute_units + 1);
    assert_refused(tenon_device_select(selector, &info), TENON_ERROR_DEVICE_NOT_FOUND,
                   "tenon_device_select", "cannot be divided");
    static const char *const none[] = {"%s/0",          "%s/0:0",  "%s/",
                                       "%s/1:",         "%s/1:0x", "%s/-1",
                                       "%s/4294967296", "%s/1/1",  "no such device/1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        snprintf(selector, sizeof selector, none[i], whole.selector);
        assert_refused(tenon_device_select(selector, &info), TENON_ERROR_DEVICE_NOT_FOUND,
                       "tenon_device_select", selector);
    }
    assert_null(info.device);
}

TEST(capabilities_have_reasons)
{
    uint32_t available = 7;
    char reason[256], cut[5];
    for (int c = 0; c < TN_CAPABILITY_COUNT; c++) {
        assert_non_null(tenon_capability_string((tenon_capability)c));
        assert_ok(tenon_context_capability(test_context, (tenon_capability)c, &available, reason,
                                           sizeof reason));
        assert_true(available <= 1 && reason[0] != '\0');
    }
    assert_ok(
        tenon_context_capability(test_context, TENON_CAPABILITY_F64, &available, cut, sizeof cut));
    assert_true(strlen(cut) < sizeof cut);
    assert_null(tenon_capability_string((tenon_capability)TN_CAPABILITY_COUNT));
    assert_invalid(tenon_context_capability(test_context, (tenon_capability)TN_CAPABILITY_COUNT,
                                            &available, NULL, 0),
                   "capability");
    assert_invalid(tenon_context_capability(NULL, TENON_CAPABILITY_F64, &available, NULL, 0),
                   "context");
    assert_invalid(tenon_context_capability(test_context, TENON_CAPABILITY_F64, NULL, NULL, 0),
                   "available");
    assert_invalid(
        tenon_context_capability(test_context, TENON_CAPABILITY_F64, &available, NULL, 3),
        "reason");
}
