/* Tests wgmma of the interpreter: the layout of its factors, by the figures of the PTX ISA's
 * "Asynchronous Warpgroup Level Matrix Shared Memory Layout", and the fences that it requires. */
#include "common/testing.h"

#include "run_text.h"

#define A_AT      0
#define B_AT      32768
#define ALL_BYTES 98304

/* A factor of `mn` rows or columns and k steps. Lines of `span` bytes are along K or across it. 8
 * lines form a pattern, in which the 16-byte pieces of each line are permuted by the line's number
 * (swizzled). */
typedef struct layout {
    const char *name;
    int mode; /* bits 63-62 of the descriptor */
    int span; /* bytes; 16 without swizzle */
} layout;

static const layout layouts[] = {
    {"none", 0, 16}, {"128 bytes", 1, 128}, {"64 bytes", 2, 64}, {"32 bytes", 3, 32}};

typedef struct factor {
    const layout *layout;
    bool across;     /* lines are along M or N */
    int mn, k, size; /* bytes of an element */
    uint32_t at, leading, stride;
} factor;

/* Returns the swizzled position of a piece: permuted by the line's number for 128 bytes, by that of
 * its pair for 64, and by that of its group of four for 32. */
static uint32_t exchanged(const layout *l, uint32_t piece, uint32_t line)
{
    return piece ^ (l->span == 128  ? line
                    : l->span == 64 ? line / 2 % 4
                    : l->span == 32 ? line / 4 % 2
                                    : 0);
}

/* Describes consecutive blocks: along the lines first, then the next 8 lines. Without swizzle a
 * line of a pattern is one piece. */
static void describe(factor *f, uint32_t at)
{
    const uint32_t along = (uint32_t)((f->across ? f->mn : f->k) * f->size),
                   span = (uint32_t)f->layout->span;
    const uint32_t blocks = (along + span - 1) / span;
    f->at = at;
    if (f->layout->mode == 0) {
        f->leading = f->across ? blocks * 128 : 128; /* along K */
        f->stride = f->across ? 128 : blocks * 128;  /* along M or N */
    } else {
        f->leading = f->across ? 8 * span : 16; /* to the next block along the lines */
        f->stride = blocks * 8 * span;          /* to the next 8 lines */
    }
}

static uint32_t place_of(const factor *f, int mn, int k)
{
    const uint32_t line = (uint32_t)(f->across ? k : mn),
                   byte = (uint32_t)((f->across ? mn : k) * f->size);
    const uint32_t along = (uint32_t)((f->across ? f->mn : f->k) * f->size),
                   span = (uint32_t)f->layout->span;
    const uint32_t blocks = (along + span - 1) / span;
    const uint32_t block = line / 8 * blocks + byte / span;
    return f->at + block * 8 * span + line % 8 * span +
           exchanged(f->layout, byte % span / 16, line % 8) * 16 + byte % 16;
}

static uint64_t descriptor(const factor *f, uint32_t base)
{
    return (uint64_t)((f->at + base) >> 4 & 0x3fff) | (uint64_t)(f->leading >> 4) << 16 |
           (uint64_t)(f->stride >> 4) << 32 | (uint64_t)f->layout->mode << 62;
}

static uint32_t half_of(int value)
{
    const float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t magnitude = bits & 0x7fffffff;
    return (bits >> 16 & 0x8000) | (magnitude == 0 ? 0 : (magnitude - 0x38000000) >> 13);
}

static void put_value(unsigned char *shared, const factor *f, int mn, int k, int value)
{
    const float x = (float)value;
    const uint32_t half = half_of(value);
    unsigned char *to = shared + place_of(f, mn, k);
    if (f->size == 1)
        *to = (unsigned char)value;
    else if (f->size == 2)
        memcpy(to, &half, 2);
    else
        memcpy(to, &x, 4);
}

/* The steps around a product, each of which a test can omit. */
typedef struct steps {
    const char *publish, *barrier, *fence, *commit, *wait;
} steps;

static const steps all_steps = {"fence.proxy.async;", "bar.sync 0;", "wgmma.fence.sync.aligned;",
                                "wgmma.commit_group.sync.aligned;",
                                "wgmma.wait_group.sync.aligned 0;"};

