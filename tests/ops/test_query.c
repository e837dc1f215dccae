/* Tests tenon_supported and tenon_plan_inspect. */
#include "fixture.h"
#include "runtime.h"

#include "ops/registry.h"

/* Every example of every operation without packed weights is supported, and nothing is built for
 * the question. */
TEST(examples_are_supported)
{
    const uint64_t built = test_statistics(test_context).checks;
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *operation = tn_operations[i];
        test_fixture f;
        if (operation->served_as == NULL && operation->run != NULL)
            continue;
        if (strstr(operation->family->name, "packed") != NULL)
            continue;
        test_begin_line(&f, operation->examples[0], TENON_DTYPE_F32);
        const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
        for (uint32_t v = 0; v < operation->operand_count; v++)
            if (f.c.views[v].dtype != TENON_DTYPE_INVALID)
                views[v] = &f.c.views[v];
        if (tn_operation_supported(operation, test_context, f.c.params.bytes, views) != TENON_OK)
            fail_msg("%s: %s", operation->examples[0], tenon_last_error());
    }
    assert_int_equal(test_statistics(test_context).checks, built);
}

TEST(reasons)
{
    const int64_t shape[] = {4, 4}, other[] = {5, 6};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, shape),
                       b = tenon_tensor_view(TENON_DTYPE_F32, 2, other),
                       i = tenon_tensor_view(TENON_DTYPE_I32, 2, shape);
    const tenon_tensor *fits[] = {&a, &a, NULL, NULL, &a}, *mixed[] = {&a, &b, NULL, NULL, &a},
                       *integers[] = {&i, &i, NULL, NULL, &i};
    const tenon_gemm_params forced = tenon_gemm_params(.solver = "gemm/plain"),
                            unknown = tenon_gemm_params(.solver = "gemm/none");
    assert_ok(tenon_supported(test_context, "tenon_gemm", NULL, fits, 5));
    assert_ok(tenon_supported(test_context, "tenon_gemm", &forced, fits, 5));
    assert_refused(tenon_supported(test_context, "tenon_gemm", NULL, mixed, 5),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm", "b");
    assert_refused(tenon_supported(test_context, "tenon_gemm", NULL, integers, 5),
                   TENON_ERROR_UNSUPPORTED, "tenon_gemm", "i32");
    assert_refused(tenon_supported(test_context, "tenon_gemm", &unknown, fits, 5),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm", "none");
    assert_invalid(tenon_supported(test_context, "tenon_gemm", NULL, fits, 4), "count is 4");
    assert_invalid(tenon_supported(test_context, "gemm", NULL, fits, 5), "function is \"gemm\"");
    assert_invalid(tenon_supported(test_context, NULL, NULL, fits, 5), "function is NULL");
    assert_invalid(tenon_supported(NULL, "tenon_gemm", NULL, fits, 5), "context is NULL");
    assert_refused(tenon_supported(test_context, "tenon_gemm_packed", NULL, fits, 5),
                   TENON_ERROR_UNSUPPORTED, "tenon_supported", "packed");
}

TEST(facts_about_a_plan)
{
    const int64_t shape[] = {64, 64}, empty[] = {0, 64};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, shape),
                       none = tenon_tensor_view(TENON_DTYPE_F32, 2, empty);
    tenon_plan_info info = TENON_PLAN_INFO_INIT;
    char name[512], text[512];
    tenon_plan *plan;
    assert_ok(tenon_gemm_plan(test_context, NULL, &a, &a, NULL, NULL, &a, &plan));
    assert_ok(tenon_plan_inspect(plan, &info));
    assert_string_equal(info.operation, "gemm");
    assert_true(info.launches > 0 && info.estimate > 0 && info.estimate < 1);
    assert_true(info.workspace == tenon_plan_workspace(plan));
    snprintf(name, sizeof name, "%s/%s%s%s ", info.operation, info.solver,
             info.parameters[0] != '\0' ? ":" : "", info.parameters);
    tenon_plan_describe(plan, text, sizeof text);
    assert_memory_equal(text, name, strlen(name));
    assert_invalid(tenon_plan_inspect(NULL, &info), "plan is NULL");
    info.struct_size = 0;
    assert_invalid(tenon_plan_inspect(plan, &info), "struct_size is 0");
    assert_invalid(tenon_plan_inspect(plan, NULL), "info is NULL");
    tenon_plan_release(plan);
    info = (tenon_plan_info)TENON_PLAN_INFO_INIT;
    assert_ok(tenon_gemm_plan(test_context, NULL, &none, &a, NULL, NULL, &none, &plan));
    assert_ok(tenon_plan_inspect(plan, &info));
    assert_string_equal(info.solver, "nothing");
    assert_true(info.launches == 0 && info.workspace == 0);
    tenon_plan_release(plan);
}
