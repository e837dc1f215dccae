/*
 * Tests filters that are transformed when they are packed: the solver conv_packed/winograd4 around
 * the edges of tiles, vectors and panels, with the error bounds of conv/winograd4; the calls that
 * it refuses; and the transformed filters in the packed object.
 */
#include "objects.h"
#include "packed_case.h"

#include "dispatch/plan.h"
#include "dispatch/select.h"
#include "dispatch/state.h"
#include "dispatch/verdicts.h"
#include "ops/conv/forward/winograd.h"
#include "runtime/opencl/opencl.h"

#include <math.h>
#include <string.h>

static const char *const solvers[] = {"winograd4", NULL};

/* A small problem with channels last, and the same with other members. */
#define WINOGRAD_CONV      SIMPLE_CONV, .c = 19, .k = 37, .x = NHWC, .y = NHWC
#define winograd_conv(...) TENON_LITERAL(conv_case, WINOGRAD_CONV, __VA_ARGS__)

/* Sets the bounds of conv/winograd4, which are wider than those of plain sums. */
static void take_bounds(test_fixture *f)
{
    test_expect_of(f, "conv/winograd4", f->expected);
}

static void winograd_begin(test_fixture *f, const conv_case *p, tenon_dtype dtype)
{
    packed_begin(f, p, dtype, &tn_conv_packed_family);
    test_params(f, tenon_conv_params)->flags = 0;
    f->tighten = take_bounds;
}

/* Runs the solver on reals, with filters that are packed from any layout. */
static void check(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    winograd_begin(&f, p, dtype);
    conv_fill(&f, FORWARD, p, TEST_BOUND, random);
    test_finish_by(&f, solvers);
}

static bool is_cpu(void)
{
    return test_context->device.is_cpu;
}

/* Outputs from one element to two tiles and one element in each dimension, in all layouts. */
TEST(tile_edges)
{
    test_random random = test_random_for(1301);
    for (int64_t rows = 1; rows <= 9 && is_cpu(); rows++)
        for (int i = 0; i < 3; i++) {
            const int64_t columns = test_between(&random, 1, 9);
            conv_case p = winograd_conv(.offset = i);
            conv_pad(&p, rows > 2, rows > 4 ? 2 : 0, columns > 2, columns > 4 ? 2 : 0);
            p.size[0] = rows + 2 - p.geometry.pad_begin[0] - p.geometry.pad_end[0];
            p.size[1] = columns + 2 - p.geometry.pad_begin[1] - p.geometry.pad_end[1];
            p.x = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            p.y = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            p.w = (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1);
            check(&p, TENON_DTYPE_F32, &random);
        }
}

/* Channels around vectors, and filters around vectors and panels. */
TEST(channels_and_filters)
{
    static const int64_t cases[][2] = {{5, 1},   {15, 15}, {16, 17}, {17, 31},  {33, 65},
                                       {65, 63}, {6, 129}, {70, 8},  {31, 127}, {48, 64}};
    test_random random = test_random_for(1302);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && is_cpu(); i++) {
        conv_case p = winograd_conv(.c = cases[i][0], .k = cases[i][1], .w = (image_layout)(i % 2),
                                    .x = (image_layout)(i / 2 % 2), .y = (image_layout)(i / 2 % 2));
        conv_pad(&p, 1, 1, 1, 1);
        check(&p, TENON_DTYPE_F32, &random);
    }
}

/* Groups of one or two whole panels. */
TEST(groups)
{
    test_random random = test_random_for(1303);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int64_t panels = 1; panels <= 2 && is_cpu(); panels++) {
            conv_case p = winograd_conv(.groups = 3, .c = 15, .bias = true);
            p.k = 3 * panels * tn_winograd_panel(test_context, *type, INT64_MAX);
            conv_pad(&p, 1, 1, 1, 1);
            check(&p, *type, &random);
        }
}

