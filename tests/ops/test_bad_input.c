/*
 * Every operation is offered every wrong argument. Each must be refused with its status, a message
 * that names operation and argument, and its output untouched.
 */
#include "support.h"

/* The operations as one shape of call: operands by name, the last one the output. */
#define MOST 5
typedef struct operation {
    const char *name, *plan_name;
    const char *operands[MOST];
    bool optional[MOST];
    uint32_t count;
    uint32_t rank[MOST];
    int64_t shape[MOST][4];
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    size_t params_size;
    void (*defaults)(void *params);
} operation;

static tenon_status run_gemm(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_gemm(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_gemm(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_gemm_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_conv(tenon_stream *stream, const void *params, const tenon_tensor *const *v,
                             const tenon_sync *sync)
{
    return tenon_conv_forward(stream, params, v[0], v[1], v[2], v[3], v[4], sync);
}

static tenon_status plan_conv(tenon_context *context, const void *params,
                              const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_conv_forward_plan(context, params, v[0], v[1], v[2], v[3], v[4], plan);
}

static tenon_status run_im2col(tenon_stream *stream, const void *params,
                               const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_im2col(stream, params, v[0], v[1], sync);
}

static tenon_status plan_im2col(tenon_context *context, const void *params,
                                const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_im2col_plan(context, params, v[0], v[1], plan);
}

static tenon_status run_activation(tenon_stream *stream, const void *params,
                                   const tenon_tensor *const *v, const tenon_sync *sync)
{
    return tenon_activation_forward(stream, params, v[0], v[1], sync);
}

static tenon_status plan_activation(tenon_context *context, const void *params,
                                    const tenon_tensor *const *v, tenon_plan **plan)
{
    return tenon_activation_forward_plan(context, params, v[0], v[1], plan);
}

static void default_gemm(void *params)
{
    *(tenon_gemm_params *)params = tenon_gemm_params_default();
    ((tenon_gemm_params *)params)->epilogue.beta = 1;
}

static void default_conv(void *params)
{
    *(tenon_conv_params *)params = tenon_conv_params_default();
    ((tenon_conv_params *)params)->epilogue.beta = 1;
}

static void default_im2col(void *params)
{
    *(tenon_im2col_params *)params = tenon_im2col_params_default();
    ((tenon_im2col_params *)params)->filter[0] = 2;
}

static void default_activation(void *params)
{
    *(tenon_activation_params *)params = tenon_activation_params_default();
}

static const operation operations[] = {
    {"tenon_gemm",
     "tenon_gemm_plan",
     {"a", "b", "c", "bias", "d"},
     {false, false, false, true, false},
     5,
     {2, 2, 2, 1, 2},
     {{4, 5}, {5, 6}, {4, 6}, {6}, {4, 6}},
     run_gemm,
     plan_gemm,
     sizeof(tenon_gemm_params),
     default_gemm},
    {"tenon_conv_forward",
     "tenon_conv_forward_plan",
     {"x", "w", "c", "bias", "y"},
     {false, false, false, true, false},
     5,
     {4, 4, 4, 1, 4},
     {{2, 3, 5, 6}, {4, 3, 2, 3}, {2, 4, 4, 4}, {4}, {2, 4, 4, 4}},
     run_conv,
     plan_conv,
     sizeof(tenon_conv_params),
     default_conv},
    {"tenon_im2col",
     "tenon_im2col_plan",
     {"x", "col"},
     {false},
     2,
     {4, 3},
     {{2, 3, 5, 6}, {2, 6, 24}},
     run_im2col,
     plan_im2col,
     sizeof(tenon_im2col_params),
     default_im2col},
    {"tenon_activation_forward",
     "tenon_activation_forward_plan",
     {"x", "y"},
     {false},
     2,
     {2, 2},
     {{4, 5}, {4, 5}},
     run_activation,
     plan_activation,
     sizeof(tenon_activation_params),
     default_activation},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

typedef union params {
    uint32_t struct_size;
    tenon_gemm_params gemm;
    tenon_conv_params conv;
    tenon_im2col_params im2col;
    tenon_activation_params activation;
} params;

/* A sound call, which each test spoils in one place. */
typedef struct offer {
    const operation *op;
    params params;
    test_tensor tensors[MOST];
    tenon_tensor views[MOST];
    const tenon_tensor *arguments[MOST];
} offer;

static void prepare(offer *o, const operation *op)
{
    test_random random = test_random_for(601);
    memset(o, 0, sizeof *o);
    o->op = op;
    op->defaults(&o->params);
    for (uint32_t i = 0; i < op->count; i++) {
        int64_t stride[4];
        test_strides(TEST_ROW, false, op->rank[i], op->shape[i], stride);
        test_tensor_create(&o->tensors[i], TENON_DTYPE_F32, op->rank[i], op->shape[i], stride, 0);
        test_fill_reals(&o->tensors[i], &random);
        test_upload(&o->tensors[i]);
        o->views[i] = o->tensors[i].view;
        o->arguments[i] = &o->views[i];
    }
}

static void dismiss(offer *o)
{
    for (uint32_t i = 0; i < o->op->count; i++) {
        if (!test_untouched(&o->tensors[i]))
            fail_msg("%s: %s was written to by a refused call", o->op->name, o->op->operands[i]);
        test_tensor_destroy(&o->tensors[i]);
    }
}

static uint32_t output_of(const operation *op)
{
    return op->count - 1;
}

/* The immediate call and the plan both refuse. */
static void refuse(offer *o, tenon_status status, const char *argument)
{
    tenon_plan *plan = (tenon_plan *)(uintptr_t)1;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_refused(o->op->run(test_stream, &o->params, o->arguments, &sync), status, o->op->name,
                   argument);
    assert_null(event);
    assert_refused(o->op->plan(test_context, &o->params, o->arguments, &plan), status,
                   o->op->plan_name, argument);
    assert_null(plan);
}

/* Spoils each view of each operation in turn. */
static void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = inputs ? 0 : output_of(&operations[i]); a < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            spoil(&o.views[a]);
            refuse(&o, status, operations[i].operands[a]);
            dismiss(&o);
        }
}

static void sound_calls_are_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        offer o;
        tenon_plan *plan;
        prepare(&o, &operations[i]);
        assert_ok(operations[i].plan(test_context, &o.params, o.arguments, &plan));
        assert_int_equal(tenon_plan_operands(plan), operations[i].count);
        tenon_plan_release(plan);
        dismiss(&o);
        prepare(&o, &operations[i]);
        assert_ok(operations[i].run(test_stream, &o.params, o.arguments, NULL));
        assert_false(test_untouched(&o.tensors[output_of(&operations[i])]));
        test_upload(&o.tensors[output_of(&operations[i])]);
        dismiss(&o);
    }
}

