/* Tests TENON_CONTEXT_CHECK_NUMERICS, which names the call that turned finite inputs into NaN or
 * infinity, and memory_peak in the statistics. */
#include "runtime.h"

#include <math.h>

/* The last line that a context has logged, and the number of lines about numbers. */
typedef struct heard {
    char line[512];
    int count;
} heard;

static void hear(void *user, tenon_log_level level, const char *message)
{
    heard *h = user;
    if (level != TENON_LOG_WARNING || strstr(message, "inputs are finite") == NULL)
        return;
    snprintf(h->line, sizeof h->line, "%s", message);
    h->count++;
}

static tenon_context *begin(heard *h, uint64_t flags, tenon_stream **stream)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context;
    *h = (heard){.count = 0};
    params.device = getenv("TENON_DEVICE");
    params.log = hear;
    params.log_user = h;
    params.flags = flags;
    params.unchecked = 1;
    assert_ok(tenon_context_create(&params, &context));
    assert_ok(tenon_stream_create(context, NULL, stream));
    return context;
}

static void end(tenon_context *context, tenon_stream *stream)
{
    assert_ok(tenon_stream_finish(stream));
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

/* Creates a tensor of 2 x 3 elements. */
static tenon_tensor make(tenon_context *context, tenon_stream *stream, const float values[6])
{
    const int64_t shape[] = {2, 3};
    tenon_tensor t;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &t));
    assert_ok(tenon_tensor_upload(stream, values, 6 * sizeof *values, &t, NULL));
    return t;
}

static const float large[6] = {1, 2, 3, 4, 3e38f, 5}, ones[6] = {1, 1, 1, 1, 1, 1};

/* Only the product that overflows is reported, at its element; the sum that passes the infinity on
 * is not, and neither is a finite call. */
TEST(first_call_is_named)
{
    heard h;
    tenon_stream *stream;
    tenon_context *context = begin(&h, TENON_CONTEXT_CHECK_NUMERICS, &stream);
    tenon_tensor a = make(context, stream, large), b = make(context, stream, ones),
                 d = make(context, stream, ones), e = make(context, stream, ones);
    const tenon_elementwise_params product =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_MULTIPLY);
    assert_ok(tenon_elementwise(stream, NULL, &a, &b, &d, NULL));
    assert_int_equal(h.count, 0);
    assert_ok(tenon_elementwise(stream, &product, &a, &a, &d, NULL));
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.line, "tenon_elementwise: d[1, 1] is inf"));
    assert_ok(tenon_elementwise(stream, NULL, &d, &b, &e, NULL));
    assert_int_equal(h.count, 1);
    for (tenon_tensor **t = (tenon_tensor *[]){&a, &b, &d, &e, NULL}; *t != NULL; t++)
        tenon_memory_destroy(&(*t)->memory);
    end(context, stream);
}

/* A plan is checked as well, and an operand that is read and written counts as an input. */
TEST(plans_and_operands_in_place)
{
    heard h;
    tenon_stream *stream;
    tenon_context *context = begin(&h, TENON_CONTEXT_CHECK_NUMERICS, &stream);
    tenon_tensor g = make(context, stream, large), p = make(context, stream, large);
    tenon_sgd_params params = tenon_sgd_params(.learning_rate = -10);
    tenon_plan *plan;
    assert_ok(tenon_sgd_plan(context, &params, &g, &p, NULL, NULL, &plan));
    const tenon_memory memories[] = {g.memory, p.memory, {0}, {0}};
    assert_ok(tenon_plan_run(stream, plan, memories, 4, NULL));
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.line, "tenon_sgd: parameter[1, 1] is inf"));
    assert_ok(tenon_plan_run(stream, plan, memories, 4, NULL));
    assert_int_equal(h.count, 1);
    tenon_plan_release(plan);
    tenon_memory_destroy(&g.memory);
    tenon_memory_destroy(&p.memory);
    end(context, stream);
}

TEST(contexts_without_the_flag)
{
    heard h;
    tenon_stream *stream;
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context = begin(&h, 0, &stream);
    tenon_tensor a = make(context, stream, large);
    const tenon_elementwise_params product =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_MULTIPLY);
    tenon_tensor d = make(context, stream, ones);
    assert_ok(tenon_elementwise(stream, &product, &a, &a, &d, NULL));
    assert_int_equal(h.count, 0);
    tenon_memory_destroy(&a.memory);
    tenon_memory_destroy(&d.memory);
    end(context, stream);
    params.flags = 2;
    assert_invalid(tenon_context_create(&params, &context), "flags is 0x2");
}

static uint64_t peak(tenon_context *context)
{
    return test_statistics(context).memory_peak;
}

/* The peak counts what is allocated at one time, with and without a pool, whose unused buffers do
 * not count. */
TEST(memory_peak)
{
    for (int pooled = 0; pooled < 2; pooled++) {
        tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
        tenon_context *context;
        tenon_memory a, b;
        params.device = getenv("TENON_DEVICE");
        params.pool_limit = pooled != 0 ? UINT64_C(1) << 24 : 0;
        assert_ok(tenon_context_create(&params, &context));
        assert_int_equal(peak(context), 0);
        assert_ok(tenon_memory_create(context, 1 << 20, &a));
        assert_ok(tenon_memory_create(context, 1 << 16, &b));
        assert_int_equal(peak(context), (1 << 20) + (1 << 16));
        tenon_memory_destroy(&a);
        assert_ok(tenon_memory_create(context, 1 << 19, &a));
        assert_int_equal(peak(context), (1 << 20) + (1 << 16));
        tenon_memory_destroy(&b);
        assert_ok(tenon_memory_create(context, 1 << 21, &b));
        assert_int_equal(peak(context), (1 << 21) + (1 << 19));
        tenon_memory_destroy(&a);
        for (int i = 0; i < 2; i++) { /* pinned memory counts until it is destroyed */
            tenon_pinned *pinned = NULL;
            assert_ok(tenon_pinned_create(context, 1 << 20, &pinned));
            tenon_pinned_destroy(pinned);
        }
        assert_int_equal(peak(context), (1 << 21) + (1 << 20));
        tenon_memory_destroy(&b);
        tenon_context_release(context);
    }
}
