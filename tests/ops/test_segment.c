/* Tests tenon_segment_reduce and tenon_segment_reduce_backward against their references: every kind
 * and type, offsets, numbers and equal lengths, with and without indices and weights, any strides;
 * empty segments, a single one; NaN and infinity; the gradient by finite differences; invalid
 * input.
 */
#include "fixture.h"
#include "quick.h"

#include "base/dtype.h"
#include "ops/registry.h"
#include "ops/segment/internal.h"

#include <math.h>

typedef enum segment_form { BY_OFFSET, BY_ID, BY_LENGTH, SEGMENT_FORMS } segment_form;

typedef struct segment_case {
    uint32_t kind;
    segment_form form;
    bool indices, weights;
    tenon_dtype index_type, segment_type; /* of segments: 0 means i32 */
    int64_t segments, rows, positions;    /* positions are used with indices */
    uint32_t rank;
    int64_t columns[TENON_MAX_RANK]; /* from dimension 1 on */
    test_layout layout[SEGMENT_OPERANDS];
    bool gap;
    int64_t offset;
} segment_case;

static void begin(test_fixture *f, const segment_case *p, tenon_dtype dtype, bool is_backward)
{
    const int64_t positions[] = {p->indices ? p->positions : p->rows};
    const int64_t list[] = {p->form == BY_ID ? positions[0] : p->segments + 1};
    const uint32_t rows = is_backward ? SEGMENT_DX : SEGMENT_X,
                   results = is_backward ? SEGMENT_DY : SEGMENT_Y;
    int64_t x[TENON_MAX_RANK], y[TENON_MAX_RANK];
    for (uint32_t d = 0; d < p->rank; d++)
        x[d] = y[d] = p->columns[d];
    x[0] = p->rows;
    y[0] = p->segments;
    test_begin(f,
               is_backward ? &tn_operation_segment_reduce_backward : &tn_operation_segment_reduce);
    test_params(f, tenon_segment_params)->kind = p->kind;
    test_params(f, tenon_segment_params)->flags = p->form == BY_ID ? TENON_SEGMENT_IDS : 0;
    f->c.views[rows] = test_view(dtype, p->layout[0], p->gap, p->rank, x, p->offset);
    f->c.views[results] = test_view(dtype, p->layout[4], p->gap, p->rank, y, p->offset + 1);
    if (p->indices)
        f->c.views[SEGMENT_INDICES] =
            test_view(p->index_type, p->layout[1], p->gap, 1, positions, 2);
    if (p->weights)
        f->c.views[SEGMENT_WEIGHTS] = test_view(dtype, p->layout[2], p->gap, 1, positions, 3);
    if (p->form != BY_LENGTH)
        f->c.views[SEGMENT_SEGMENTS] =
            test_view(p->segment_type != 0 ? p->segment_type : TENON_DTYPE_I32, p->layout[3],
                      p->gap, 1, list, p->offset);
}

/* The gradient of the weights, of the same case. */
static void begin_weights(test_fixture *f, const segment_case *p, tenon_dtype dtype)
{
    begin(f, p, dtype, false);
    const tn_case forward = f->c;
    const tenon_tensor *indices = &forward.views[SEGMENT_INDICES];
    const int64_t positions[] = {p->indices ? indices->shape[0] : p->rows};
    test_begin(f, &tn_operation_segment_reduce_backward_weights);
    f->c.params = forward.params;
    f->c.views[SEGMENT_WEIGHTS_X] = forward.views[SEGMENT_X];
    f->c.views[SEGMENT_WEIGHTS_DY] = forward.views[SEGMENT_Y];
    if (p->indices)
        f->c.views[SEGMENT_WEIGHTS_INDICES] = *indices;
    if (p->form != BY_LENGTH)
        f->c.views[SEGMENT_WEIGHTS_SEGMENTS] = forward.views[SEGMENT_SEGMENTS];
    f->c.views[SEGMENT_DWEIGHTS] = test_view(dtype, p->layout[2], p->gap, 1, positions, 3);
}

