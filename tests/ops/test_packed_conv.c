/*
 * Tests tenon_conv_forward_packed with filters in panels (layout "filter_panels"): convolutions by
 * the packed product against the reference of tenon_conv_forward, in every layout of the images;
 * calls that the dense filters serve; and the packed object itself. test_conv_packed.c tests
 * filters of several elements.
 */
#include "packed_case.h"
#include "quick.h"

#include "dispatch/plan.h"

/* A small problem with filters of one element and channels last, and the same with other members.
 */
#define PANEL_CONV                                                                                 \
    SIMPLE_CONV, .c = 19, .size = {7, 5, 1}, .k = 37, .filter = {1, 1, 1}, .x = NHWC, .y = NHWC
#define panel_conv(...) TENON_LITERAL(conv_case, PANEL_CONV, __VA_ARGS__)

static void make_panels(test_fixture *f, const conv_case *p, tenon_dtype dtype, test_judge judge,
                        test_random *random)
{
    packed_make(f, p, dtype, NULL, judge, random);
}

/* Runs the automatic choice and every solver of the packed product, on reals and integers. */
static void check_panels_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    const bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        make_panels(&f, p, dtype, (test_judge)judge, random);
        f.family = &tn_gemm_packed_family;
        test_finish(&f, TEST_ALL);
    }
}

static void check_panels(const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_panels_typed(p, *type, random);
}

TEST(sizes_around_tile_edges)
{
    static const int64_t pixels[] = {1, 3, 4, 5, 11, 12, 13, 25},
                         filters[] = {1, 2, 31, 32, 33, 65}, channels[] = {1, 2, 16, 1023, 1025};
    test_random random = test_random_for(861);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) {
        conv_case p = panel_conv(.n = 1 + (int64_t)i % 2, .size = {1, pixels[i], 1}, .offset = 1);
        check_panels(&p, &random);
    }
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        conv_case p = panel_conv(.k = filters[i], .w = (image_layout)(i % IMAGE_LAYOUTS));
        check_panels_typed(&p, TENON_DTYPE_F32, &random);
    }
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        conv_case p = panel_conv(.c = channels[i], .offset = 3, .bias = true);
        check_panels_typed(&p, i % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_F16, &random);
    }
}

/* Images in every layout. The automatic choice reads the dense filters unless both have their
 * channels last. */
TEST(every_layout)
{
    test_random random = test_random_for(862);
    for (int x = 0; x < IMAGE_LAYOUTS; x++)
        for (int y = 0; y < IMAGE_LAYOUTS; y++) {
            conv_case p = panel_conv(.x = (image_layout)x, .y = (image_layout)y,
                                     .w = (image_layout)((x + y) % IMAGE_LAYOUTS), .offset = x);
            if (x == y)
                check_panels(&p, &random);
            else
                check_panels_typed(&p, test_float_type((uint32_t)(x + y)), &random);
        }
}

/* In one to three spatial dimensions. */
TEST(strides_and_ranks)
{
    test_random random = test_random_for(863);
    for (uint32_t spatial = 1; spatial <= 3; spatial++)
        for (int64_t stride = 1; stride <= 3; stride++) {
            conv_case p = panel_conv(.spatial = spatial, .size = {7, 6, 5}, .bias = stride == 2);
            for (uint32_t d = 0; d < spatial; d++)
                p.geometry.stride[d] = stride - (stride > 1 && d == 1);
            p.geometry.dilation[0] = stride;
            check_panels(&p, &random);
        }
}

