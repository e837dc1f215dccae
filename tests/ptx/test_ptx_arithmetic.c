/* Tests single instructions of the interpreter, and its control flow. */
#include "common/testing.h"

#include "run_text.h"

#include <math.h>

/* One instruction with operands %d1 to %d3 (or %r or %h with the same bits), and its result as 64
 * bits. */
typedef struct line {
    const char *text; /* writes %d0 */
    uint64_t a, b, c, expected;
} line;

#define R3   "cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; cvt.u32.u64 %r3, %d3; "
#define H3   "cvt.u16.u64 %h1, %d1; cvt.u16.u64 %h2, %d2; cvt.u16.u64 %h3, %d3; "
#define TO_R " cvt.u64.u32 %d0, %r0;"
#define TO_H " cvt.u64.u16 %d0, %h0;"
#define TO_P " selp.b64 %d0, 1, 0, %p0;"

static const line lines[] = {
    {R3 "add.s32 %r0, %r1, %r2;" TO_R, 0xffffffff, 2, 0, 1},
    {R3 "sub.u32 %r0, %r1, %r2;" TO_R, 1, 2, 0, 0xffffffff},
    {R3 "mul.hi.u32 %r0, %r1, %r2;" TO_R, 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {R3 "mul.hi.s32 %r0, %r1, %r2;" TO_R, 0xffffffff, 2, 0, 0xffffffff},
    {R3 "mul.wide.s32 %d0, %r1, %r2;", 0xffffffff, 3, 0, 0xfffffffffffffffd},
    {R3 "mul.wide.u32 %d0, %r1, %r2;", 0xffffffff, 3, 0, 0x2fffffffd},
    {R3 "mad.wide.s32 %d0, %r1, %r2, %d3;", 0xffffffff, 3, 10, 7},
    {"mul.hi.u64 %d0, %d1, %d2;", ~UINT64_C(0), ~UINT64_C(0), 0, 0xfffffffffffffffe},
    {"mad.lo.s64 %d0, %d1, %d2, %d3;", 7, 9, 1, 64},
    {R3 "div.s32 %r0, %r1, %r2;" TO_R, 0xfffffff9, 2, 0, 0xfffffffd},
    {R3 "rem.s32 %r0, %r1, %r2;" TO_R, 0xfffffff9, 2, 0, 0xffffffff},
    {R3 "min.s32 %r0, %r1, %r2;" TO_R, 0xffffffff, 1, 0, 0xffffffff},
    {R3 "min.u32 %r0, %r1, %r2;" TO_R, 0xffffffff, 1, 0, 1},
    {R3 "shr.s32 %r0, %r1, %r2;" TO_R, 0x80000000, 40, 0, 0xffffffff},
    {R3 "shr.u32 %r0, %r1, %r2;" TO_R, 0x80000000, 32, 0, 0},
    {R3 "shl.b32 %r0, %r1, %r2;" TO_R, 3, 31, 0, 0x80000000},
    {R3 "bfe.u32 %r0, %r1, %r2, %r3;" TO_R, 0xabcd1234, 8, 8, 0x12},
    {R3 "bfe.s32 %r0, %r1, %r2, %r3;" TO_R, 0x0000f000, 12, 4, 0xffffffff},
    {R3 "bfi.b32 %r0, %r1, %r2, 4, 8;" TO_R, 0xfff, 0, 0, 0xff0},
    {R3 "prmt.b32 %r0, %r1, %r2, 0x5410;" TO_R, 0x33221100, 0x77665544, 0, 0x55441100},
    {R3 "prmt.b32 %r0, %r1, %r2, 0x9876;" TO_R, 0x33228000, 0x77665544, 0, 0xff007766},
    {R3 "lop3.b32 %r0, %r1, %r2, %r3, 0xe8;" TO_R, 0xc, 0xa, 0x6, 0xe},
    {R3 "shf.l.wrap.b32 %r0, %r1, %r2, %r3;" TO_R, 0x80000000, 1, 1, 3},
    {R3 "shf.r.clamp.b32 %r0, %r1, %r2, %r3;" TO_R, 0x80000000, 1, 40, 1},
    {R3 "popc.b32 %r0, %r1;" TO_R, 0xf0f0, 0, 0, 8},
    {R3 "clz.b32 %r0, %r1;" TO_R, 0x10, 0, 0, 27},
    {R3 "brev.b32 %r0, %r1;" TO_R, 1, 0, 0, 0x80000000},
    {R3 "dp4a.s32.s32 %r0, %r1, %r2, %r3;" TO_R, 0xff020304, 0x01010101, 10, 18},
    {R3 "add.cc.u32 %r0, %r1, %r2; addc.u32 %r0, 5, 0;" TO_R, 0xffffffff, 1, 0, 6},
    {R3 "fma.rn.f32 %r0, %r1, %r2, %r3;" TO_R, 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},
    {R3 "min.f32 %r0, %r1, %r2;" TO_R, 0x7fc00000, 0x3f800000, 0, 0x3f800000},
    {R3 "max.NaN.f32 %r0, %r1, %r2;" TO_R, 0x7fc00000, 0x3f800000, 0, 0x7fffffff},
    {R3 "setp.lt.f32 %p0, %r1, %r2;" TO_P, 0x7fc00000, 0x3f800000, 0, 0},
    {R3 "setp.geu.f32 %p0, %r1, %r2;" TO_P, 0x7fc00000, 0x3f800000, 0, 1},
    {R3 "setp.lt.s32 %p0, %r1, %r2;" TO_P, 0xffffffff, 0, 0, 1},
    {R3 "setp.lt.u32 %p0, %r1, %r2;" TO_P, 0xffffffff, 0, 0, 0},
    {R3 "setp.eq.s32 %p1, 0, 0; setp.lt.and.s32 %p0, %r1, %r2, !%p1;" TO_P, 1, 2, 0, 0},
    {H3 "add.rn.f16 %h0, %h1, %h2;" TO_H, 0x3c00, 0x1000, 0, 0x3c00}, /* 1 + 2^-11: to even */
    {H3 "fma.rn.f16 %h0, %h1, %h2, %h3;" TO_H, 0x3c03, 0x3c03, 0xbc00, 0x1e02},
    {R3 "cvt.rn.f16.f32 %h0, %r1;" TO_H, 0x477fefff, 0, 0, 0x7bff}, /* just below 65520 */
    {R3 "cvt.rn.f16.f32 %h0, %r1;" TO_H, 0x477ff000, 0, 0, 0x7c00},
    {R3 "cvt.rn.f16.f32 %h0, %r1;" TO_H, 0x33000001, 0, 0, 0x0001}, /* just above 2^-25 */
    {R3 "cvt.rn.bf16.f32 %h0, %r1;" TO_H, 0x3f808000, 0, 0, 0x3f80},
    {R3 "cvt.rn.bf16.f32 %h0, %r1;" TO_H, 0x3f818000, 0, 0, 0x3f82},
    {R3 "cvt.rn.f16x2.f32 %r0, %r1, %r2;" TO_R, 0x3f800000, 0x40000000, 0, 0x3c004000},
    {R3 "cvt.rna.tf32.f32 %r0, %r1;" TO_R, 0x3f801000, 0, 0,
     0x3f802000}, /* a tie, away from zero */
    {H3 "cvt.f32.f16 %r0, %h1;" TO_R, 0x0001, 0, 0, 0x33800000},
    {H3 "cvt.f32.bf16 %r0, %h1;" TO_R, 0xc0a0, 0, 0, 0xc0a00000},
    {R3 "cvt.rzi.s32.f32 %r0, %r1;" TO_R, 0xc0200000, 0, 0, 0xfffffffe},
    {R3 "cvt.rni.s32.f32 %r0, %r1;" TO_R, 0x40200000, 0, 0, 2},
    {R3 "cvt.rzi.u32.f32 %r0, %r1;" TO_R, 0xbf800000, 0, 0, 0},
    {R3 "cvt.rzi.s32.f32 %r0, %r1;" TO_R, 0x7f800000, 0, 0, 0x7fffffff},
    {R3 "cvt.rn.f32.s32 %r0, %r1;" TO_R, 0xfeffffff, 0, 0, 0xcb800000},
    {R3 "cvt.sat.u8.s32 %r0, %r1;" TO_R, 300, 0, 0, 255},
    {R3 "cvt.s64.s32 %d0, %r1;", 0x80000000, 0, 0, 0xffffffff80000000},
    {"mov.b64 {%r1, %r2}, %d1; mov.b64 %d0, {%r2, %r1};", 0x1111111122222222, 0, 0,
     0x2222222211111111},
    {"mov.b64 %d0, 0d3FF0000000000000;", 0, 0, 0, 0x3ff0000000000000},
    {"cvt.rn.f64.s64 %d0, %d1;", 3, 0, 0, 0x4008000000000000},
};

TEST(instructions)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char body[512];
        uint64_t in[3] = {lines[i].a, lines[i].b, lines[i].c}, out = 0;
        snprintf(body, sizeof body,
                 "ld.global.b64 %%d1, [%%in]; ld.global.b64 %%d2, [%%in+8];"
                 "ld.global.b64 %%d3, [%%in+16];\n%s\nst.global.b64 [%%out], %%d0;",
                 lines[i].text);
        test_kernel t = {.body = body,
                         .items = 1,
                         .in = in,
                         .in_size = sizeof in,
                         .out = &out,
                         .out_size = sizeof out};
        if (!run_text(&t))
            fail_msg("%s: %s", lines[i].text, t.message);
        if (out != lines[i].expected)
            fail_msg("%s: %#llx, expected %#llx", lines[i].text, (unsigned long long)out,
                     (unsigned long long)lines[i].expected);
    }
}

