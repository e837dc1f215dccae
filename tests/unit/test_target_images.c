/* Tests which solvers convolutions and poolings of images use on GPUs that are not present. */
#include "common/testing.h"

#include "dispatch/plan.h"
#include "runtime/context/target.h"

#include <tenon/conv.h>
#include <tenon/conv_backward.h>
#include <tenon/pool.h>

#include <string.h>

typedef enum layout { NCHW, NHWC, LAYOUTS } layout;

/* The kernels that a plan builds, in order. */
typedef struct heard {
    char kernels[512];
    size_t most_work_group;
} heard;

static void listen(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    heard *h = user;
    size_t length = strlen(h->kernels);
    (void)source;
    (void)options;
    snprintf(h->kernels + length, sizeof h->kernels - length, "%s ", kernel);
    h->most_work_group = work_group > h->most_work_group ? work_group : h->most_work_group;
}

static tenon_tensor image(layout how, int64_t n, int64_t c, int64_t side)
{
    const int64_t shape[] = {n, c, side, side};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 4, shape);
    if (how == NHWC) {
        view.stride[1] = 1;
        view.stride[3] = c;
        view.stride[2] = side * c;
    }
    return view;
}

static tenon_context *target(const char *kind, heard *h)
{
    tenon_context *context;
    *h = (heard){{0}, 0};
    assert_int_equal(tn_target_context(tn_device_kind_named(kind), listen, h, &context), TENON_OK);
    return context;
}

/* Checks that the plan's name and its kernels contain these strings. */
static void close(tenon_context *context, tenon_plan *plan, const heard *h, const char *name,
                  const char *kernel)
{
    if (strstr(plan->name, name) == NULL || strstr(h->kernels, kernel) == NULL)
        fail_msg("%s: planned as %s with %s, expected %s with %s", context->device.model.kind->name,
                 plan->name, h->kernels, name, kernel);
    assert_true(h->most_work_group <= 256);
    tenon_plan_release(plan);
    tenon_context_release(context);
}

static void check_depthwise(const char *kind, layout how)
{
    const tenon_tensor x = image(how, 8, 64, 56), w = image(NCHW, 64, 1, 3);
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_conv_backward_params backward = TENON_CONV_BACKWARD_PARAMS_INIT;
    tenon_plan *plan;
    heard h;
    params.groups = backward.groups = 64;
    for (int d = 0; d < 2; d++) {
        params.geometry.pad_begin[d] = params.geometry.pad_end[d] = 1;
        backward.geometry.pad_begin[d] = backward.geometry.pad_end[d] = 1;
    }
    tenon_context *context = target(kind, &h);
    assert_int_equal(tenon_conv_forward_plan(context, &params, &x, &w, NULL, NULL, &x, &plan),
                     TENON_OK);
    close(context, plan, &h, "conv/depthwise:vw1,rows", "conv_depthwise_columns");
    context = target(kind, &h);
    assert_int_equal(tenon_conv_backward_data_plan(context, &backward, &x, &w, &x, &plan),
                     TENON_OK);
    close(context, plan, &h, "conv_backward_data/depthwise:vw1", "conv_depthwise_columns");
    context = target(kind, &h);
    assert_int_equal(tenon_conv_backward_filter_plan(context, &backward, &x, &x, &w, &plan),
                     TENON_OK);
    /* The sums of 9 taps by 128 work-items exceed PowerVR's 4 KiB. */
    if (context->device.info.local_memory < 9 * 128 * sizeof(float))
        close(context, plan, &h, "conv_backward_filter/direct", "conv_backward_filter");
    else
        close(context, plan, &h, "conv_backward_filter/depthwise:vw1",
              "conv_depthwise_filter_items");
}

static void check_pool(const char *kind, layout how)
{
    const tenon_tensor x = image(how, 8, 64, 56), y = image(how, 8, 64, 28),
                       one = image(how, 8, 64, 1);
    tenon_pool_params params = TENON_POOL_PARAMS_INIT;
    tenon_plan *plan;
    heard h;
    params.kind = TENON_POOL_AVERAGE;
    for (int d = 0; d < 2; d++) {
        params.window[d] = 2;
        params.geometry.stride[d] = 2;
    }
    tenon_context *context = target(kind, &h);
    assert_int_equal(tenon_pool_forward_plan(context, &params, &x, &y, NULL, &plan), TENON_OK);
    close(context, plan, &h, "pool/items", "pool_forward_items");
    context = target(kind, &h);
    assert_int_equal(tenon_pool_backward_plan(context, &params, NULL, &y, NULL, &x, &plan),
                     TENON_OK);
    close(context, plan, &h, "pool_backward/items", "pool_backward_items");
    params.flags = TENON_POOL_GLOBAL;
    context = target(kind, &h);
    assert_int_equal(tenon_pool_forward_plan(context, &params, &x, &one, NULL, &plan), TENON_OK);
    close(context, plan, &h, "pool/groups", "pool_forward_groups");
}

TEST(solvers_of_depthwise_and_pooling)
{
    for (size_t k = 0; k < tn_device_kind_count; k++)
        for (int how = 0; how < LAYOUTS && !tn_device_kind_is_cpu(&tn_device_kinds[k]); how++) {
            check_depthwise(tn_device_kinds[k].name, (layout)how);
            check_pool(tn_device_kinds[k].name, (layout)how);
        }
}

/* Each transform is one launch, and another solver computes the products between them. */
TEST(solvers_of_winograd)
{
    static const char *const solvers[] = {"conv/winograd2_gemm", "conv/winograd4_gemm"};
    for (size_t k = 0; k < tn_device_kind_count; k++)
        for (int i = 0; i < 2 * LAYOUTS && !tn_device_kind_is_cpu(&tn_device_kinds[k]); i++) {
            const layout how = (layout)(i / 2);
            const tenon_tensor x = image(how, 4, 128, 30), w = image(NCHW, 128, 128, 3),
                               y = image(how, 4, 128, 28);
            tenon_conv_params params = TENON_CONV_PARAMS_INIT;
            tenon_plan *plan;
            heard h;
            tenon_context *context = target(tn_device_kinds[k].name, &h);
            params.solver = solvers[i % 2];
            assert_int_equal(
                tenon_conv_forward_plan(context, &params, &x, &w, NULL, NULL, &y, &plan), TENON_OK);
            assert_non_null(strstr(h.kernels, "conv_winograd_filter_points "
                                              "conv_winograd_tile_points gemm_"));
            close(context, plan, &h, solvers[i % 2], " conv_winograd_outputs ");
        }
}
