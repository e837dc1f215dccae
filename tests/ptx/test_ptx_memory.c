/* Tests that the interpreter reports accesses out of bounds, data races, and reads of data still in
 * flight. */
#include "common/testing.h"

#include "run_text.h"

#define ADDRESS "mad.wide.u32 %d1, %tid, 4, %out;\n"
/* %r1 is the address of the work-item's word in shared memory; %r2 is that of the work-item 32
 * further on, modulo the work-group size. */
#define PLACES                                                                                     \
    "mov.b64 %d2, shared; cvt.u32.u64 %r0, %d2; shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %r0;\n"    \
    "xor.b32 %r2, %tid, 32; shl.b32 %r2, %r2, 2; add.u32 %r2, %r2, %r0;\n"

static uint32_t memory[64];
static uint32_t source[256];

static test_kernel kernel(const char *body)
{
    for (uint32_t i = 0; i < 256; i++)
        source[i] = 1000 + i;
    memset(memory, 0, sizeof memory);
    return (test_kernel){.body = body,
                         .items = 64,
                         .shared = 1024,
                         .in = source,
                         .in_size = sizeof source,
                         .out = memory,
                         .out_size = sizeof memory};
}

static void run_right(const char *body)
{
    test_kernel t = kernel(body);
    for (t.seed = 0; t.seed < 10; t.seed++)
        if (!run_text(&t))
            fail_msg("%s", t.message);
}

static void run_wrong(const char *body, const char *said)
{
    test_kernel t = kernel(body);
    expect_failure(&t, said);
}

TEST(accesses_outside)
{
    run_right(ADDRESS "st.global.u32 [%d1], %tid;");
    run_wrong(ADDRESS "st.global.u32 [%d1+4], %tid;", "outside every buffer");
    run_wrong(ADDRESS "ld.global.u32 %r1, [%d1+-4];", "outside every buffer");
    run_wrong(ADDRESS "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];", "which is not a multiple");
    run_wrong(PLACES "st.shared.u32 [%r1+1024], %tid;", "outside every variable");
    run_wrong(PLACES "ld.shared.v2.u32 {%r3, %r4}, [%r1];", "which is not a multiple");
    run_wrong("ld.param.u64 %d1, [out+8];", "at parameter");
    run_wrong(".local .align 4 .b8 own[16];\nst.local.u32 [own+16], %tid;", "at local address");
}

TEST(barriers_order_accesses)
{
    run_right(PLACES "st.shared.u32 [%r1], %tid; bar.sync 0; ld.shared.u32 %r3, [%r2];" ADDRESS
                     "st.global.u32 [%d1], %r3;");
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(memory[i], i ^ 32);
    run_wrong(PLACES "st.shared.u32 [%r1], %tid; ld.shared.u32 %r3, [%r2];",
              "without a barrier in between");
    run_wrong(PLACES "st.shared.u32 [%r1], %tid; bar.warp.sync -1; ld.shared.u32 %r3, [%r2];",
              "without a barrier in between");
    /* Only some of the threads wait, at a barrier with another number. */
    run_wrong(PLACES "st.shared.u32 [%r1], %tid; bar.sync 1, 32; ld.shared.u32 %r3, [%r2];",
              "without a barrier in between");
    /* A word must not be overwritten either until all have read it. */
    run_wrong(PLACES "st.shared.u32 [%r1], %tid; bar.sync 0; ld.shared.u32 %r3, [%r2];"
                     "st.shared.u32 [%r1], %r3;",
              "without a barrier in between");
    run_right(PLACES "st.shared.u32 [%r1], %tid; bar.sync 0; ld.shared.u32 %r3, [%r2];"
                     "bar.sync 0; st.shared.u32 [%r1], %r3;");
    run_wrong(PLACES "st.shared.u32 [%r0], %tid;", "without a barrier in between");
    run_right(PLACES "mov.u32 %r3, 5; st.shared.u32 [%r0], %r3;"); /* the same value */
}

/* Lanes of a warp must synchronize like other threads. */
TEST(lanes_of_a_warp_must_meet)
{
    static const char next[] = PLACES "xor.b32 %r2, %r1, 4; st.shared.u32 [%r1], %tid;";
    char body[512];
    snprintf(body, sizeof body, "%s ld.shared.u32 %%r3, [%%r2];", next);
    run_wrong(body, "without a barrier in between");
    snprintf(body, sizeof body, "%s bar.warp.sync -1; ld.shared.u32 %%r3, [%%r2];", next);
    run_right(body);
}

TEST(barriers_that_not_all_reach)
{
    run_wrong("setp.lt.u32 %p1, %tid, 32; @%p1 bar.sync 0;", "warps that never arrive");
    run_wrong("setp.lt.u32 %p1, %tid, 5; @%p1 bar.sync 0;", "of the warp execute it");
    run_wrong("setp.lt.u32 %p1, %tid, 5; @%p1 bra A;\nbar.sync 0; bra B;\nA: bar.sync 0;\nB:",
              "wait for one another at different places");
    run_wrong("trap;", "executes trap");
}