static void check(const segment_case *p, tenon_dtype dtype, bool is_backward, test_random *random,
                  test_extent extent)
{
    test_fixture f;
    begin(&f, p, dtype, is_backward);
    test_run_fixture(&f, TEST_BOUND, extent, random);
}

/* Draws a problem in which weights and kind fit the type. */
static segment_case draw(test_random *random, tenon_dtype dtype, bool is_backward)
{
    segment_case p = {.kind = (uint32_t)test_between(random, 0, TENON_SEGMENT_MEAN),
                      .form = (segment_form)test_between(random, 0, SEGMENT_FORMS - 1),
                      .indices = test_one_in(random, 2),
                      .index_type = test_one_in(random, 3) ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                      .segment_type = test_one_in(random, 3) ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                      .segments = test_between(random, test_one_in(random, 20) ? 0 : 1, 30),
                      .rank = (uint32_t)test_between(random, 1, 4),
                      .gap = test_one_in(random, 2),
                      .offset = test_between(random, 0, 7)};
    if (is_backward)
        p.kind = test_one_in(random, 2) ? TENON_SEGMENT_MEAN : TENON_SEGMENT_SUM;
    if (!tn_dtype_is_float(dtype))
        p.kind %= TENON_SEGMENT_MEAN;
    p.weights = tn_dtype_is_float(dtype) && test_one_in(random, 2) &&
                (p.kind == TENON_SEGMENT_SUM || p.kind == TENON_SEGMENT_MEAN);
    const int64_t each = test_between(random, 0, 20);
    p.positions = p.segments * each + (p.form != BY_LENGTH ? test_between(random, 0, 5) : 0);
    p.rows = p.indices ? test_between(random, 1, 40) : p.positions;
    for (uint32_t d = 1; d < p.rank; d++)
        p.columns[d] = test_between(random, 1, p.rank < 3 ? 40 : 5);
    for (int v = 0; v < SEGMENT_OPERANDS; v++)
        p.layout[v] = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    return p;
}

static tenon_dtype type_of(int number)
{
    static const tenon_dtype integers[] = {TENON_DTYPE_I32, TENON_DTYPE_I64, TENON_DTYPE_U32};
    return number % 3 == 2 ? integers[number / 3 % 3] : test_float_type((uint32_t)number);
}