static void null_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        const operation *op = &operations[i];
        offer o;
        prepare(&o, op);
        for (uint32_t a = 0; a < op->count; a++) {
            if (op->optional[a])
                continue;
            o.arguments[a] = NULL;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, op->operands[a]);
            o.arguments[a] = &o.views[a];
        }
        tenon_plan *plan = NULL;
        assert_refused(op->run(NULL, &o.params, o.arguments, NULL), TENON_ERROR_INVALID_ARGUMENT,
                       op->name, "stream");
        assert_refused(op->plan(NULL, &o.params, o.arguments, &plan), TENON_ERROR_INVALID_ARGUMENT,
                       op->plan_name, "context");
        assert_refused(op->plan(test_context, &o.params, o.arguments, NULL),
                       TENON_ERROR_INVALID_ARGUMENT, op->plan_name, "plan");
        dismiss(&o);
    }
}

static void unknown_struct_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++) {
        offer o;
        prepare(&o, &operations[i]);
        const uint32_t known = o.params.struct_size;
        assert_int_equal(known, operations[i].params_size);
        const uint32_t sizes[] = {0, 1, known - 8, known + 8, UINT32_MAX};
        for (int s = 0; s < 5; s++) {
            o.params.struct_size = sizes[s];
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "struct_size");
        }
        o.params.struct_size = known;
        o.params.gemm.flags = 1U << 31; /* every struct has its flags there */
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "flags");
        dismiss(&o);
    }
}

static void no_type(tenon_tensor *view)
{
    view->dtype = TENON_DTYPE_INVALID;
}

static void wrong_rank(tenon_tensor *view)
{
    view->rank = 9;
}

static void negative_size(tenon_tensor *view)
{
    view->shape[0] = -1;
}

static void negative_stride(tenon_tensor *view)
{
    view->stride[0] = -1;
}

static void overflowing_size(tenon_tensor *view)
{
    view->shape[0] = INT64_MAX;
}

static void odd_offset(tenon_tensor *view)
{
    view->offset += 2;
}

static void no_such_memory(tenon_tensor *view)
{
    view->memory.kind = 7;
}

static void malformed_views(void **state)
{
    static void (*const spoilers[])(tenon_tensor *) = {
        no_type,          wrong_rank, negative_size, negative_stride,
        overflowing_size, odd_offset, no_such_memory};
    (void)state;
    for (size_t i = 0; i < sizeof spoilers / sizeof *spoilers; i++)
        spoil_views(spoilers[i], TENON_ERROR_INVALID_ARGUMENT, true);
}

static void to_i32(tenon_tensor *view)
{
    view->dtype = TENON_DTYPE_I32;
}

