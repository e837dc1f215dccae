/* Which solvers plans take on kinds of GPU, of operations that are bound by memory: few long rows, and
 * many short ones. */
#include "common/testing.h"

#include "ops/common/case.h"
#include "runtime/target.h"

#include <string.h>

static void ignore(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    (void)user;
    (void)source;
    (void)options;
    (void)kernel;
    (void)work_group;
}

static void choose(tenon_context *context, const char *line, char *text, size_t size)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {0};
    tenon_plan *plan;
    tn_case c;
    memset(&c, 0, sizeof c);
    if (tn_case_parse_line(line, TENON_DTYPE_F32, &c) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    for (uint32_t i = 0; i < c.operation->operand_count; i++)
        if (c.views[i].dtype != 0)
            views[i] = &c.views[c.same[i] != 0 ? c.same[i] - 1 : i];
    if (c.operation->plan(context, c.params.bytes, views, &plan) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    tenon_plan_describe(plan, text, size);
    tenon_plan_release(plan);
}

/* A line, and how the description of its plan begins. */
static const char *const choices[][2] = {
    {"softmax x=T:8192x1024 y=T:8192x1024", "softmax/group:"},
    {"softmax x=T:128x50000 y=T:128x50000", "softmax/group:tm256"},
    {"softmax x=T:65536x21 y=T:65536x21", "softmax/group:"},
    {"softmax x=T:8x21x65536 y=T:8x21x65536 axis=1", "softmax/group:"},
    {"softmax_backward y=T:8192x1024 dy=T:8192x1024 dx=T:8192x1024", "softmax_backward/group:"},
    {"cross_entropy logits=T:4096x32000 labels=i32:4096 loss=T:4096", "cross_entropy/group:"},
    {"norm x=T:8192x1024 gamma=T:1024 beta=T:1024 y=T:8192x1024", "norm/group:"},
    {"norm x=T:8192x4096 gamma=T:4096 y=T:8192x4096 kind=rms", "norm/group:"},
    {"norm x=T:64x32x112x112 gamma=T:32 beta=T:32 y=T:64x32x112x112 kind=batch", "norm/split"},
    {"reduce x=T:8192x1024 y=T:8192 axis_count=1 axes=1", "reduce/group:"},
    {"reduce x=T:8192x1024 y=T:8192 axis_count=1 axes=1 kind=max", "reduce/group:"},
    {"reduce x=T:1x67108864 y=T:1 axis_count=1 axes=1", "reduce/split_rows"},
    {"reduce x=T:4x16777216 y=T:4 axis_count=1 axes=1", "reduce/split_rows"},
    {"reduce x=T:1000000x4 y=T:1000000 axis_count=1 axes=1", "reduce/"},
    {"activation x=T:1048576 y=T:1048576 activation=relu", "activation/dense"},
    {"copy x=T:4096x4096/1,4096 y=T:4096x4096", "copy/transpose_local"},
};

static void rows_by_their_number_and_length(void **state)
{
    (void)state;
    for (int arch = 0; arch < TN_ARCH_COUNT; arch++) {
        tenon_context *context;
        assert_int_equal(tn_target_context((tn_arch)arch, ignore, NULL, &context), TENON_OK);
        for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
            char text[1024];
            choose(context, choices[i][0], text, sizeof text);
            if (strncmp(text, choices[i][1], strlen(choices[i][1])) != 0)
                fail_msg("%s: %s has %s", choices[i][0], tn_arch_facts_of((tn_arch)arch)->name,
                         text);
        }
        tenon_context_release(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_by_their_number_and_length)};
    return cmocka_run_group_tests_name("gpu_choice", tests, NULL, NULL);
}