TEST(every_type)
{
    test_random random = test_random_for(1304);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int layout = NCHW; layout <= NHWC && is_cpu(); layout++) {
            conv_case p = winograd_conv(.c = 35, .k = 40, .size = {13, 14, 1}, .bias = true,
                                        .x = (image_layout)layout, .y = (image_layout)layout,
                                        .residual = FULL_RESIDUAL, .beta = 0.5, .offset = 1);
            conv_pad(&p, 1, 0, 0, 1);
            check(&p, *type, &random);
        }
}

TEST(epilogues)
{
    static const uint32_t activations[] = {TENON_ACTIVATION_IDENTITY, TENON_ACTIVATION_RELU,
                                           TENON_ACTIVATION_CLIPPED_RELU, TENON_ACTIVATION_SILU};
    test_random random = test_random_for(1305);
    for (int residual = NO_RESIDUAL; residual <= IN_PLACE && is_cpu(); residual++) {
        conv_case p = winograd_conv(.residual = (conv_residual)residual, .bias = residual % 2 == 0,
                                    .alpha = 0.5, .k = 70,
                                    .activation = tn_activation_tried(activations[residual]));
        p.beta = residual == NO_RESIDUAL ? 0 : 0.75;
        conv_pad(&p, 1, 1, 1, 1);
        check(&p, TENON_DTYPE_F32, &random);
    }
}

/* Several images with more tiles than a set, rows around a run of tiles, and small workspaces. */
TEST(sets_and_workspaces)
{
    static const uint64_t limits[] = {0, 4 << 20, 400000, 150000};
    test_random random = test_random_for(1306);
    for (size_t i = 0; i < sizeof limits / sizeof *limits && is_cpu(); i++) {
        conv_case p = winograd_conv(.n = 3, .size = {14, 61 + (int64_t)i, 1}, .k = 70,
                                    .x = (image_layout)(i % 2), .y = (image_layout)(i % 2));
        if (limits[i] != 0)
            test_limit_workspace(limits[i]);
        check(&p, TENON_DTYPE_F32, &random);
        if (limits[i] != 0)
            test_usual_stream();
    }
}

TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(1307);
    for (int i = 0; i < 3; i++)
        for (uint32_t operand = CONV_X; operand < CONV_Y && is_cpu(); operand++) {
            test_fixture f;
            conv_case p = winograd_conv(.residual = FULL_RESIDUAL, .bias = true, .beta = 1);
            conv_pad(&p, 1, 1, 1, 1);
            winograd_begin(&f, &p, TENON_DTYPE_F32);
            conv_fill(&f, FORWARD, &p, TEST_BOUND, &random);
            conv_spoil(&f, operand, i, &random);
            test_finish_by(&f, solvers);
        }
}

/* Filters without elements or with one channel are not transformed, and other solvers serve calls
 * without anything to multiply. */
TEST(empty_and_thin_filters)
{
    test_random random = test_random_for(1308);
    for (int i = 0; i < 6; i++) {
        test_fixture f;
        conv_case p = winograd_conv(.bias = true);
        *(i == 0   ? &p.n
          : i == 1 ? &p.c
          : i == 2 ? &p.k
          : i == 3 ? &p.size[1]
                   : &p.c) = i == 4 ? 1 : 0;
        p.c = i == 5 ? 19 : p.c;
        p.alpha = i == 5 ? 0 : 1;
        conv_pad(&p, 3, 2, 2, 3);
        winograd_begin(&f, &p, TENON_DTYPE_F32);
        conv_fill(&f, FORWARD, &p, TEST_BOUND, &random);
        test_finish(&f, TEST_ALL);
    }
}

/* Packed filters of `k` x `c` x 3 x 3 elements, all 1 / 8. */
static tenon_packed *pack_3x3(tenon_dtype dtype, int64_t k, int64_t c)
{
    const int64_t shape[] = {k, c, 3, 3};
    tenon_tensor w = test_dense(dtype, 4, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 0.125, NULL));
    tenon_packed *packed = pack_filters(&w);
    tenon_memory_destroy(&w.memory); /* the enqueued copies continue */
    return packed;
}