TEST(epilogues)
{
    static const uint32_t activations[] = {TENON_ACTIVATION_IDENTITY, TENON_ACTIVATION_RELU,
                                           TENON_ACTIVATION_SIGMOID, TENON_ACTIVATION_GELU};
    test_random random = test_random_for(864);
    for (int residual = NO_RESIDUAL; residual <= IN_PLACE; residual++)
        for (int i = 0; i < 4; i++) {
            conv_case p = panel_conv(.residual = (conv_residual)residual, .bias = i % 2 == 0,
                                     .activation = {.kind = activations[i]});
            p.c = i == 1 ? 1100 : p.c; /* two blocks, between which sums are stored */
            p.beta = residual == NO_RESIDUAL ? 0 : i == 3 ? 1 : -0.5;
            p.alpha = residual == FULL_RESIDUAL && i == 0 ? 0 : 2;
            if (i < 2)
                check_panels(&p, &random);
            else
                check_panels_typed(&p, TENON_DTYPE_F32, &random);
        }
}

TEST(empty_images)
{
    test_random random = test_random_for(865);
    for (int i = 0; i < 4; i++) {
        test_fixture f;
        conv_case p = panel_conv(.bias = true);
        *(i == 0 ? &p.n : i == 1 ? &p.c : i == 2 ? &p.k : &p.size[1]) = 0;
        p.geometry.pad_end[1] = i == 3 ? 1 : 0;
        make_panels(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_finish(&f, TEST_ALL);
    }
}

/* Every solver of tenon_conv_forward reads the dense filters. */
TEST(padding_and_groups_use_the_dense_filters)
{
    test_random random = test_random_for(866);
    for (int i = 0; i < 4; i++) {
        test_fixture f;
        conv_case p = panel_conv(.c = 20, .k = 36, .groups = i == 2 ? 4 : 1, .bias = true);
        conv_pad(&p, i == 0, i == 1, 0, 2 * (i == 0));
        make_panels(&f, &p, i == 1 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, TEST_EXACT, &random);
        test_finish(&f, TEST_ALL);
    }
}

TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(867);
    for (int i = 0; i < 3; i++)
        for (uint32_t operand = CONV_X; operand < CONV_Y; operand++) {
            test_fixture f;
            const conv_case p = panel_conv(.residual = FULL_RESIDUAL, .bias = true, .beta = 1);
            make_panels(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            f.family = &tn_gemm_packed_family;
            conv_spoil(&f, operand, i, &random);
            test_finish(&f, TEST_ALL);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(868);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = test_problems(quick_is_on() ? 10 : 30); i > 0; i--) {
            test_fixture f;
            conv_case p = random_conv(&random);
            for (int d = 0; d < 3; d++) {
                p.filter[d] = 1;
                if (test_one_in(&random, 2))
                    p.geometry.pad_begin[d] = p.geometry.pad_end[d] = 0;
            }
            p.groups = test_one_in(&random, 3) ? p.groups : 1;
            p.x = p.y = test_one_in(&random, 3) ? p.y : NHWC;
            make_panels(&f, &p, *type, TEST_BOUND, &random);
            test_finish(&f, TEST_ONCE);
        }
}

/* Returns true if a plan of the call uses a solver of this family. */
static bool is_served_by(const char *family, const tenon_packed *packed, const conv_case *p,
                         const char *solver, bool as_gpu)
{
    const bool is_cpu = test_context->device.is_cpu;
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_plan *plan;
    int64_t out[3];
    for (uint32_t d = 0; d < 3; d++)
        out[d] = tenon_conv_output_size(&p->geometry, d, p->size[d], p->filter[d]);
    const tenon_tensor x = image_view(TENON_DTYPE_F32, p->x, 2, p->n, p->c, p->size, 0),
                       y = image_view(TENON_DTYPE_F32, p->y, 2, p->n, p->k, out, 0);
    params.geometry = p->geometry;
    params.groups = p->groups;
    params.solver = solver;
    test_context->device.is_cpu = is_cpu && !as_gpu;
    const tenon_status status =
        tenon_conv_forward_packed_plan(test_context, &params, &x, packed, NULL, NULL, &y, &plan);
    test_context->device.is_cpu = is_cpu;
    assert_ok(status);
    const bool serves = strncmp(plan->name, family, strlen(family)) == 0;
    tenon_plan_release(plan);
    return serves;
}

/* Returns true if it is a product of pixels and panels. */
static bool uses_panels(const tenon_packed *packed, const conv_case *p, const char *solver,
                        bool as_gpu)
{
    return is_served_by("gemm_packed/", packed, p, solver, as_gpu);
}

TEST(panels_serve_channels_last)
{
    const int64_t shape[] = {37, 19, 1, 1}, grouped[] = {36, 10, 1, 1};
    if (!test_context->device.is_cpu)
        return;
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL),
                 v = test_dense(TENON_DTYPE_F32, 4, grouped, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    assert_ok(tenon_tensor_fill(test_stream, &v, 1, NULL));
    tenon_packed *packed = pack_filters(&w), *groups = pack_filters(&v);
    const conv_case last = panel_conv(.n = 2), first = panel_conv(.x = NCHW, .y = NCHW),
                    mixed = panel_conv(.y = NCHW),
                    in_groups = panel_conv(.c = 20, .k = 36, .groups = 2);
    conv_case padded = last;
    conv_pad(&padded, 0, 0, 0, 1);
    assert_true(uses_panels(packed, &last, NULL, false));
    assert_true(uses_panels(packed, &first, "gemm_packed/plain", false));
    assert_false(uses_panels(packed, &last, "conv/direct", false));
    assert_false(uses_panels(packed, &first, NULL, false));
    assert_false(uses_panels(packed, &mixed, NULL, false));
    assert_false(uses_panels(packed, &padded, NULL, false));
    assert_false(uses_panels(groups, &in_groups, NULL, false));
    assert_false(uses_panels(packed, &last, NULL, true));
    assert_true(is_served_by("conv_packed/", packed, &padded, NULL, false));
    assert_true(is_served_by("conv_packed/", packed, &last, "conv_packed/cpu", false));
    assert_true(is_served_by("conv_packed/", groups, &in_groups, NULL, false));
    assert_true(is_served_by("conv/", packed, &mixed, NULL, false));
    tenon_packed_release(packed);
    tenon_packed_release(groups);
    test_destroy(&w, &v);
}

/* Filters of several elements are read from the panels by conv_packed, if both images have their
 * channels last, and otherwise from the dense filters. */
TEST(larger_filters_serve_channels_last)
{
    const int64_t shape[] = {37, 19, 3, 2};
    if (!test_context->device.is_cpu)
        return;
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    tenon_packed *packed = pack_filters(&w);
    const conv_case last = panel_conv(.filter = {3, 2, 1}),
                    mixed = panel_conv(.filter = {3, 2, 1}, .x = NCHW);
    assert_true(is_served_by("conv_packed/", packed, &last, NULL, false));
    assert_true(is_served_by("conv_packed/dense", packed, &last, "conv_packed/dense", false));
    assert_true(is_served_by("conv_packed/dense", packed, &mixed, "conv_packed/dense", false));
    assert_true(is_served_by("conv/direct", packed, &last, "conv/direct", false));
    assert_true(is_served_by("conv/", packed, &mixed, NULL, false));
    assert_true(is_served_by("conv/", packed, &last, NULL, true));
    tenon_packed_release(packed);
    tenon_memory_destroy(&w.memory);
}

/* A stride above 1 leaves rows of results as separate products; short ones are gathered by
 * conv_packed. */
TEST(short_products_are_gathered)
{
    const int64_t shape[] = {37, 19, 1, 1};
    if (!test_context->device.is_cpu)
        return;
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    tenon_packed *packed = pack_filters(&w);
    for (int64_t width = 10; width <= 14; width++) {
        conv_case p = panel_conv(.size = {6, 2 * width - 1, 1});
        p.geometry.stride[0] = p.geometry.stride[1] = 2;
        assert_int_equal(uses_panels(packed, &p, NULL, false), width >= 12);
        assert_int_equal(is_served_by("conv_packed/", packed, &p, NULL, false), width < 12);
        p.size[0] = 1;
        p.size[1] = width;
        p.geometry.stride[1] = 1;
        assert_true(uses_panels(packed, &p, NULL, false));
        p.size[0] = 2 * width - 1; /* a row of results has one pixel */
        p.size[1] = 1;
        assert_true(uses_panels(packed, &p, NULL, false));
    }
    tenon_packed_release(packed);
    tenon_memory_destroy(&w.memory);
}

/* The layout that is chosen for filters on a CPU, whatever their number, and on other devices. */
TEST(layouts_depend_on_the_device)
{
    static const struct {
        int64_t shape[4];
        const char *layout;
        bool as_gpu;
    } cases[] = {{{9, 1, 1, 1}, "filter_panels", false},   {{8, 64, 1, 1}, "filter_panels", false},
                 {{64, 64, 1, 3}, "filter_panels", false}, {{64, 1, 3, 3}, "filter_panels", false},
                 {{1, 64, 3, 3}, "filter_panels", false},  {{64, 64, 3, 3}, "filters", true}};
    const bool is_cpu = test_context->device.is_cpu;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && is_cpu; i++) {
        char text[200];
        tenon_packed *packed;
        const tenon_tensor w = tenon_tensor_view(TENON_DTYPE_F32, 4, cases[i].shape);
        test_context->device.is_cpu = !cases[i].as_gpu;
        const tenon_status status =
            tn_packed_create("test", test_context, PACKED_FILTER, NULL, &w, &packed);
        test_context->device.is_cpu = true;
        assert_ok(status);
        tenon_packed_describe(packed, text, sizeof text);
        assert_contains(text, cases[i].layout);
        assert_int_equal(strstr(text, "filter_panels") != NULL,
                         strcmp(cases[i].layout, "filter_panels") == 0);
        tenon_packed_release(packed);
    }
}

