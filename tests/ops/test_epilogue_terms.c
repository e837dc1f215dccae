/* Tests the terms after the activation, d = post_scale · activation(…) + post_shift + residual, of
 * products and convolutions: shapes, layouts and types, in place, what is not read, plans, and
 * invalid input. */
#include "conv_case.h"
#include "gemm_case.h"

#include "base/sized.h"
#include "dispatch/plan.h"
#include "ops/conv/problem/gradient.h"
#include "ops/registry.h"

#include <math.h>

/* Presence of the terms: bit POST_SCALE, POST_SHIFT and POST_RESIDUAL; and the residual is d. */
enum { NO_TERM = 0, ALL_TERMS = 7, IN_PLACE_TERM = 8, FORMS_OF_TERMS = 12 };

/* Returns true if the call reads the operand; the numbers are those of a convolution, too. */
static bool reads(const test_fixture *f, const tenon_epilogue *epilogue, uint32_t operand)
{
    return !tn_operation_writes(f->c.operation, operand) &&
           (operand != GEMM_C || epilogue->beta != 0) &&
           ((operand != GEMM_A && operand != GEMM_B) || epilogue->alpha != 0);
}

/* Makes the operands. Those that must not be read remain poisoned. */
static void fill(test_fixture *f, const tenon_epilogue *epilogue, test_judge judge,
                 test_random *random)
{
    test_make(f);
    f->judge = judge;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (test_operand(f, i) != NULL && reads(f, epilogue, i))
            test_fill(test_operand(f, i), judge, random);
}

static bool has_term(uint32_t terms, int term)
{
    return (terms >> term & 1) != 0;
}

/* Adds the residual: a view like the output, or the output itself. */
static void add_residual(test_fixture *f, uint32_t terms, const tenon_tensor *view, uint32_t output)
{
    if ((terms & IN_PLACE_TERM) != 0)
        f->c.same[GEMM_POST + POST_RESIDUAL] = output + 1;
    else if (has_term(terms, POST_RESIDUAL))
        f->c.views[GEMM_POST + POST_RESIDUAL] = *view;
}

static void begin_product(test_fixture *f, const gemm_case *p, tenon_dtype dtype, uint32_t terms,
                          test_layout layout)
{
    static const gemm_form forms[] = {FORM_COLUMNS, FORM_ROWS, FORM_FULL, FORM_SCALAR};
    const uint32_t form = (uint32_t)(p->m + p->n + terms) % 4;
    begin_gemm(f, p, dtype);
    f->c.operation = &tn_operation_gemm_post;
    f->emulate = NULL;
    for (int term = POST_SCALE; term <= POST_SHIFT; term++)
        if (has_term(terms, term))
            f->c.views[GEMM_POST + term] =
                gemm_term(dtype, forms[(form + (uint32_t)term) % 4], layout, p->m, p->n, 3 * term);
    const tenon_tensor *d = &f->c.views[GEMM_D];
    const tenon_tensor residual = test_view(dtype, layout, true, d->rank, d->shape, 5);
    add_residual(f, terms, &residual, GEMM_D);
}

