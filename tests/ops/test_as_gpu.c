/* Operations that are bound by memory, on a device that is taken for a GPU: work is shared out, and
 * kernels are built and chosen, as on one. */
#include "quick.h"
#include "support.h"

#include "check/case.h"
#include "ops/registry.h"
#include "runtime/context.h"

static void run_example(tenon_stream *stream, const char *line, tenon_dtype dtype)
{
    tn_case c;
    tn_case_result result;
    char text[TN_CASE_TEXT_SIZE];
    memset(&c, 0, sizeof c);
    assert_ok(tn_case_parse_line(line, dtype, &c));
    c.seed = test_seed();
    if (tn_case_run(stream, &c, &result) != TENON_OK)
        fail_msg("%s: %s", tn_case_text(&c, text), tenon_last_error());
    if (!result.served || !result.right)
        fail_msg("%s by %s: %s", tn_case_text(&c, text), result.solver, result.why);
}

/* What is not bound by memory has engines of its own. */
static bool is_bound_by_memory(const tn_operation *operation)
{
    static const char *const others[] = {"gemm", "conv", "im2col", "col2im", "pool", "packed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(operation->examples[0], others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

static tenon_stream *begin(tenon_context **context)
{
    tenon_stream *stream;
    assert_ok(tenon_context_create(NULL, context));
    (*context)->device.is_cpu = false;
    (*context)->device.model.kind = tn_device_kind_other();
    assert_ok(tenon_stream_create(*context, NULL, &stream));
    return stream;
}

static void end(tenon_stream *stream, tenon_context *context)
{
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

static void every_example(void **state)
{
    tenon_context *context;
    tenon_stream *stream = begin(&context);
    (void)state;
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *e = tn_operations[i]->examples;
             is_bound_by_memory(tn_operations[i]) && *e != NULL; e++)
            if (quick_draws(*e, 3))
                run_example(stream, *e, TENON_DTYPE_F32);
    end(stream, context);
}

/* Vectors that are aligned and such that are not, and of 16-bit elements; teams that keep a row and
 * such that do not; rows, and not their elements, side by side. */
static void edges(void **state)
{
    static const char *const lines[] = {
        "activation x=f16:1024 y=f16:1024 activation=relu",
        "activation x=bf16:1027+1 y=bf16:1027 activation=relu",
        "elementwise a=f16:3x5x7x9/800,150,20,2 b=f16:3x5x7x9 d=f16:3x5x7x9",
        "copy x=u8:61x64 y=u8:61x64",
        "copy x=u8:61x67+1 y=u8:61x67",
        "copy x=i8:300 y=f16:300",
        "softmax/group x=f32:3x4200 y=@x flags=1",
        "softmax/group:tm2 x=f16:13x100+3 y=f16:13x100",
        "softmax/group:tm4 x=f32:3x37x19 y=@x axis=1",
        "softmax_backward/group:tm1 y=f32:5x131 dy=f32:5x131+1 dx=f32:5x131",
        "cross_entropy/group:tm2 logits=f32:3x190x4 labels=i32:3x4 loss=f32:3x4 axis=1",
        "norm/group:tm8 x=f16:5x227 gamma=f16:227 beta=f16:227 y=f16:5x227",
        "norm/group:tm4 x=f32:3x5x7x3 y=@x kind=batch",
        "reduce/group:tm16 x=f32:37x1001+1 y=f32:37 axes=1 axis_count=1 kind=variance",
        "reduce/group:tm8 x=f16:130x65 y=f16:65 axes=0 axis_count=1 kind=max",
        "reduce/group:tm1 x=f32:9x13x3 y=i32:13 axes=0,2 axis_count=2 kind=argmin",
        NULL};
    tenon_context *context;
    tenon_stream *stream = begin(&context);
    (void)state;
    for (const char *const *line = lines; *line != NULL; line++)
        run_example(stream, *line, TENON_DTYPE_F32);
    end(stream, context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_example), cmocka_unit_test(edges)};
    return TEST_MAIN(tests);
}