/* Random bytes, including NaNs with any payload, are unpacked as they were. */
TEST(filters_in_panels_unpack)
{
    static const int64_t shapes[][4] = {{1, 1, 1, 1},  {33, 5, 1, 1}, {64, 17, 1, 1},
                                        {0, 3, 1, 1},  {65, 3, 2, 3}, {32, 1, 5, 1},
                                        {31, 2, 1, 4}, {70, 5, 3, 3}};
    test_random random = test_random_for(869);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++) {
            test_tensor source, back;
            int64_t stride[4], back_stride[4];
            test_strides((test_layout)(i % 4), i % 4 == TEST_STRIDED, 4, shapes[i], stride);
            test_strides(TEST_ROW, false, 4, shapes[i], back_stride);
            test_tensor_create(&source, *type, 4, shapes[i], stride, i);
            test_tensor_create(&back, *type, 4, shapes[i], back_stride, 1);
            for (uint64_t byte = 0; byte < source.bytes; byte++)
                source.image[byte] = (unsigned char)test_next(&random);
            test_upload(&source);
            test_upload(&back);
            tenon_packed *packed = pack_filters(&source.view);
            assert_ok(tenon_packed_unpack(test_stream, packed, &back.view, NULL));
            unsigned char *wanted = test_download_bits(&source), *got = test_download_bits(&back);
            assert_memory_equal(
                wanted, got, (size_t)tenon_tensor_elements(&source.view) * tenon_dtype_size(*type));
            free(wanted);
            free(got);
            tenon_packed_release(packed);
            test_tensor_destroy(&source);
            test_tensor_destroy(&back);
        }
}