static void check_product(const gemm_case *p, tenon_dtype dtype, uint32_t terms, test_layout layout,
                          test_random *random)
{
    /* Two steps round the activation's result to the type: bf16 has only 8 bits. */
    const bool is_exact = gemm_is_exact(p) && dtype != TENON_DTYPE_BF16;
    for (int judge = TEST_BOUND; judge <= (is_exact ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        begin_product(&f, p, dtype, terms, layout);
        fill(&f, &test_params(&f, tenon_gemm_params)->epilogue, (test_judge)judge, random);
        test_finish(&f, TEST_ALL);
    }
}

TEST(products)
{
    static const int64_t sizes[][3] = {{13, 37, 41}, {1, 70, 300}, {33, 1, 65}, {70, 131, 90}};
    test_random random = test_random_for(901);
    for (uint32_t i = 0; i < FORMS_OF_TERMS; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            gemm_case p =
                gemm_of_forms(&simple_gemm, (gemm_form)(i % FORMS), (gemm_form)(i / 3 % FORM_SAME));
            p.m = sizes[i % 4][0];
            p.n = sizes[i % 4][1];
            p.k = sizes[i % 4][2];
            p.activation = gemm_activations[i % GEMM_ACTIVATIONS];
            check_product(&p, *type, i + 1 == FORMS_OF_TERMS ? ALL_TERMS : i + 1,
                          (test_layout)(i % TEST_LAYOUTS), &random);
        }
}

TEST(random_products)
{
    test_random random = test_random_for(902);
    for (int i = 0; i < test_problems(60); i++) {
        const gemm_case p = random_gemm(&random);
        const uint32_t terms = (uint32_t)test_between(&random, 1, FORMS_OF_TERMS);
        test_fixture f;
        begin_product(&f, &p, i % 3 == 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32, terms,
                      (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1));
        fill(&f, &test_params(&f, tenon_gemm_params)->epilogue, TEST_BOUND, &random);
        test_finish(&f, TEST_ALL);
    }
}

/* make_gemm leaves NaN in operands that must not be read. */
TEST(zero_scalars_do_not_read)
{
    test_random random = test_random_for(903);
    for (int i = 0; i < 4; i++) {
        const gemm_case p = gemm_like(.alpha = (i & 1) != 0 ? 0 : 1, .beta = 0,
                                      .c_form = (i & 2) != 0 ? FORM_SAME : FORM_FULL);
        check_product(&p, TENON_DTYPE_F32, ALL_TERMS, TEST_ROW, &random);
        check_product(&p, TENON_DTYPE_F32, IN_PLACE_TERM, TEST_ROW, &random);
    }
}

/* Begins a convolution of either direction. */
static void begin_conv(test_fixture *f, conv_direction direction, const conv_case *p,
                       tenon_dtype dtype, uint32_t terms, image_layout layout)
{
    conv_begin(f, direction, p, dtype);
    f->c.operation =
        direction == FORWARD ? &tn_operation_conv_post : &tn_operation_conv_transpose_post;
    f->emulate = NULL;
    f->has_own_bounds = NULL;
    f->by_solver = true;
    const tenon_tensor *y = &f->c.views[CONV_Y];
    for (int term = POST_SCALE; term <= POST_SHIFT; term++)
        if (has_term(terms, term))
            f->c.views[CONV_POST + term] =
                test_view(dtype, term == POST_SCALE ? TEST_ROW : TEST_STRIDED, false, 1,
                          &y->shape[1], 2 * term);
    const tenon_tensor residual =
        image_view(dtype, layout, y->rank - 2, y->shape[0], y->shape[1], y->shape + 2, 1);
    add_residual(f, terms, &residual, CONV_Y);
}

static void check_conv(conv_direction direction, const conv_case *p, tenon_dtype dtype,
                       uint32_t terms, image_layout layout, test_random *random)
{
    const tenon_epilogue epilogue = tenon_epilogue(.alpha = p->alpha, .beta = p->beta);
    test_fixture f;
    begin_conv(&f, direction, p, dtype, terms, layout);
    fill(&f, &epilogue, TEST_BOUND, random);
    test_finish(&f, TEST_ALL);
}

TEST(convolutions)
{
    test_random random = test_random_for(904);
    for (uint32_t i = 0; i < FORMS_OF_TERMS; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            conv_case p = conv_like(.x = (image_layout)(i % 2), .y = (image_layout)(i % 2),
                                    .bias = i % 3 == 0, .beta = i % 4 == 1 ? 0.5 : 0,
                                    .residual = (conv_residual)(i % 4));
            p.activation = gemm_activations[i % GEMM_ACTIVATIONS];
            check_conv(FORWARD, &p, *type, i + 1, (image_layout)(i % IMAGE_LAYOUTS), &random);
            check_conv(TRANSPOSED, &p, *type, i + 1, (image_layout)(i % IMAGE_LAYOUTS), &random);
        }
}

TEST(random_convolutions)
{
    test_random random = test_random_for(905);
    for (int i = 0; i < test_problems(40); i++) {
        const conv_case p = random_conv(&random);
        const conv_direction direction = i % 3 == 2 ? TRANSPOSED : FORWARD;
        if (conv_takes(direction, &p))
            check_conv(direction, &p, i % 4 == 0 ? TENON_DTYPE_BF16 : TENON_DTYPE_F32,
                       (uint32_t)test_between(&random, 1, FORMS_OF_TERMS),
                       (image_layout)test_between(&random, 0, IMAGE_LAYOUTS - 1), &random);
    }
}

/* The packed operations of the registry, whose examples cover their layouts. */
TEST(packed)
{
    const tn_operation *const operations[] = {&tn_operation_gemm_packed_post,
                                              &tn_operation_conv_packed_post};
    test_random random = test_random_for(906);
    for (int o = 0; o < 2; o++)
        for (const char *const *example = operations[o]->examples; *example != NULL; example++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                test_fixture f;
                test_begin_line(&f, *example, *type);
                f.by_solver = true;
                test_make(&f);
                test_fill_inputs(&f, TEST_BOUND, &random);
                test_finish(&f, TEST_ALL);
            }
}

/* A product of ones: each element is 3 before the terms. */
enum { A, B, D, COLUMN, FULL, TENSORS };
static test_tensor tensors[TENSORS];
#define VIEW(name) (&tensors[name].view)

static void make(int number, uint32_t rank, const int64_t *shape, double value)
{
    test_tensor_create(&tensors[number], TENON_DTYPE_F32, rank, shape,
                       tenon_tensor_view(TENON_DTYPE_F32, rank, shape).stride, 0);
    for (int64_t i = 0; i < tenon_tensor_elements(VIEW(number)); i++)
        test_set(&tensors[number], i, value + (double)i);
    if (number <= B)
        for (int64_t i = 0; i < tenon_tensor_elements(VIEW(number)); i++)
            test_set(&tensors[number], i, 1);
    test_upload(&tensors[number]);
}

static void set_up(void)
{
    make(A, 2, (const int64_t[]){2, 3}, 1);
    make(B, 2, (const int64_t[]){3, 4}, 1);
    make(D, 2, (const int64_t[]){2, 4}, 50);
    make(COLUMN, 1, (const int64_t[]){4}, 2);
    make(FULL, 2, (const int64_t[]){2, 4}, 100);
}

static void tear_down(void)
{
    for (int i = 0; i < TENSORS; i++)
        test_tensor_destroy(&tensors[i]);
}

static tenon_status multiply(const tenon_epilogue *epilogue)
{
    const tenon_gemm_params params = tenon_gemm_params(.epilogue = *epilogue);
    return tenon_gemm(test_stream, &params, VIEW(A), VIEW(B), NULL, NULL, VIEW(D), NULL);
}

/* Checks d against scale · 3 + shift + residual, each 0 or 1 if absent. */
static void expect(double scale, double shift, double residual, double step)
{
    double *got = test_download(&tensors[D]);
    for (int i = 0; i < 8; i++) {
        const double column = i % 4;
        const double wanted = (scale == 0 ? 3 : 3 * (scale + column)) +
                              (shift == 0 ? 0 : shift + column) +
                              (residual == 0 ? 0 : residual + step * i);
        if (got[i] != wanted)
            fail_msg("element %d is %g, expected %g", i, got[i], wanted);
    }
    free(got);
}

TEST_WITH(known_values, set_up, tear_down)
{
    const tenon_tensor *column = VIEW(COLUMN), *full = VIEW(FULL);
    assert_ok(multiply(&tenon_epilogue(.post_scale = column)));
    expect(2, 0, 0, 0);
    assert_ok(multiply(&tenon_epilogue(.post_shift = column)));
    expect(0, 2, 0, 0);
    assert_ok(multiply(&tenon_epilogue(.post_scale = column, .residual = full)));
    expect(2, 0, 100, 1);
    test_upload(&tensors[D]);
    assert_ok(
        multiply(&tenon_epilogue(.post_scale = column, .post_shift = column, .residual = VIEW(D))));
    expect(2, 2, 50, 1);
}

/* A caller compiled with a shorter epilogue gets none of the terms, whatever follows it. */
TEST_WITH(a_shorter_epilogue, set_up, tear_down)
{
    tenon_gemm_params params =
        tenon_gemm_params(.epilogue = tenon_epilogue(.post_scale = VIEW(COLUMN)));
    const uint32_t missing = sizeof params.epilogue - offsetof(tenon_epilogue, post_scale);
    params.struct_size -= missing;
    params.epilogue.struct_size -= missing;
    assert_ok(tenon_gemm(test_stream, &params, VIEW(A), VIEW(B), NULL, NULL, VIEW(D), NULL));
    expect(0, 0, 0, 0);
}

TEST_WITH(operands_of_plans, set_up, tear_down)
{
    static const char *const names[] = {"a", "b",          "c",          "bias",
                                        "d", "post_scale", "post_shift", "residual"};
    tenon_plan *plan;
    tenon_gemm_params params = tenon_gemm_params();
    assert_ok(tenon_gemm_plan(test_context, &params, VIEW(A), VIEW(B), NULL, NULL, VIEW(D), &plan));
    assert_int_equal(tenon_plan_operands(plan), 5);
    tenon_plan_release(plan);
    const tenon_tensor column = *VIEW(COLUMN);
    params.epilogue.post_shift = &column;
    assert_ok(tenon_gemm_plan(test_context, &params, VIEW(A), VIEW(B), NULL, NULL, VIEW(D), &plan));
    assert_int_equal(tenon_plan_operands(plan), 8);
    for (uint32_t i = 0; i < 8; i++)
        assert_string_equal(tenon_plan_operand_name(plan, i), names[i]);
    const tenon_operand operands[] = {{"a", VIEW(A)->memory, VIEW(A)->offset},
                                      {"b", VIEW(B)->memory, VIEW(B)->offset},
                                      {"d", VIEW(D)->memory, VIEW(D)->offset},
                                      {"post_shift", column.memory, column.offset}};
    const tenon_scalar two = tenon_scalar_f64("alpha", 2);
    assert_ok(tenon_plan_run_operands(test_stream, plan, operands, 4, NULL, 0, NULL));
    expect(0, 2, 0, 0);
    assert_ok(tenon_plan_run_operands(test_stream, plan, operands, 4, &two, 1, NULL));
    expect(0, 5, 0, 0);
    tenon_plan_release(plan);
}

/* Only a plan that was made in place may be run in place. It may also be run with other memory, and
 * with other scalars. */
TEST_WITH(plans_in_place, set_up, tear_down)
{
    tenon_plan *plan;
    tenon_tensor bare = *VIEW(FULL);
    bare.memory = (tenon_memory){.kind = TENON_MEMORY_NONE};
    const tenon_tensor *const residuals[] = {VIEW(D), VIEW(FULL), &bare};
    for (int i = 0; i < 3; i++) {
        const tenon_gemm_params params =
            tenon_gemm_params(.epilogue = tenon_epilogue(.residual = residuals[i]));
        tenon_operand operands[] = {{"a", VIEW(A)->memory, VIEW(A)->offset},
                                    {"b", VIEW(B)->memory, VIEW(B)->offset},
                                    {"d", VIEW(D)->memory, VIEW(D)->offset},
                                    {"residual", VIEW(FULL)->memory, VIEW(FULL)->offset}};
        const tenon_scalar one = tenon_scalar_f64("alpha", 1);
        assert_ok(
            tenon_gemm_plan(test_context, &params, VIEW(A), VIEW(B), NULL, NULL, VIEW(D), &plan));
        assert_ok(tenon_plan_run_operands(test_stream, plan, operands, 4, &one, 1, NULL));
        expect(0, 0, 100, 1);
        test_upload(&tensors[D]);
        operands[3] = operands[2];
        operands[3].name = "residual";
        const tenon_status status =
            tenon_plan_run_operands(test_stream, plan, operands, 4, &one, 1, NULL);
        assert_int_equal(status, i == 0 ? TENON_OK : TENON_ERROR_INVALID_ARGUMENT);
        if (i == 0)
            expect(0, 0, 50, 1);
        else
            assert_contains(tenon_last_error(), "residual overlaps the output d");
        tenon_plan_release(plan);
    }
}

static void refuse(const tenon_epilogue *epilogue, tenon_status status, const char *why)
{
    test_upload(&tensors[D]);
    assert_int_equal(multiply(epilogue), status);
    assert_contains(tenon_last_error(), why);
    assert_untouched(&tensors[D]);
}

TEST_WITH(invalid_terms, set_up, tear_down)
{
    const int64_t three[] = {3};
    tenon_tensor wrong = *VIEW(COLUMN), part = *VIEW(D), half = *VIEW(COLUMN);
    wrong.shape[0] = three[0];
    part.offset += sizeof(float);
    part.shape[0] = 1;
    part.rank = 2;
    half.dtype = TENON_DTYPE_F16;
    refuse(&tenon_epilogue(.post_scale = &wrong), TENON_ERROR_INVALID_ARGUMENT, "post_scale");
    refuse(&tenon_epilogue(.post_shift = &wrong), TENON_ERROR_INVALID_ARGUMENT, "post_shift");
    refuse(&tenon_epilogue(.residual = VIEW(COLUMN)), TENON_ERROR_INVALID_ARGUMENT, "residual");
    refuse(&tenon_epilogue(.post_scale = &half), TENON_ERROR_UNSUPPORTED, "post_scale is f16");
    refuse(&tenon_epilogue(.post_scale = VIEW(D)), TENON_ERROR_INVALID_ARGUMENT, "post_scale");
    refuse(&tenon_epilogue(.post_shift = &part), TENON_ERROR_INVALID_ARGUMENT, "post_shift");
}

/* Ragged products and products of i8 and u8 refuse the terms. */
TEST_WITH(refusing_operations, set_up, tear_down)
{
    const int64_t bytes[] = {3, 3}, groups[] = {1, 3, 4}, two[] = {2};
    const tenon_epilogue epilogue = tenon_epilogue(.residual = VIEW(FULL));
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_I8, 2, bytes);
    const tenon_tensor d = tenon_tensor_view(TENON_DTYPE_F32, 2, bytes);
    const tenon_tensor b = tenon_tensor_view(TENON_DTYPE_F32, 3, groups);
    const tenon_tensor offsets = tenon_tensor_view(TENON_DTYPE_I32, 1, two);
    const tenon_gemm_params params = tenon_gemm_params(.epilogue = epilogue);
    const tenon_gemm_ragged_params ragged = tenon_gemm_ragged_params(.epilogue = epilogue);
    tenon_plan *plan;
    assert_int_equal(tenon_gemm_plan(test_context, &params, &a, &a, NULL, NULL, &d, &plan),
                     TENON_ERROR_UNSUPPORTED);
    assert_contains(tenon_last_error(), "residual is given");
    assert_int_equal(tenon_gemm_ragged_plan(test_context, &ragged, VIEW(A), &b, &offsets, NULL,
                                            NULL, VIEW(D), &plan),
                     TENON_ERROR_UNSUPPORTED);
    assert_contains(tenon_last_error(), "residual is given");
}