/* Creates the plan of a convolution of one image of `size` x `size` pixels. */
static tenon_status plan_of(const tenon_packed *packed, image_layout layout, int64_t size,
                            const tenon_conv_params *params, tenon_plan **plan)
{
    const tenon_tensor filters = tenon_packed_view(packed);
    const int64_t image[] = {size, size}, result[] = {size - 2, size - 2};
    const tenon_tensor x = image_view(filters.dtype, layout, 2, 1,
                                      filters.shape[1] * params->groups, image, 0),
                       y = image_view(filters.dtype, layout, 2, 1, filters.shape[0], result, 0);
    return tenon_conv_forward_packed_plan(test_context, params, &x, packed, NULL, NULL, &y, plan);
}

/* Returns the plan's description. */
static const char *describe_plan(const tenon_packed *packed, image_layout layout, int64_t size,
                                 const char *solver)
{
    static char text[300];
    const tenon_conv_params params = tenon_conv_params(.solver = solver);
    tenon_plan *plan;
    assert_ok(plan_of(packed, layout, size, &params, &plan));
    tenon_plan_describe(plan, text, sizeof text);
    tenon_plan_release(plan);
    return text;
}

/* A run launches only the convolution, where conv/winograd4 transforms the filters first, and is
 * selected for images in any order. */
TEST(runs_do_not_transform_the_filters)
{
    if (!is_cpu())
        skip();
    tenon_packed *packed = pack_3x3(TENON_DTYPE_F32, 64, 64);
    for (int layout = NCHW; layout <= NHWC; layout++) {
        const image_layout images = (image_layout)layout;
        assert_contains(describe_plan(packed, images, 58, "conv/winograd4"), "launches 2: ");
        assert_contains(describe_plan(packed, images, 58, "conv_packed/winograd4"), "launches 1: ");
        assert_contains(describe_plan(packed, images, 58, NULL), "conv_packed/winograd4");
    }
    tenon_packed_release(packed);
}

/* Runs conv_packed/winograd4 and returns the bits of the result. */
static unsigned char *run_bits(const tenon_packed *packed, const tenon_tensor *x,
                               const tenon_tensor *y)
{
    const tenon_conv_params params = tenon_conv_params(.solver = "conv_packed/winograd4");
    const size_t bytes = (size_t)tenon_tensor_elements(y) * tenon_dtype_size(y->dtype);
    unsigned char *bits = malloc(bytes);
    assert_non_null(bits);
    assert_ok(tenon_conv_forward_packed(test_stream, &params, x, packed, NULL, NULL, y, NULL));
    test_read(y, bits);
    return bits;
}

/* The results do not change if the panels and the dense filters are lost. */
TEST(runs_read_only_the_transformed_filters)
{
    const int64_t x_shape[] = {2, 33, 13, 14}, y_shape[] = {2, 70, 11, 12};
    if (!is_cpu())
        skip();
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        tenon_packed *packed = pack_3x3(*type, 70, 33);
        tenon_tensor x = test_dense(*type, 4, x_shape, NULL),
                     y = test_dense(*type, 4, y_shape, NULL);
        const int64_t others = packed->dense_at + tenon_tensor_elements(&packed->view);
        tenon_tensor lost = tenon_tensor_view(*type, 1, &others);
        lost.memory = packed->memory.memory;
        assert_ok(tenon_tensor_fill(test_stream, &x, 0.5, NULL));
        unsigned char *before = run_bits(packed, &x, &y);
        assert_ok(tenon_tensor_fill(test_stream, &lost, (double)NAN, NULL));
        unsigned char *after = run_bits(packed, &x, &y);
        assert_memory_equal(before, after,
                            (size_t)tenon_tensor_elements(&y) * tenon_dtype_size(*type));
        free(before);
        free(after);
        tenon_packed_release(packed);
        test_destroy(&x, &y);
    }
}