/* The object holds the panels and the dense filters. */
TEST(objects_describe_themselves)
{
    const int64_t shape[] = {40, 20, 1, 1};
    char text[200], wanted[200];
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &w, 2, NULL));
    tenon_packed *packed = pack_filters(&w);
    const int64_t panel = packed->panel, padded = (40 + panel - 1) / panel * panel;
    const long long bytes = 4 * 20 * (padded + 40);
    snprintf(wanted, sizeof wanted, "conv f32 40x20x1x1 filter_panels of %d, %lld bytes",
             (int)panel, bytes);
    assert_int_equal(tenon_packed_describe(packed, text, sizeof text), strlen(wanted));
    assert_string_equal(text, wanted);
    assert_int_equal(tenon_packed_bytes(packed), bytes);
    const tenon_tensor view = tenon_packed_view(packed);
    assert_int_equal(view.rank, 4);
    assert_memory_equal(view.shape, shape, sizeof shape);
    tenon_packed_release(packed);
    tenon_memory_destroy(&w.memory);
}

static void refuse_pack(const tenon_tensor *w, const char *layout, tenon_status status,
                        const char *text)
{
    const tenon_pack_params params = tenon_pack_params(.layout = layout);
    tenon_packed *packed = (tenon_packed *)(uintptr_t)1;
    assert_refused(tenon_conv_pack_filter(test_stream, &params, w, &packed, NULL), status,
                   "tenon_conv_pack_filter", text);
    assert_null(packed);
}

