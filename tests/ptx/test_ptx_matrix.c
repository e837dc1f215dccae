/* Tests matrix instructions of the interpreter. The PTX ISA gives the element that a lane's
 * register holds; these tests use the inverse, the register that holds a given element. */
#include "common/testing.h"

#include "run_text.h"

#include <math.h>

/* An element type of A and B. Elements are small integers; bits_of encodes one. */
typedef struct element_type {
    const char *name;
    int bits;
} element_type;

static const element_type f16 = {"f16", 16}, bf16 = {"bf16", 16}, tf32 = {"tf32", 32},
                          s8 = {"s8", 8}, u8 = {"u8", 8};

static uint32_t bits_of(const element_type *type, int value)
{
    const float x = (float)value;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (type->bits == 8)
        return (uint8_t)value;
    if (type->bits == 32)
        return bits | 0x1fff; /* low bits that tf32 ignores */
    if (type->name[0] == 'b')
        return bits >> 16;
    const uint32_t magnitude = bits & 0x7fffffff;
    return (bits >> 16 & 0x8000) | (magnitude == 0 ? 0 : (magnitude - 0x38000000) >> 13);
}

/* Stores an element into the registers of 32 lanes, `count` words each. */
static void put_element(uint32_t *words, int count, const element_type *type, int lane, int index,
                        int value)
{
    const int each = 32 / type->bits;
    uint32_t *word = &words[lane * count + index / each];
    *word |= bits_of(type, value) << (index % each * type->bits);
}

/* Follows the figures of "Matrix Fragments for mma...": a lane holds `run` neighbors along k (2
 * for 16 bits, 4 for 8 bits, 1 for tf32), four lanes share a row of 4 * run elements, and 8 rows
 * form a square. Squares of A are numbered downwards first, then to the right; those of B
 * downwards. */
static void place_a(uint32_t *words, int count, const element_type *type, int rows, int row, int k,
                    int value)
{
    const int run = 32 / type->bits, lane = row % 8 * 4 + k / run % 4;
    const int square = row / 8 + rows / 8 * (k / (4 * run));
    put_element(words, count, type, lane, square * run + k % run, value);
}

static void place_b(uint32_t *words, int count, const element_type *type, int k, int col, int value)
{
    const int run = 32 / type->bits, lane = col * 4 + k / run % 4;
    put_element(words, count, type, lane, k / (4 * run) * run + k % run, value);
}

static int small(test_random *random, const element_type *type)
{
    return (int)test_between(random, type->name[0] == 'u' ? 0 : -4, 4);
}

static int names(char *text, size_t size, const char *prefix, int first, int count)
{
    int used = snprintf(text, size, "{");
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s%d", i > 0 ? ", " : "", prefix,
                         first + i);
    return used + snprintf(text + used, size - (size_t)used, "}");
}

/* Checks d = a · b + c of one shape, element by element. `sums` is "f32", "s32" or "f16". */
static void check_mma(const char *sums, const element_type *a_type, const element_type *b_type,
                      int rows, int k)
{
    const int a_count = rows * k * a_type->bits / 1024, b_count = 8 * k * b_type->bits / 1024;
    const bool is_half = strcmp(sums, "f16") == 0, is_whole = strcmp(sums, "s32") == 0;
    const int d_count = rows / 4 / (is_half ? 2 : 1), in_count = a_count + b_count + d_count;
    uint32_t a[32 * 4] = {0}, b[32 * 2] = {0}, c[32 * 4] = {0}, in[32 * 16], out[32 * 4];
    int of_a[16][32], of_b[32][8], of_c[16][8];
    test_random random = {(uint64_t)(rows * k + a_type->bits)};
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < k; n++)
            place_a(a, a_count, a_type, rows, r, n, of_a[r][n] = small(&random, a_type));
    for (int n = 0; n < k; n++)
        for (int col = 0; col < 8; col++)
            place_b(b, b_count, b_type, n, col, of_b[n][col] = small(&random, b_type));
    for (int r = 0; r < rows; r++)
        for (int col = 0; col < 8; col++) {
            const int lane = r % 8 * 4 + col / 2, index = r / 8 * 2 + col % 2;
            const float x = (float)(of_c[r][col] = (int)test_between(&random, -50, 50));
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            if (is_half)
                put_element(c, d_count, &f16, lane, index, of_c[r][col]);
            else
                c[lane * d_count + index] = is_whole ? (uint32_t)of_c[r][col] : bits;
        }
    for (int l = 0; l < 32; l++) {
        memcpy(in + l * in_count, a + l * a_count, (size_t)a_count * 4);
        memcpy(in + l * in_count + a_count, b + l * b_count, (size_t)b_count * 4);
        memcpy(in + l * in_count + a_count + b_count, c + l * d_count, (size_t)d_count * 4);
    }
    char body[4096], regs[4][64];
    names(regs[0], 64, "%r", 100, d_count);
    names(regs[1], 64, "%r", 0, a_count);
    names(regs[2], 64, "%r", a_count, b_count);
    names(regs[3], 64, "%r", a_count + b_count, d_count);
    int used = snprintf(body, sizeof body, "mad.wide.u32 %%d1, %%tid, %d, %%in;\n", 4 * in_count);
    for (int i = 0; i < in_count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used,
                         "ld.global.b32 %%r%d, [%%d1+%d];\n", i, 4 * i);
    used += snprintf(body + used, sizeof body - (size_t)used,
                     "mma.sync.aligned.m%dn8k%d.row.col.%s.%s.%s.%s %s, %s, %s, %s;\n"
                     "mad.wide.u32 %%d2, %%tid, %d, %%out;\n",
                     rows, k, sums, a_type->name, b_type->name, sums, regs[0], regs[1], regs[2],
                     regs[3], 4 * d_count);
    for (int i = 0; i < d_count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used,
                         "st.global.b32 [%%d2+%d], %%r%d;\n", 4 * i, 100 + i);
    test_kernel t = {.body = body,
                     .items = 32,
                     .in = in,
                     .in_size = (size_t)(32 * in_count) * 4,
                     .out = out,
                     .out_size = (size_t)(32 * d_count) * 4};
    if (!run_text(&t))
        fail_msg("%s", t.message);
    assert_int_equal(t.counts.products, 1);
    for (int r = 0; r < rows; r++)
        for (int col = 0; col < 8; col++) {
            int expected = of_c[r][col];
            for (int n = 0; n < k; n++)
                expected += of_a[r][n] * of_b[n][col];
            const int lane = r % 8 * 4 + col / 2, index = r / 8 * 2 + col % 2;
            const uint32_t word = out[lane * d_count + (is_half ? index / 2 : index)];
            float x;
            memcpy(&x, &word, sizeof x);
            if (is_half)
                assert_int_equal(word >> (index % 2 * 16) & 0xffff, bits_of(&f16, expected));
            else if (is_whole)
                assert_int_equal((int32_t)word, expected);
            else
                assert_true(x == (float)expected);
        }
}

