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