/* A type of which there is no implementation, in one operand or in all. */
static void unsupported_types(void **state)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F16, TENON_DTYPE_BF16,    TENON_DTYPE_I8,
                                        TENON_DTYPE_I32, TENON_DTYPE_F8_E4M3, TENON_DTYPE_F8_E5M2};
    (void)state;
    spoil_views(to_i32, TENON_ERROR_UNSUPPORTED, false);
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            offer o;
            prepare(&o, &operations[i]);
            for (uint32_t a = 0; a < operations[i].count; a++)
                o.views[a].dtype = types[t];
            refuse(&o, TENON_ERROR_UNSUPPORTED, tenon_dtype_string(types[t]));
            dismiss(&o);
        }
}

static void past_the_buffer(tenon_tensor *view)
{
    view->offset += 4096;
}

static void one_row_too_long(tenon_tensor *view)
{
    view->stride[0] += 1000;
}

static void null_buffer(tenon_tensor *view)
{
    view->memory.u.buffer = NULL;
}

static void views_past_their_buffer(void **state)
{
    (void)state;
    spoil_views(past_the_buffer, TENON_ERROR_INVALID_ARGUMENT, true);
    spoil_views(one_row_too_long, TENON_ERROR_INVALID_ARGUMENT, true);
    spoil_views(null_buffer, TENON_ERROR_INVALID_ARGUMENT, true);
}

/* A plan may go without memory; a call may not. */
static void missing_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = 0; a < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            memset(&o.views[a].memory, 0, sizeof o.views[a].memory);
            assert_refused(operations[i].run(test_stream, &o.params, o.arguments, NULL),
                           TENON_ERROR_INVALID_ARGUMENT, operations[i].name,
                           operations[i].operands[a]);
            dismiss(&o);
        }
}

static void repeated(tenon_tensor *view)
{
    view->stride[0] = 0;
}

static void interleaved(tenon_tensor *view)
{
    view->stride[0] = 1;
    view->stride[1] = 1;
}

static void outputs_that_overlap_themselves(void **state)
{
    (void)state;
    spoil_views(repeated, TENON_ERROR_INVALID_ARGUMENT, false);
    spoil_views(interleaved, TENON_ERROR_INVALID_ARGUMENT, false);
}

/* Every input moved onto the output's memory, one element off; and seen through a sub-buffer. */
static void outputs_that_overlap_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = 0; a + 1 < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            uint32_t output = output_of(&operations[i]);
            /* Room for either, so that only the overlap is wrong. */
            tenon_memory memory;
            assert_ok(tenon_memory_create(test_context, 16384, &memory));
            o.views[output].memory = o.views[a].memory = memory;
            o.views[a].offset = o.views[output].offset + 4;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, operations[i].operands[a]);
            assert_contains(tenon_last_error(), "overlap");
            const cl_buffer_region region = {0, 8192};
            cl_int error;
            o.views[a].memory.u.buffer = clCreateSubBuffer(
                memory.u.buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
            assert_int_equal(error, CL_SUCCESS);
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, operations[i].operands[a]);
            assert_contains(tenon_last_error(), "overlap");
            clReleaseMemObject(o.views[a].memory.u.buffer);
            tenon_memory_destroy(&memory);
            dismiss(&o);
        }
}

/* Another size in the last dimension of each operand. */
static void sizes_that_do_not_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = 0; a < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            o.views[a].shape[o.views[a].rank - 1] -= 1;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
            o.views[a] = o.tensors[a].view;
            o.views[a].rank -= 1;
            o.views[a].shape[0] = 3;
            if (o.views[a].rank == 0) /* a scalar may broadcast */
                o.views[a].rank = 9;
            tenon_plan *plan;
            tenon_status status = operations[i].plan(test_context, &o.params, o.arguments, &plan);
            assert_true(status == TENON_ERROR_INVALID_ARGUMENT ||
                        status == TENON_ERROR_UNSUPPORTED);
            dismiss(&o);
        }
}

static void buffers_of_another_context(void **state)
{
    tenon_context *other;
    tenon_memory memory;
    (void)state;
    assert_ok(tenon_context_create(NULL, &other));
    assert_ok(tenon_memory_create(other, 16384, &memory));
    for (size_t i = 0; i < OPERATIONS; i++)
        for (uint32_t a = 0; a < operations[i].count; a++) {
            offer o;
            prepare(&o, &operations[i]);
            o.views[a].memory = memory;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, operations[i].operands[a]);
            dismiss(&o);
        }
    tenon_memory_destroy(&memory);
    tenon_context_release(other);
}

static void solver_names(void **state)
{
    static const char *const names[] = {
        "", "nothing", "gemm/", "gemm/none", "conv/none", "im2col/rows:x1", "activation/dense,"};
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            offer o;
            prepare(&o, &operations[i]);
            o.params.gemm.solver = names[n]; /* every struct has it there */
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "solver");
            dismiss(&o);
        }
}