/* Checks that a forced solver refuses a call. */
static void refuse(const tenon_packed *packed, const tenon_conv_params *params, tenon_status status,
                   const char *text)
{
    tenon_plan *plan;
    assert_refused(plan_of(packed, NHWC, 9, params, &plan), status,
                   "tenon_conv_forward_packed_plan", text);
    assert_null(plan);
}

TEST(unsuitable_calls_are_refused)
{
    static const char name[] = "conv_packed/winograd4";
    const tenon_conv_params exact = tenon_conv_params(.solver = name, .flags = TENON_CONV_EXACT),
                            usual = tenon_conv_params(.solver = name),
                            groups = tenon_conv_params(.solver = name, .groups = 5),
                            narrow = tenon_conv_params(.solver = "conv_packed/winograd4:nr2");
    tenon_conv_params strided = usual, dilated = usual;
    if (!is_cpu())
        skip();
    tenon_packed *packed = pack_3x3(TENON_DTYPE_F32, 70, 5),
                 *thin = pack_3x3(TENON_DTYPE_F32, 70, 4);
    strided.geometry.stride[0] = strided.geometry.stride[1] = 2;
    strided.geometry.pad_begin[0] = strided.geometry.pad_begin[1] = 4;
    strided.geometry.pad_end[0] = strided.geometry.pad_end[1] = 3;
    dilated.geometry.dilation[1] = 2;
    dilated.geometry.pad_end[1] = 2;
    refuse(packed, &exact, TENON_ERROR_UNSUPPORTED, "requests TENON_CONV_EXACT");
    refuse(packed, &strided, TENON_ERROR_UNSUPPORTED, "the stride or the dilation is not 1");
    refuse(packed, &dilated, TENON_ERROR_UNSUPPORTED, "the stride or the dilation is not 1");
    refuse(packed, &groups, TENON_ERROR_UNSUPPORTED, "not whole panels");
    refuse(packed, &narrow, TENON_ERROR_INVALID_ARGUMENT, "nr must be");
    refuse(thin, &usual, TENON_ERROR_UNSUPPORTED, "were not transformed");
    tenon_packed_release(packed);
    tenon_packed_release(thin);
}

/* Returns the bytes that the transformed filters add to an object. */
static uint64_t transformed_bytes(tenon_dtype dtype, int64_t k, int64_t c, int64_t r)
{
    const int64_t shape[] = {k, c, r, r};
    const tenon_tensor w = tenon_tensor_view(dtype, 4, shape);
    tenon_packed *packed;
    assert_ok(tn_packed_create("test", test_context, PACKED_FILTER, "filter_panels", &w, &packed));
    const int64_t others = packed->dense_at + tenon_tensor_elements(&w);
    const uint64_t bytes = tenon_packed_bytes(packed) - (uint64_t)others * tenon_dtype_size(dtype);
    assert_int_equal(bytes > 0, packed->transformed.panel > 0);
    assert_true(packed->transformed.panel == 0 ||
                packed->transformed.at * (int64_t)tn_acc_size(dtype) % TN_WORKSPACE_ALIGNMENT == 0);
    tenon_packed_release(packed);
    return bytes;
}

/* 36 points for each of nine elements, in the accumulator type, for filters that can use them. */
TEST(memory_of_the_transformed_filters)
{
    const bool was_cpu = is_cpu();
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        const uint64_t exactly = 36 * 128 * 256 * tn_acc_size(*type);
        const uint64_t bytes = transformed_bytes(*type, 128, 256, 3);
        assert_true(was_cpu ? bytes >= exactly && bytes < exactly + exactly / 64 : bytes == 0);
        assert_int_equal(transformed_bytes(*type, 128, 4, 3), 0);
        assert_int_equal(transformed_bytes(*type, 0, 64, 3), 0);
        assert_int_equal(transformed_bytes(*type, 128, 8, 5), 0);
        test_context->device.is_cpu = false;
        const uint64_t on_gpu = transformed_bytes(*type, 128, 256, 3);
        test_context->device.is_cpu = was_cpu;
        assert_int_equal(on_gpu, 0);
    }
}