/* Each lane runs as many iterations as its number and sums the counter; all lanes meet at the
 * barrier after the loop. */
TEST(lanes_that_part_meet_again)
{
    uint32_t out[64] = {0};
    test_kernel t = {.body = "mov.u32 %r1, 0; mov.u32 %r2, 0;\n"
                             "AGAIN: setp.ge.u32 %p1, %r1, %tid; @%p1 bra DONE;\n"
                             "add.u32 %r1, %r1, 1; add.u32 %r2, %r2, %r1; bra.uni AGAIN;\n"
                             "DONE: bar.sync 0; shl.b32 %r3, %tid, 2; cvt.u64.u32 %d1, %r3;\n"
                             "add.s64 %d1, %d1, %out; st.global.u32 [%d1], %r2;",
                     .items = 64,
                     .out = out,
                     .out_size = sizeof out};
    assert_true(run_text(&t));
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(out[i], i * (i + 1) / 2);
}

TEST(a_table_of_branches)
{
    uint32_t out[4] = {0};
    test_kernel t = {.body =
                         "TABLE: .branchtargets A, B, C;\nsetp.gt.u32 %p1, %tid, 2; @%p1 bra D;\n"
                         "brx.idx %tid, TABLE;\n"
                         "A: mov.u32 %r1, 10; bra E;\nB: mov.u32 %r1, 20; bra E;\n"
                         "C: mov.u32 %r1, 30; bra E;\nD: mov.u32 %r1, 40;\n"
                         "E: mad.wide.u32 %d1, %tid, 4, %out; st.global.u32 [%d1], %r1;",
                     .items = 4,
                     .out = out,
                     .out_size = sizeof out};
    assert_true(run_text(&t));
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(out[i], 10 * (i + 1));
}