TEST(bad_packing_is_refused)
{
    const int64_t large[] = {4, 3, 3, 1}, small[] = {4, 3, 1};
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, large, NULL),
                 v = test_dense(TENON_DTYPE_F32, 3, small, NULL);
    refuse_pack(&w, "panels", TENON_ERROR_INVALID_ARGUMENT, "layout");
    tenon_tensor endless = v; /* one element, repeated beyond every memory */
    endless.stride[0] = endless.stride[1] = 0;
    endless.shape[0] = endless.shape[1] = INT64_C(1) << 30;
    refuse_pack(&endless, "filter_panels", TENON_ERROR_OUT_OF_MEMORY, "");
    test_destroy(&w, &v);
}

/* Invalid calls of an object with panels fail like those of tenon_conv_forward. */
TEST(bad_calls_are_refused)
{
    const int64_t shape[] = {37, 19, 1, 1}, x_shape[] = {2, 19, 7, 5}, y_shape[] = {2, 37, 7, 5};
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 4, shape, NULL);
    const tenon_tensor x = tenon_tensor_nhwc(
                           tenon_tensor_view(TENON_DTYPE_F32, 4, (int64_t[]){2, 7, 5, 19})),
                       y = tenon_tensor_nhwc(
                           tenon_tensor_view(TENON_DTYPE_F32, 4, (int64_t[]){2, 7, 5, 37}));
    tenon_context *other = test_new_context(NULL);
    tenon_plan *plan;
    assert_ok(tenon_tensor_fill(test_stream, &w, 1, NULL));
    tenon_packed *packed = pack_filters(&w);
    assert_memory_equal(x.shape, x_shape, sizeof x_shape);
    assert_memory_equal(y.shape, y_shape, sizeof y_shape);
    for (int i = 0; i < 6; i++) {
        static const char *const texts[] = {"context", "18 channels of x", "y: ", "type", "flags",
                                            "solver"};
        tenon_tensor bad_x = x, bad_y = y;
        tenon_conv_params params = TENON_CONV_PARAMS_INIT;
        bad_x.shape[1] -= i == 1;
        bad_y.shape[2] += i == 2;
        bad_x.dtype = i == 3 ? TENON_DTYPE_F16 : bad_x.dtype;
        params.flags = i == 4 ? 8 : 0;
        params.solver = i == 5 ? "gemm_packed/none" : NULL;
        assert_refused(tenon_conv_forward_packed_plan(i == 0 ? other : test_context, &params,
                                                      &bad_x, packed, NULL, NULL, &bad_y, &plan),
                       i == 3 ? TENON_ERROR_UNSUPPORTED : TENON_ERROR_INVALID_ARGUMENT,
                       "tenon_conv_forward_packed_plan", texts[i]);
        assert_null(plan);
    }
    tenon_packed_release(packed);
    tenon_memory_destroy(&w.memory);
    tenon_context_release(other);
}