/* In f32 a product with the terms has the bits of the product and separate element-wise steps. */
TEST(bits_of_separate_steps)
{
    static const int64_t shape_a[] = {29, 70}, shape_b[] = {70, 67}, shape[] = {29, 67},
                         columns[] = {67};
    test_random random = test_random_for(907);
    test_tensor t[6]; /* a, b, scale, residual, fused, separate */
    const int64_t *const shapes[] = {shape_a, shape_b, columns, shape, shape, shape};
    for (int i = 0; i < 6; i++) {
        const uint32_t rank = i == 2 ? 1 : 2;
        test_tensor_create(&t[i], TENON_DTYPE_F32, rank, shapes[i],
                           tenon_tensor_view(TENON_DTYPE_F32, rank, shapes[i]).stride, 0);
        if (i < 4)
            test_fill(&t[i], TEST_BOUND, &random);
        test_upload(&t[i]);
    }
    const tenon_activation relu = {.kind = TENON_ACTIVATION_RELU};
    const tenon_gemm_params fused =
        tenon_gemm_params(.epilogue =
                              tenon_epilogue(.activation = relu, .post_scale = &t[2].view,
                                             .post_shift = &t[2].view, .residual = &t[3].view));
    const tenon_gemm_params plain =
        tenon_gemm_params(.epilogue = tenon_epilogue(.activation = relu));
    const tenon_elementwise_params multiply_by = {.struct_size = sizeof multiply_by,
                                                  .kind = TENON_ELEMENTWISE_MULTIPLY};
    const tenon_tensor *separate = &t[5].view;
    assert_ok(
        tenon_gemm(test_stream, &fused, &t[0].view, &t[1].view, NULL, NULL, &t[4].view, NULL));
    assert_ok(tenon_gemm(test_stream, &plain, &t[0].view, &t[1].view, NULL, NULL, separate, NULL));
    assert_ok(tenon_elementwise(test_stream, &multiply_by, separate, &t[2].view, separate, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, separate, &t[2].view, separate, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, separate, &t[3].view, separate, NULL));
    unsigned char *one = test_download_bits(&t[4]), *other = test_download_bits(&t[5]);
    assert_memory_equal(one, other, 29 * 67 * sizeof(float));
    free(one);
    free(other);
    for (int i = 0; i < 6; i++)
        test_tensor_destroy(&t[i]);
}