TEST(exchanges_between_lanes)
{
    uint32_t out[96] = {0};
    test_kernel t = {.body = "shfl.sync.bfly.b32 %r1, %tid, 1, 31, -1;\n"
                             "shfl.sync.down.b32 %r2|%p1, %tid, 4, 31, -1;\n"
                             "setp.lt.u32 %p2, %tid, 5; vote.sync.ballot.b32 %r3, %p2, -1;\n"
                             "mad.wide.u32 %d1, %tid, 12, %out;\n"
                             "st.global.u32 [%d1], %r1; st.global.u32 [%d1+4], %r2;\n"
                             "st.global.u32 [%d1+8], %r3;",
                     .items = 32,
                     .out = out,
                     .out_size = sizeof out};
    assert_true(run_text(&t));
    for (uint32_t l = 0; l < 32; l++) {
        assert_int_equal(out[3 * l], l ^ 1);
        assert_int_equal(out[3 * l + 1], l < 28 ? l + 4 : l);
        assert_int_equal(out[3 * l + 2], 31);
    }
}

/* A function with parameters is called by some of the lanes. */
TEST(calls)
{
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".func (.param .b32 result) twice(.param .b32 x)\n{\n.reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [x]; add.u32 %r2, %r1, %r1; st.param.b32 [result], %r2; ret;\n}\n"
        ".visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %r<5>;\n.reg .b64 %d<4>;\n.reg .pred %p<2>;\n"
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; setp.eq.u32 %p1, %r1, 1;\n"
        "@%p1 bra SKIP;\n{\n.param .b32 param0; st.param.b32 [param0], %r1;\n.param .b32 retval0;\n"
        "call.uni (retval0), twice, (param0); ld.param.b32 %r2, [retval0];\n}\n"
        "SKIP: mad.wide.u32 %d2, %r1, 4, %d1; st.global.u32 [%d2], %r2; ret;\n}\n";
    const uint64_t params[1] = {UINT64_C(0x100000000)};
    uint32_t out[3] = {7, 7, 7};
    char message[512] = "";
    ptx_counts counts = {0};
    const ptx_buffer buffer = {params[0], sizeof out, (unsigned char *)out};
    ptx_program *program = ptx_parse(text, message);
    assert_non_null(program);
    const ptx_launch launch = {.program = program,
                               .kernel = ptx_find(program, "k"),
                               .groups = {1, 1, 1},
                               .items = {3, 1, 1},
                               .params = (const unsigned char *)params,
                               .buffers = &buffer,
                               .buffer_count = 1};
    assert_true(ptx_run(&launch, &counts, message));
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 0);
    assert_int_equal(out[2], 4);
    ptx_destroy(program);
}