static unsigned char image[ALL_BYTES + 16];
static uint32_t sums[128 * 128];
static char body[1 << 16];

/* 128 work-items copy the image to shared memory, multiply, and store their sums. The first 16
 * bytes of the input are the descriptors, with start addresses relative to shared memory. */
static void write_body(const char *instruction, const char *last, int n, const steps *s)
{
    const int count = n / 2;
    int used =
        snprintf(body, sizeof body,
                 ".reg .b32 %%s<%d>;\nmov.b64 %%d1, shared; shr.u64 %%d2, %%d1, 4;\n"
                 "ld.global.b64 %%d3, [%%in]; ld.global.b64 %%d4, [%%in+8];\n"
                 "add.s64 %%d3, %%d3, %%d2; add.s64 %%d4, %%d4, %%d2;\n"
                 "mad.wide.u32 %%d5, %%tid, 16, %%in; mad.wide.u32 %%d6, %%tid, 16, %%d1;\n"
                 "mov.u32 %%r1, %%tid;\n"
                 "COPY: ld.global.v4.b32 {%%r2, %%r3, %%r4, %%r5}, [%%d5+16];\n"
                 "st.shared.v4.b32 [%%d6], {%%r2, %%r3, %%r4, %%r5};\n"
                 "add.s64 %%d5, %%d5, 2048; add.s64 %%d6, %%d6, 2048; add.u32 %%r1, %%r1, 128;\n"
                 "setp.lt.u32 %%p1, %%r1, %d; @%%p1 bra COPY;\n",
                 count, ALL_BYTES / 16);
    for (int i = 0; i < count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used, "mov.b32 %%s%d, 0;\n", i);
    used += snprintf(body + used, sizeof body - (size_t)used, "%s %s %s\n%s {", s->publish,
                     s->barrier, s->fence, instruction);
    for (int i = 0; i < count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used, "%s%%s%d", i > 0 ? ", " : "", i);
    used += snprintf(body + used, sizeof body - (size_t)used,
                     "}, %%d3, %%d4, %s;\n%s %s\n"
                     "mul.lo.u32 %%r6, %%tid, %d; mad.wide.u32 %%d7, %%r6, 4, %%out;\n",
                     last, s->commit, s->wait, count);
    for (int i = 0; i < count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used,
                         "st.global.b32 [%%d7+%d], %%s%d;\n", 4 * i, i);
}

static test_kernel kernel(int n)
{
    return (test_kernel){.body = body,
                         .items = 128,
                         .shared = ALL_BYTES,
                         .in = image,
                         .in_size = sizeof image,
                         .out = sums,
                         .out_size = (size_t)(128 * n / 2) * 4};
}

/* Fills both factors and compares each sum with a plain computation. */
static void check_product(factor *a, factor *b, const char *type)
{
    static int of_a[64][32], of_b[256][32];
    const int n = b->mn, k = a->k;
    const uint64_t descriptors[2] = {(describe(a, A_AT), descriptor(a, 0)),
                                     (describe(b, B_AT), descriptor(b, 0))};
    char instruction[128], last[32];
    test_random random = {(uint64_t)(n + 1000 * a->layout->mode + b->layout->mode)};
    memset(image, 0xff, sizeof image);
    memcpy(image, descriptors, sizeof descriptors);
    for (int r = 0; r < 64; r++)
        for (int i = 0; i < k; i++)
            put_value(image + 16, a, r, i, of_a[r][i] = (int)test_between(&random, -3, 3));
    for (int c = 0; c < n; c++)
        for (int i = 0; i < k; i++)
            put_value(image + 16, b, c, i, of_b[c][i] = (int)test_between(&random, -3, 3));
    snprintf(instruction, sizeof instruction, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s", n,
             k, a->size == 1 ? "s32" : "f32", type, type);
    snprintf(last, sizeof last,
             a->size == 1   ? "1"
             : a->size == 4 ? "1, 1, -1"
                            : "1, 1, -1, %d, %d",
             a->across, b->across);
    write_body(instruction, last, n, &all_steps);
    test_kernel t = kernel(n);
    if (!run_text(&t))
        fail_msg("%s, a %s%s, b %s%s: %s", instruction, a->layout->name, a->across ? " across" : "",
                 b->layout->name, b->across ? " across" : "", t.message);
    for (int r = 0; r < 64; r++)
        for (int c = 0; c < n; c++) {
            int expected = 0;
            for (int i = 0; i < k; i++)
                expected += (a->size == 1 ? 1 : -1) * of_a[r][i] * of_b[c][i];
            /* Each warp has sixteen rows, distributed as for mma. */
            const int item = r / 16 * 32 + r % 8 * 4 + c % 8 / 2;
            const uint32_t word = sums[item * (n / 2) + c / 8 * 4 + r / 8 % 2 * 2 + c % 2];
            float x;
            memcpy(&x, &word, sizeof x);
            if (a->size == 1 ? (int32_t)word != expected : x != (float)expected)
                fail_msg("%s, a %s%s, b %s%s: [%d, %d]", instruction, a->layout->name,
                         a->across ? " across" : "", b->layout->name, b->across ? " across" : "", r,
                         c);
        }
}