TEST(products_of_every_shape)
{
    check_mma("f32", &f16, &f16, 16, 16);
    check_mma("f32", &f16, &f16, 16, 8);
    check_mma("f16", &f16, &f16, 16, 16);
    check_mma("f32", &bf16, &bf16, 16, 16);
    check_mma("f32", &bf16, &bf16, 16, 8);
    check_mma("f32", &tf32, &tf32, 16, 8);
    check_mma("f32", &tf32, &tf32, 16, 4);
    check_mma("s32", &s8, &s8, 16, 32);
    check_mma("s32", &u8, &s8, 16, 32);
    check_mma("s32", &s8, &s8, 16, 16);
    check_mma("s32", &s8, &u8, 8, 16);
}

/* Element (row, col) of square n has the value 64 n + 8 row + col. It is loaded to lane 4 row + col
 * / 2, half col % 2 of register n; with .trans, to lane 4 col + row / 2, half row % 2. */
static void check_ldmatrix(int count, bool turned)
{
    uint16_t in[256];
    uint32_t out[128];
    char body[2048], regs[64];
    for (int i = 0; i < 256; i++)
        in[i] = (uint16_t)i;
    names(regs, sizeof regs, "%r", 10, count);
    int used = snprintf(
        body, sizeof body,
        "mad.wide.u32 %%d1, %%tid, 16, %%in; ld.global.v4.b32 {%%r1, %%r2, %%r3, %%r4}, [%%d1];\n"
        "mov.b64 %%d2, shared; cvt.u32.u64 %%r0, %%d2; mad.lo.u32 %%r5, %%tid, 48, %%r0;\n"
        "st.shared.v4.b32 [%%r5], {%%r1, %%r2, %%r3, %%r4}; bar.warp.sync -1;\n"
        "ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 %s, [%%r5];\n"
        "mad.wide.u32 %%d3, %%tid, %d, %%out;\n",
        count, turned ? ".trans" : "", regs, 4 * count);
    for (int i = 0; i < count; i++)
        used += snprintf(body + used, sizeof body - (size_t)used,
                         "st.global.b32 [%%d3+%d], %%r%d;\n", 4 * i, 10 + i);
    test_kernel t = {.body = body,
                     .items = 32,
                     .shared = 2048,
                     .in = in,
                     .in_size = sizeof in,
                     .out = out,
                     .out_size = (size_t)(32 * count) * 4};
    if (!run_text(&t))
        fail_msg("%s", t.message);
    for (int n = 0; n < count; n++)
        for (int row = 0; row < 8; row++)
            for (int col = 0; col < 8; col++) {
                const int line = turned ? col : row, at = turned ? row : col;
                const uint32_t word = out[(4 * line + at / 2) * count + n];
                assert_int_equal(word >> (at % 2 * 16) & 0xffff, 64 * n + 8 * row + col);
            }
}

TEST(ldmatrix_loads_squares)
{
    for (int count = 1; count <= 4; count *= 2) {
        check_ldmatrix(count, false);
        check_ldmatrix(count, true);
    }
}

TEST(ldmatrix_wants_rows_that_are_aligned)
{
    test_kernel t = {
        .body = "mov.b64 %d2, shared; cvt.u32.u64 %r0, %d2; mad.lo.u32 %r5, %tid, 24, %r0;\n"
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];",
        .items = 32,
        .shared = 2048};
    expect_failure(&t, "not a multiple of 16");
}

/* ldmatrix loads what stmatrix has stored, and shared memory holds it in rows. */
TEST(stmatrix_is_the_inverse)
{
    uint32_t out[64];
    test_kernel t = {
        .body = "mov.b64 %d2, shared; cvt.u32.u64 %r0, %d2; mad.lo.u32 %r5, %tid, 16, %r0;\n"
                "add.u32 %r1, %tid, 100;\n"
                "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r5], {%r1};\n"
                "bar.warp.sync -1;\n"
                "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r2}, [%r5];\n"
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r5];\n"
                "mad.wide.u32 %d3, %tid, 8, %out; st.global.v2.b32 [%d3], {%r2, %r3};",
        .items = 32,
        .shared = 512,
        .out = out,
        .out_size = sizeof out};
    if (!run_text(&t))
        fail_msg("%s", t.message);
    for (uint32_t l = 0; l < 32; l++)
        assert_int_equal(out[2 * l], l + 100);
    assert_int_equal(
        out[1], 100 | 104 << 16); /* column 0 of rows 0 and 1 before transposition: lanes 0 and 4 */
}