#define COPY "mad.wide.u32 %d3, %tid, 16, %in; mad.lo.u32 %r1, %tid, 16, %r0;\n"

/* 64 copies of 16 bytes; each work-item reads words copied by the work-item 32 further on. */
TEST(copies_arrive_when_they_are_waited_for)
{
    static const char read[] = "xor.b32 %r2, %tid, 32; mad.lo.u32 %r2, %r2, 16, %r0;"
                               "ld.shared.u32 %r3, [%r2+4];" ADDRESS "st.global.u32 [%d1], %r3;";
    static const struct {
        const char *wait, *said;
    } cases[] = {
        {"cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;", NULL},
        {"cp.async.wait_all; bar.sync 0;", NULL},
        {"cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;", NULL},
        {"cp.async.commit_group; cp.async.wait_group 1; bar.sync 0;", "has not been waited for"},
        {"cp.async.wait_group 0; bar.sync 0;",
         "has not been waited for"}, /* no group was committed */
        {"cp.async.commit_group; bar.sync 0;", "has not been waited for"},
        {"bar.sync 0; cp.async.wait_all;",
         ""}, /* the other work-item has not waited, or there is no barrier */
    };
    char body[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(body, sizeof body, "%s%s %s",
                 PLACES COPY "cp.async.cg.shared.global [%r1], [%d3], 16;", cases[i].wait, read);
        if (cases[i].said != NULL) {
            run_wrong(body, cases[i].said);
            continue;
        }
        run_right(body);
        for (uint32_t l = 0; l < 64; l++)
            assert_int_equal(memory[l], 1000 + 4 * (l ^ 32) + 1);
    }
}

TEST(copies_of_less_write_zeros)
{
    run_right(PLACES COPY "and.b32 %r4, %tid, 3; shl.b32 %r4, %r4, 2;" /* 0, 4, 8 or 12 bytes */
                          "cp.async.cg.shared.global [%r1], [%d3], 16, %r4; cp.async.wait_all;"
                          "ld.shared.u32 %r3, [%r1+4];" ADDRESS "st.global.u32 [%d1], %r3;");
    for (uint32_t l = 0; l < 64; l++)
        assert_int_equal(memory[l], (l & 3) >= 2 ? 1000 + 4 * l + 1 : 0);
    /* With zero bytes the address may be invalid. */
    run_right(PLACES COPY "cp.async.cg.shared.global [%r1], [%d3+4096], 16, 0; cp.async.wait_all;");
    run_right(PLACES COPY "setp.eq.u32 %p1, 0, 0; cp.async.ca.shared.global [%r1], [%d3], 4, %p1;"
                          "cp.async.wait_all; ld.shared.u32 %r3, [%r1];" ADDRESS
                          "st.global.u32 [%d1], %r3;");
    assert_int_equal(memory[1], 0);
    run_wrong(PLACES COPY "cp.async.cg.shared.global [%r1], [%d3+16], 16;", "outside every buffer");
    run_wrong(PLACES COPY "cp.async.cg.shared.global [%r1], [%d3+4], 16, 4;", "not multiples");
    run_wrong(PLACES COPY "cp.async.ca.shared.global [%r1], [%d3], 16, 17;",
              "reads 17 bytes of 16");
    run_wrong(PLACES COPY "cp.async.cg.shared.global [%r1], [%d3], 8;", "copies 8 bytes");
}

/* A copy may complete before it is waited for, so the data it overwrites must already have been
 * read. */
TEST(copies_may_come_early)
{
    run_wrong(PLACES COPY "st.shared.u32 [%r1], %tid; bar.sync 0;"
                          "cp.async.cg.shared.global [%r1], [%d3], 16; ld.shared.u32 %r3, [%r1];",
              "has not been waited for");
    run_wrong(PLACES COPY "xor.b32 %r2, %tid, 32; mad.lo.u32 %r2, %r2, 16, %r0;"
                          "st.shared.u32 [%r1], %tid; bar.sync 0; ld.shared.u32 %r3, [%r2];"
                          "cp.async.cg.shared.global [%r1], [%d3], 16;",
              ""); /* a race, or a read of data in flight */
}

/* Shared memory and registers are initially NaN. */
TEST(what_was_not_written_is_nan)
{
    run_right(PLACES
              "ld.shared.f32 %r3, [%r1]; setp.nan.f32 %p1, %r3, %r3; setp.nan.f32 %p2, %r4, %r4;"
              "and.pred %p1, %p1, %p2; selp.u32 %r5, 1, 0, %p1;" ADDRESS
              "st.global.u32 [%d1], %r5;");
    for (uint32_t l = 0; l < 64; l++)
        assert_int_equal(memory[l], 1);
}