/* Filters that the device could not hold transformed are packed without. */
TEST(large_filters_are_not_transformed)
{
    const uint64_t largest = test_context->device.info.max_allocation;
    const uint64_t plain = 128 * 64 * 9 * 4 * 2;
    test_context->device.info.max_allocation = plain + 36 * 128 * 64 * 4 / 2;
    const uint64_t bytes = transformed_bytes(TENON_DTYPE_F32, 128, 64, 3);
    test_context->device.info.max_allocation = largest;
    assert_int_equal(bytes, 0);
}

/* If the solver is disabled, filters are packed without being transformed, and others serve. */
TEST(disabled_solver)
{
    const tenon_conv_params usual = TENON_CONV_PARAMS_INIT,
                            forced = tenon_conv_params(.solver = "conv_packed/winograd4");
    char key[TN_SOLVER_NAME_SIZE + TN_OPTIONS_SIZE + 2], name[TN_SOLVER_NAME_SIZE];
    tenon_plan *plan;
    if (!is_cpu())
        skip();
    tenon_context *used = test_context, *other = test_new_context(NULL);
    tenon_stream *used_stream = test_stream;
    assert_ok(tenon_stream_create(other, NULL, &test_stream));
    test_context = other;
    tenon_packed *packed = pack_3x3(TENON_DTYPE_F32, 37, 19);
    assert_true(packed->transformed.panel > 0);
    assert_ok(plan_of(packed, NHWC, 9, &forced, &plan));
    tn_choice choice = {.solver = &tn_conv_packed_winograd4};
    assert_null(tn_configure(other, plan->problem, &choice));
    snprintf(key, sizeof key, "%s %s", tn_solver_name(&tn_conv_packed_family, &choice, name),
             choice.options);
    tn_verdict_remember(tn_dispatch_of(other), key, UINT64_MAX, false, "the test says so");
    tenon_packed_release(packed);
    tenon_plan_release(plan);
    packed = pack_3x3(TENON_DTYPE_F32, 37, 19);
    assert_int_equal(packed->transformed.panel, 0);
    assert_null(strstr(tenon_last_error(), "the test says so"));
    assert_ok(plan_of(packed, NHWC, 9, &usual, &plan));
    tenon_plan_release(plan);
    refuse(packed, &forced, TENON_ERROR_UNSUPPORTED, "were not transformed");
    tenon_packed_release(packed);
    tenon_stream_destroy(test_stream);
    tenon_context_release(other);
    test_context = used;
    test_stream = used_stream;
}

/* The event of packing completes after the transformation. */
TEST(the_event_is_that_of_the_last_command)
{
    const int64_t shape[] = {40, 20, 3, 3}, image[] = {1, 20, 9, 9}, result[] = {1, 40, 7, 7};
    cl_event packed_event = NULL;
    const tenon_sync signal = {.event = &packed_event};
    tenon_stream *other;
    tenon_packed *packed;
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL),
                 x = test_dense(TENON_DTYPE_F32, 4, image, NULL),
                 y = test_dense(TENON_DTYPE_F32, 4, result, NULL);
    float values[40 * 49];
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &x, 1, NULL));
    assert_ok(tenon_conv_pack_filter(test_stream, NULL, &w, &packed, &signal));
    assert_ok(tenon_stream_create(test_context, NULL, &other));
    const tenon_sync wait = {.wait_list = &packed_event, .wait_count = 1};
    assert_ok(tenon_conv_forward_packed(other, NULL, &x, packed, NULL, NULL, &y, &wait));
    assert_ok(tenon_stream_finish(other));
    test_read(&y, values);
    for (int i = 0; i < 40 * 49; i++)
        assert_true(fabsf(values[i] - 180) < 0.01f);
    clReleaseEvent(packed_event);
    tenon_packed_release(packed);
    tenon_stream_destroy(other);
    test_destroy(&w, &x, &y);
}