TEST(random_problems)
{
    test_random random = test_random_for(881);
    for (int n = test_problems(80); n > 0; n--) {
        const segment_case p = draw(&random, type_of(n), false);
        check(&p, type_of(n), false, &random, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

TEST(random_gradients)
{
    test_random random = test_random_for(882);
    for (int n = test_problems(60); n > 0; n--) {
        const segment_case p = draw(&random, test_float_type((uint32_t)n), true);
        check(&p, test_float_type((uint32_t)n), true, &random,
              test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE);
    }
}

TEST(random_gradients_of_weights)
{
    test_random random = test_random_for(889);
    for (int n = test_problems(60); n > 0; n--) {
        segment_case p = draw(&random, test_float_type((uint32_t)n), true);
        test_fixture f;
        p.weights = false;
        if (p.rank > 1 && n % 15 == 0)
            p.columns[1] = 0;
        begin_weights(&f, &p, test_float_type((uint32_t)n));
        test_run_fixture(&f, TEST_BOUND, test_one_in(&random, 2) ? TEST_ALL : TEST_ONCE, &random);
    }
}

/* Gradients with contiguous rows, of one column and of more than a vector, whose rows are selected
 * several times or not at all; also without positions, and of several work-items. */
TEST(gradients_of_contiguous_rows)
{
    static const char *const lines[] = {
        "segment_reduce_backward dy=T:9x19 indices=i32:70 segments=i32:10 dx=T:11x19",
        "segment_reduce_backward dy=T:9x1 indices=i64:70 segments=i64:70 dx=T:300x1 flags=1",
        "segment_reduce_backward dy=T:10x33/40,1 indices=i32:70 weights=T:70 dx=T:11x33/35,1 "
        "kind=mean",
        "segment_reduce_backward dy=T:9x19 indices=i32:0 segments=i32:10 dx=T:11x19",
        "segment_reduce_backward dy=T:50x65 indices=i32:900 weights=T:900 segments=i32:900 "
        "dx=T:131x65 flags=1 kind=mean"};
    test_random random = test_random_for(898);
    for (uint32_t n = 0; n < 2 * sizeof lines / sizeof *lines; n++) {
        test_fixture f;
        test_begin_line(&f, lines[n / 2], n % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_F64);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* Gradients of means of so many positions that the rows of segments are counted beforehand: most of
 * the positions in one segment, and in none. */
TEST(counted_means)
{
    enum { POSITIONS = 9001, SEGMENTS = 5 };
    static const int64_t ends[][SEGMENTS + 1] = {{0, 3, 3, POSITIONS - 40, POSITIONS, POSITIONS},
                                                 {7, 300, 4097, 4097, 8000, POSITIONS - 9}};
    test_random random = test_random_for(890);
    for (int n = 0; n < 12; n++) {
        const segment_case p = {.kind = TENON_SEGMENT_MEAN,
                                .form = (segment_form)(n / 2 % 3),
                                .indices = true,
                                .index_type = n % 4 < 2 ? TENON_DTYPE_I32 : TENON_DTYPE_I64,
                                .segment_type = n % 3 == 0 ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                                .segments = n / 2 % 3 == BY_LENGTH ? 1 : SEGMENTS,
                                .positions = POSITIONS,
                                .rows = 37,
                                .rank = 2,
                                .columns = {0, n % 4 == 0 ? 1 : 9},
                                .gap = n % 4 == 1};
        const int64_t *end = ends[n % 2];
        const uint32_t list = n < 6 ? SEGMENT_SEGMENTS : SEGMENT_WEIGHTS_SEGMENTS;
        test_fixture f;
        if (n < 6)
            begin(&f, &p, test_float_type((uint32_t)n), true);
        else
            begin_weights(&f, &p, test_float_type((uint32_t)n));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; p.form == BY_OFFSET && i <= SEGMENTS; i++)
            test_set(test_operand(&f, list), i, (double)end[i]);
        for (int64_t i = 0, s = -1; p.form == BY_ID && i < POSITIONS; i++) {
            while (s < SEGMENTS && i >= end[s + 1])
                s++;
            test_set_whole(test_operand(&f, list), i, s);
        }
        test_finish(&f, TEST_ALL);
    }
}

/* Positions that solver blocks divides: a segment with most of them among small and empty ones,
 * segments that end where a block does, and equal lengths; positions of several blocks after the
 * last segment, with the largest number. */
TEST(giant_segments)
{
    enum { POSITIONS = 3 * 16384 + 41, SEGMENTS = 7 };
    static const int64_t ends[][SEGMENTS + 1] = {
        {0, 5, 5, 16384, POSITIONS - 3, POSITIONS - 2, POSITIONS, POSITIONS},
        {0, 16384, 32768, 32769, 49152, POSITIONS, POSITIONS, POSITIONS},
        {3, 3, 2051, 4099, 40000, 40000, 49000, POSITIONS - 9},
        {0, POSITIONS, POSITIONS, POSITIONS, POSITIONS, POSITIONS, POSITIONS, POSITIONS},
        {3, 3, 2051, 4099, 30000, 30000, 32000, 32700}};
    test_random random = test_random_for(888);
    for (int n = 0; n < 15; n++) {
        const segment_case p = {.kind = (uint32_t)n % 5,
                                .form = n % 3 == 0   ? BY_OFFSET
                                        : n % 3 == 1 ? BY_ID
                                                     : BY_LENGTH,
                                .segment_type =
                                    n % 2 == 0 || n == 13 ? TENON_DTYPE_I64 : TENON_DTYPE_I32,
                                .segments = n % 3 == 2 ? (n == 11 ? 1 : 41) : SEGMENTS,
                                .rows = n % 3 == 2 ? 41 * 1237 : POSITIONS,
                                .rank = 2,
                                .columns = {0, n % 2 == 0 ? 1 : 3},
                                .gap = n % 4 == 1};
        const int64_t *end = ends[n / 3];
        test_fixture f;
        begin(&f, &p, n < 6 ? TENON_DTYPE_F32 : test_float_type((uint32_t)n), false);
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; p.form == BY_OFFSET && i <= SEGMENTS; i++)
            test_set(test_operand(&f, SEGMENT_SEGMENTS), i, (double)end[i]);
        for (int64_t i = 0, s = -1; p.form == BY_ID && i < POSITIONS; i++) {
            while (s < SEGMENTS && i >= end[s + 1])
                s++;
            test_set_whole(test_operand(&f, SEGMENT_SEGMENTS), i,
                           n == 13 && s == SEGMENTS ? INT64_MAX : s);
        }
        test_finish(&f, TEST_ALL);
    }
}

/* Segments longer than a block, of one column and of several. */
TEST(long_segments)
{
    test_random random = test_random_for(883);
    for (uint32_t n = 0; n < 10; n++) {
        const segment_case p = {.kind = n % 5,
                                .form = (segment_form)(n % 3),
                                .segments = 3,
                                .rows = 3 * (2 * SCAN_BLOCK + (int64_t)n),
                                .rank = n < 5 ? 1 : 2,
                                .columns = {0, 9},
                                .offset = n};
        check(&p, n % 5 == TENON_SEGMENT_MEAN ? TENON_DTYPE_F32 : type_of((int)n), false, &random,
              TEST_ALL);
    }
}

/* Small integers, whose sums are exact. */
TEST(exact_sums)
{
    test_random random = test_random_for(884);
    for (uint32_t n = 0; n < 8; n++) {
        const segment_case p = {.form = (segment_form)(n % 3),
                                .indices = n % 2 == 0,
                                .weights = n % 4 == 0,
                                .index_type = TENON_DTYPE_I32,
                                .segments = 20,
                                .rows = 100,
                                .positions = 100,
                                .rank = 2,
                                .columns = {0, 17}};
        test_fixture f;
        begin(&f, &p, test_float_type(n / 2), n % 2 == 0);
        test_run_fixture(&f, TEST_EXACT, TEST_ALL, &random);
    }
}

TEST(known_values)
{
    TEST_KNOWN("segment_reduce x=f32:5x1 segments=i32:5 y=f32:4x1", (const float[]){1, 2, 4, 8, 16},
               NULL, NULL, (const float[]){0, 1, 1, 4, 5}, (const float[]){1, 0, 14, 16});
    TEST_KNOWN("segment_reduce x=f32:3x2 indices=i32:4 weights=f32:4 segments=i32:4 y=f32:3x2 "
               "flags=1 kind=mean",
               (const float[]){1, 2, 3, 4, 5, 6}, (const float[]){2, 0, -1, 1},
               (const float[]){1, 3, 100, 2}, (const float[]){0, 0, 2, 2},
               (const float[]){4, 6, 0, 0, 6, 8});
    TEST_KNOWN("segment_reduce x=f32:4 y=f32:2 kind=max", (const float[]){1, 3, NAN, 2}, NULL, NULL,
               NULL, (const float[]){3, NAN});
    TEST_KNOWN("segment_reduce x=f32:2 segments=i32:3 y=f32:2 kind=min", (const float[]){1, -0.0F},
               NULL, NULL, (const float[]){0, 0, 2}, (const float[]){INFINITY, 0});
    TEST_KNOWN("segment_reduce_backward dy=f32:2x2 indices=i32:4 segments=i32:3 dx=f32:3x2 "
               "kind=mean",
               (const float[]){2, 4, 6, 8}, (const float[]){1, 1, 9, 0}, NULL,
               (const float[]){0, 3, 4}, (const float[]){6, 8, 2, 4, 0, 0});
}

/* The gradient of the first output with respect to x, by finite differences. */
TEST(gradient)
{
    test_random random = test_random_for(885);
    for (uint32_t n = 0; n < 4; n++) {
        const segment_case p = {.kind = n % 2 == 0 ? TENON_SEGMENT_SUM : TENON_SEGMENT_MEAN,
                                .form = n < 2 ? BY_OFFSET : BY_ID,
                                .indices = true,
                                .weights = true,
                                .index_type = TENON_DTYPE_I32,
                                .segments = 4,
                                .rows = 5,
                                .positions = 12,
                                .rank = 2,
                                .columns = {0, 3}};
        test_fixture y, dx;
        begin(&y, &p, TENON_DTYPE_F64, false);
        begin(&dx, &p, TENON_DTYPE_F64, true);
        test_fill_gradients(&y, &dx, &random);
        test_check_gradients(&y, &dx, 1e-7, 1e-6);
        begin(&y, &p, TENON_DTYPE_F64, false);
        begin_weights(&dx, &p, TENON_DTYPE_F64);
        test_fill_gradients(&y, &dx, &random);
        test_check_gradients(&y, &dx, 1e-7, 1e-6);
    }
}

/* Sizes around 2^24, one segment and many; only in the full test. */
TEST(large)
{
    test_random random = test_random_for(886);
    for (int64_t n = quick_is_on() ? 2 : -1; n <= 1; n++) {
        const segment_case p = {.form = n < 0 ? BY_LENGTH : BY_ID,
                                .segments = n < 0 ? 1 : 1000000,
                                .rows = (INT64_C(1) << 24) + n,
                                .rank = 1};
        check(&p, TENON_DTYPE_F32, false, &random, TEST_ONCE);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {.line = "segment_reduce x=f32:4x5 segments=i32:3 y=f32:2x5 kind=5", .text = "kind is 5"},
        {.line = "segment_reduce x=f32: segments=i32:1 y=f32:", .text = "rank is 0"},
        {.line = "segment_reduce x=f32:4x5 segments=i32:3 y=f32:2x6", .text = "y: shape is 2x6"},
        {.line = "segment_reduce x=f32:4x5 segments=i32:2 y=f32:2x5",
         .text = "segments: size is 2, must be 3"},
        {.line = "segment_reduce x=f32:4x5 segments=i32:3 y=f32:2x5 flags=1",
         .text = "segments: size is 3, must be 4"},
        {.line = "segment_reduce x=f32:4x5 y=f32:2x5 flags=1", .text = "segments: are absent"},
        {.line = "segment_reduce x=f32:5x4 y=f32:2x4", .text = "must divide"},
        {.line = "segment_reduce x=f32:4x5 weights=f32:5 y=f32:2x5", .text = "weights: size is 5"},
        {.line = "segment_reduce x=f32:4x5 weights=f32:4 y=f32:2x5 kind=max",
         .text = "weights: are present"},
        {.line = "segment_reduce x=f32:4x5 indices=i32:2x2 y=f32:2x5",
         .text = "indices: rank is 2"},
        {.line = "segment_reduce x=i32:4x5 y=i32:2x5 kind=mean",
         .text = "x: type is i32",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce x=u8:4x5 y=u8:2x5",
         .text = "x: type",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce x=f32:4x5 segments=i16:3 y=f32:2x5",
         .text = "segments: type is i16",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce_backward dy=f32:2x5 segments=i32:3 dx=f32:4x5 kind=max",
         .text = "kind is max",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce_backward dy=f32:2x5 segments=i32:3 dx=f32:4x6",
         .text = "dy: shape is 2x5"},
        {.line = "segment_reduce_backward_weights x=f32:4x5 dy=f32:2x5 segments=i32:3 "
                 "dweights=f32:3",
         .text = "dweights: size is 3, must be 4"},
        {.line = "segment_reduce_backward_weights x=f32:4x5 dy=f32:2x5 dweights=f32:4 kind=min",
         .text = "kind is min",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce_backward_weights x=f32:4x5 dy=f32:2x4 dweights=f32:4",
         .text = "dy: shape is 2x4"},
        {.line = "segment_reduce_backward_weights x=f32:4x5 dy=f32:2x5 dweights=f16:4",
         .text = "dweights is f16",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce/blocks x=f32:100x5 y=f32:2x5",
         .text = "not more than a block",
         .status = TENON_ERROR_UNSUPPORTED},
        {.line = "segment_reduce_backward/sorted dy=f32:2x5 segments=i32:3 dx=f32:4x5",
         .text = "no indices",
         .status = TENON_ERROR_UNSUPPORTED}};
    TEST_REFUSE(refusals);
}