TEST(factors_of_every_layout)
{
    static const int widths[] = {8, 64, 128, 256};
    for (size_t w = 0; w < 4; w++)
        for (size_t i = 0; i < 16; i++)
            for (int across = 0; across < 4; across++) {
                factor a = {
                    .layout = &layouts[i % 4], .across = across & 1, .mn = 64, .k = 16, .size = 2};
                factor b = {.layout = &layouts[i / 4],
                            .across = (across & 2) != 0,
                            .mn = widths[w],
                            .k = 16,
                            .size = 2};
                if (!b.across || b.mn * 2 >= b.layout->span)
                    check_product(&a, &b, "f16");
            }
}

TEST(bytes_and_tf32)
{
    for (size_t i = 0; i < 16; i++) {
        factor a = {.layout = &layouts[i % 4], .mn = 64, .k = 32, .size = 1};
        factor b = {.layout = &layouts[i / 4], .mn = 96, .k = 32, .size = 1};
        check_product(&a, &b, "s8");
        a.k = b.k = 8;
        a.size = b.size = 4;
        check_product(&a, &b, "tf32");
    }
}

static void wrong(const steps *s, const char *said)
{
    factor a = {.layout = &layouts[0], .mn = 64, .k = 16, .size = 2};
    factor b = {.layout = &layouts[0], .mn = 64, .k = 16, .size = 2};
    check_product(&a, &b, "f16"); /* fills the memory */
    write_body("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "1, 1, 1, 0, 0", 64, s);
    test_kernel t = kernel(64);
    expect_failure(&t, said);
}

TEST(every_step_is_needed)
{
    steps s = all_steps;
    s.publish = "";
    wrong(&s, "without a fence.proxy.async in between");
    s = all_steps;
    s.barrier = "";
    wrong(&s, "");
    s = all_steps;
    s.fence = "";
    wrong(&s, "no wgmma.fence precedes it");
    s = all_steps;
    s.fence = "wgmma.fence.sync.aligned; mov.b32 %s5, 0;";
    wrong(&s, "accessed after the last wgmma.fence");
    s = all_steps;
    s.commit = "";
    wrong(&s, "a register that a wgmma in flight uses");
    s = all_steps;
    s.wait = "";
    wrong(&s, "a register that a wgmma in flight uses");
    s = all_steps;
    s.wait = "wgmma.wait_group.sync.aligned 1;";
    wrong(&s, "a register that a wgmma in flight uses");
    s = all_steps;
    s.commit =
        "wgmma.commit_group.sync.aligned; setp.eq.u32 %p2, %tid, 0; @%p2 st.shared.b32 [%d1], %r1;";
    wrong(&s, "which a wgmma still reads");
    /* The fence may also follow the barrier. */
    s = all_steps;
    s.publish = "";
    s.barrier = "bar.sync 0; fence.proxy.async;";
    write_body("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "1, 1, 1, 0, 0", 64, &s);
    test_kernel t = kernel(64);
    if (!run_text(&t))
        fail_msg("%s", t.message);
}
