#include "common/testing.h"

#include "run_text.h"

static char *whole(const char *body, const char *target, uint32_t shared)
{
    static char text[1 << 18];
    const int length =
        snprintf(text, sizeof text,
                 ".version 8.0\n.target %s\n.address_size 64\n"
                 ".shared .align 1024 .b8 shared[%u];\n"
                 ".visible .entry k(.param .u64 in, "
                 ".param .u64 .ptr .global .align 4 out)\n{\n"
                 ".reg .pred %%p<20>;\n.reg .b16 %%h<20>;\n.reg .b32 %%r<200>;\n.reg .b32 %%tid;\n"
                 ".reg .b64 %%d<40>;\n.reg .b64 %%in, %%out;\n"
                 "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
                 "mov.u32 %%tid, %%tid.x;\n%s\nret;\n}\n",
                 target != NULL ? target : "sm_90a", shared > 0 ? shared : 16, body);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return text;
}

bool run_text(test_kernel *t)
{
    const uint64_t params[2] = {UINT64_C(0x100000000), UINT64_C(0x200000000)};
    const ptx_buffer buffers[] = {{params[0], t->in_size, t->in}, {params[1], t->out_size, t->out}};
    ptx_program *program = ptx_parse(whole(t->body, t->target, t->shared), t->message);
    if (program == NULL)
        fail_msg("%s", t->message);
    const ptx_launch launch = {.program = program,
                               .kernel = ptx_find(program, "k"),
                               .groups = {1, 1, 1},
                               .items = {t->items, 1, 1},
                               .params = (const unsigned char *)params,
                               .buffers = buffers,
                               .buffer_count = 2,
                               .seed = t->seed};
    const bool is_right = ptx_run(&launch, &t->counts, t->message);
    ptx_destroy(program);
    return is_right;
}

void expect_failure(test_kernel *t, const char *said)
{
    for (t->seed = 0; t->seed < 5; t->seed++) {
        if (run_text(t))
            fail_msg("it runs without an error; expected \"%s\"", said);
        if (strstr(t->message, said) == NULL)
            fail_msg("expected \"%s\", got: %s", said, t->message);
    }
}

bool parses(const char *body, const char *target, char message[256])
{
    ptx_program *program = ptx_parse(whole(body, target, 0), message);
    ptx_destroy(program);
    return program != NULL;
}