static void refuse_geometry(offer *o, tenon_conv_geometry *geometry, int64_t *entry, int64_t value)
{
    const tenon_conv_geometry sound = *geometry;
    *entry = value;
    refuse(o, TENON_ERROR_INVALID_ARGUMENT, "");
    *geometry = sound;
}

static void geometries(void **state)
{
    (void)state;
    for (int i = 1; i <= 2; i++) {
        offer o;
        prepare(&o, &operations[i]);
        tenon_conv_geometry *g = i == 1 ? &o.params.conv.geometry : &o.params.im2col.geometry;
        for (int d = 0; d < 2; d++) {
            refuse_geometry(&o, g, &g->stride[d], 0);
            refuse_geometry(&o, g, &g->stride[d], -1);
            refuse_geometry(&o, g, &g->dilation[d], 0);
            if (d == 0) /* along the other, im2col's filter has one tap */
                refuse_geometry(&o, g, &g->dilation[d], INT64_MAX);
            refuse_geometry(&o, g, &g->pad_begin[d], -1);
            refuse_geometry(&o, g, &g->pad_end[d], -1);
            refuse_geometry(&o, g, &g->pad_end[d], INT64_MAX);
            refuse_geometry(&o, g, &g->pad_end[d], 1); /* y no longer fits */
        }
        dismiss(&o);
    }
}

static void parameters_of_convolution(void **state)
{
    static const int64_t groups[] = {0, -1, 2, 3, INT64_MAX};
    offer o;
    (void)state;
    prepare(&o, &operations[1]);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        o.params.conv.groups = groups[i];
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
    }
    dismiss(&o);
    prepare(&o, &operations[2]);
    o.params.im2col.filter[1] = 0;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "filter");
    o.params.im2col.filter[1] = INT64_MAX;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
    dismiss(&o);
}

static void epilogues(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        offer o;
        prepare(&o, &operations[i]);
        tenon_epilogue *e = i == 0 ? &o.params.gemm.epilogue : &o.params.conv.epilogue;
        e->activation.kind = 99;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "99");
        e->activation.kind = 0;
        e->activation.reserved = 1;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "reserved");
        e->activation.reserved = 0;
        e->scale[1] = &o.views[0];
        refuse(&o, TENON_ERROR_UNSUPPORTED, "scale");
        e->scale[1] = NULL;
        e->zero_point[2] = &o.views[0];
        refuse(&o, TENON_ERROR_UNSUPPORTED, "zero point");
        dismiss(&o);
    }
    offer o;
    prepare(&o, &operations[3]);
    o.params.activation.activation.kind = 6;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "6");
    dismiss(&o);
}

static void wait_lists(void **state)
{
    static const cl_event none[] = {NULL};
    static const tenon_sync wrong[] = {{.wait_list = none, .wait_count = 1},
                                       {.wait_list = NULL, .wait_count = 2},
                                       {.wait_list = none, .wait_count = 0}};
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        for (int s = 0; s < 3; s++) {
            offer o;
            prepare(&o, &operations[i]);
            assert_refused(operations[i].run(test_stream, &o.params, o.arguments, &wrong[s]),
                           TENON_ERROR_INVALID_ARGUMENT, operations[i].name, "wait_list");
            dismiss(&o);
        }
}

/* A batch-invariant product wants d's columns contiguous. */
static void batch_invariance_wants_rows(void **state)
{
    offer o;
    (void)state;
    prepare(&o, &operations[0]);
    o.params.gemm.flags = TENON_GEMM_BATCH_INVARIANT;
    o.views[4].stride[0] = 1;
    o.views[4].stride[1] = 4;
    refuse(&o, TENON_ERROR_UNSUPPORTED, "d");
    dismiss(&o);
}

static void dimensions_to_come(void **state)
{
    offer o;
    (void)state;
    prepare(&o, &operations[1]);
    for (int a = 0; a < 2; a++)
        o.views[a].rank = 3;
    refuse(&o, TENON_ERROR_UNSUPPORTED, "x");
    dismiss(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_calls_are_accepted),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(unknown_struct_sizes),
        cmocka_unit_test(malformed_views),
        cmocka_unit_test(unsupported_types),
        cmocka_unit_test(views_past_their_buffer),
        cmocka_unit_test(missing_memory),
        cmocka_unit_test(outputs_that_overlap_themselves),
        cmocka_unit_test(outputs_that_overlap_inputs),
        cmocka_unit_test(sizes_that_do_not_match),
        cmocka_unit_test(buffers_of_another_context),
        cmocka_unit_test(solver_names),
        cmocka_unit_test(geometries),
        cmocka_unit_test(parameters_of_convolution),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(wait_lists),
        cmocka_unit_test(batch_invariance_wants_rows),
        cmocka_unit_test(dimensions_to_come),
    };
    return TEST_MAIN(tests);
}