TEST(what_is_not_known_is_refused)
{
    static const char *const bodies[] = {
        "frobnicate.b32 %r1, %r2;",    "add.sideways.s32 %r1, %r2, %r3;",
        "add.s32 %r1, %r2, %nothing;", "bra NOWHERE;",
        "cp.async.bulk.commit_group;", "add.s32 %r1, %r500, 1;"};
    char message[256];
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        message[0] = '\0';
        if (parses(bodies[i], NULL, message))
            fail_msg("\"%s\" is accepted", bodies[i]);
        assert_string_not_equal(message, "");
    }
}

TEST(targets_have_their_instructions)
{
    static const struct {
        const char *target, *body;
        bool is_known;
    } cases[] = {{"sm_75", "cp.async.wait_all;", false},
                 {"sm_80", "cp.async.wait_all;", true},
                 {"sm_75",
                  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, "
                  "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3};",
                  false},
                 {"sm_75",
                  "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, "
                  "{%r4, %r5}, {%r8}, {%r0, %r1, %r2, %r3};",
                  true},
                 {"sm_90", "wgmma.fence.sync.aligned;", false},
                 {"sm_90a", "wgmma.fence.sync.aligned;", true},
                 {"sm_80", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[256] = "";
        if (parses(cases[i].body, cases[i].target, message) != cases[i].is_known)
            fail_msg("%s on %s: %s", cases[i].body, cases[i].target, message);
    }
}
