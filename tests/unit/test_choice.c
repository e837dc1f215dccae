/* Tests which solvers plans select on the kinds of devices: on CPUs; on GPUs for memory-bound
 * operations with few long rows and with many short ones; on matrix units for products; and for
 * convolutions, when an im2col workspace is worth its cost. */
#include "common/testing.h"

#include "check/case.h"
#include "matrix/layout.h"
#include "ops/gemm/tiled.h"
#include "ops/registry.h"
#include "runtime/context/target.h"

#include <stdio.h>
#include <string.h>

static tenon_context *target(const tn_device_kind *kind)
{
    tenon_context *context;
    assert_int_equal(tn_target_context(kind, NULL, NULL, &context), TENON_OK);
    return context;
}

static void choose(tenon_context *context, const char *line, tenon_dtype dtype, char *text,
                   size_t size)
{
    tenon_plan *plan;
    tn_case c;
    memset(&c, 0, sizeof c);
    if (tn_case_parse_line(line, dtype, &c) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    if (tn_case_plan(context, &c, NULL, &plan) != TENON_OK)
        fail_msg("%s: %s", line, tenon_last_error());
    tenon_plan_describe(plan, text, size);
    tenon_plan_release(plan);
}

/* A call, and the beginning of its plan's description. */
static const char *const choices[][2] = {
    {"softmax x=T:8192x1024 y=T:8192x1024", "softmax/group:"},
    {"softmax x=T:128x50000 y=T:128x50000", "softmax/group:tm"},
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
};

/* Selected on kinds that allow 256 work-items in a work-group. */
static const char *const large_group_choices[][2] = {
    {"copy x=T:4096x4096/1,4096 y=T:4096x4096", "copy/transpose_local"},
    {"softmax x=T:128x50000 y=T:128x50000", "softmax/group:tm256"},
};

/* Selected on CPUs of 4, 8 and 16 lanes alike. */
static const char *const cpu_choices[][2] = {
    {"gemm a=T:256x256 b=T:256x256 d=T:256x256", "gemm/cpu_direct:"},
    {"gemm a=T:256x256 b=T:256x256/1,256 d=T:256x256", "gemm/cpu_"},
    {"gemm a=T:4x4096 b=T:4096x4096 d=T:4x4096", "gemm/cpu_skinny:"},
    {"gemm a=T:4096x4096 b=T:4096x1 d=T:4096x1", "gemm/gemv_dot"},
    {"gemm a=T:8x8 b=T:8x8 d=T:8x8", "gemm/plain"},
    {"conv x=T:1x64x56x56 w=T:64x64x3x3 y=T:1x64x56x56 pad_begin=1,1 pad_end=1,1",
     "conv/winograd4:"},
    {"conv x=T:8x64x56x56 w=T:256x64x1x1 y=T:8x256x56x56", "conv/pointwise"},
    {"conv x=T:8x144x56x56 w=T:144x1x3x3 y=T:8x144x56x56 pad_begin=1,1 pad_end=1,1 groups=144",
     "conv/depthwise:"},
    {"conv_backward_data dy=T:8x64x56x56 w=T:64x64x3x3 dx=T:8x64x56x56 pad_begin=1,1 pad_end=1,1",
     "conv_backward_data/implicit_packed:"},
    {"conv_backward_filter x=T:8x64x56x56 dy=T:8x64x56x56 dw=T:64x64x3x3 pad_begin=1,1 pad_end=1,1",
     "conv_backward_filter/implicit_packed:"},
    {"softmax x=T:8192x1024 y=T:8192x1024", "softmax/rows"},
    {"softmax x=T:8192x1024 y=T:8192x1024 axis=0", "softmax/columns"},
    {"reduce x=T:8192x1024 y=T:8192 axis_count=1 axes=1", "reduce/rows"},
    {"reduce x=T:8192x1024 y=T:1024 axis_count=1 axes=0", "reduce/columns"},
    {"reduce x=T:1x67108864 y=T: axis_count=2 axes=0,1", "reduce/split_rows"},
    {"copy x=T:4096x4096/1,4096 y=T:4096x4096", "copy/transpose:"},
    {"pool x=T:8x64x56x56/200704,1,3584,64 y=T:8x64x54x54/186624,1,3456,64 window=3,3",
     "pool/values"},
    {"pool x=T:1x64x224x224 y=T:1x64x112x112 window=2,2 stride=2,2", "pool/values"},
    {"pool x=T:1x64x224x224 y=T:1x64x112x112 indices=i32:1x64x112x112 window=2,2 stride=2,2",
     "pool/rows"},
    {"pool x=T:8x64x56x56/200704,1,3584,64 y=T:8x64x54x54/186624,1,3456,64 "
     "indices=i32:8x64x54x54/186624,1,3456,64 window=3,3",
     "pool/channels"},
};

static void check_choices(const tn_device_kind *kind, const char *const (*lines)[2], size_t count)
{
    tenon_context *context = target(kind);
    for (size_t i = 0; i < count; i++) {
        char text[1024];
        choose(context, lines[i][0], TENON_DTYPE_F32, text, sizeof text);
        if (strncmp(text, lines[i][1], strlen(lines[i][1])) != 0)
            fail_msg("%s: %s has %s", lines[i][0], kind->name, text);
    }
    tenon_context_release(context);
}

TEST(gpu_solvers_by_row_count_and_length)
{
    for (size_t k = 0; k < tn_device_kind_count; k++)
        if (!tn_device_kind_is_cpu(&tn_device_kinds[k])) {
            check_choices(&tn_device_kinds[k], choices, sizeof choices / sizeof *choices);
            if (tn_device_kinds[k].usual.max_work_group >= 256)
                check_choices(&tn_device_kinds[k], large_group_choices,
                              sizeof large_group_choices / sizeof *large_group_choices);
        }
}

TEST(cpu_solvers_of_every_vector_width)
{
    for (size_t k = 0; k < tn_device_kind_count; k++)
        if (tn_device_kind_is_cpu(&tn_device_kinds[k]))
            check_choices(&tn_device_kinds[k], cpu_choices,
                          sizeof cpu_choices / sizeof *cpu_choices);
}

/* Products of f16 on matrix units. `square` is 1536 x 1536 by 4096: on some kinds blocks of 128 x
 * 128 slightly exceed a whole number of rounds, so K is cut for the remaining rows. `rows` and
 * `columns` are products of 16 rows or columns with 4096 x 4096, which use thin blocks. */
static const struct {
    const char *kind, *square, *rows, *columns;
} matrix_choices[] = {
    {"sm_75", "mma:mb128,nb128", "mma:mb16,nb128", "mma:mb128,nb16"},
    {"sm_80", "mma:mb128,nb128,kb32,wm2,wn2,st3,lb2,em3,ks2,rs3", "mma:mb16,nb64,kb64,wm1,wn4,st4",
     "mma:mb64,nb16,kb64"},
    {"sm_86", "mma:mb64,nb64", "mma:mb16,nb64,kb64,wm1,wn4,st4", "mma:mb64,nb16,kb64"},
    {"sm_89", "mma:mb128,nb128,kb32,wm2,wn2,st3,lb2,em3,ks4,rs2", "mma:mb16,nb64,kb64,wm1,wn4,st4",
     "mma:mb64,nb16,kb64"},
    {"sm_90", "mma:mb128,nb128,kb32,wm2,wn2,st3,lb2,em3,ks8,rs1", "mma:mb16,nb64,kb64,wm1,wn4,st4",
     "mma:mb64,nb16,kb64"},
    {"sm_90a", "wgmma:mb128,nb256", "mma:mb16,nb64,kb64,wm1,wn4,st4", "mma:mb64,nb16,kb64"},
    {"sm_90_edited", "wgmma:mb128,nb256", "mma:mb16,nb64,kb64,wm1,wn4,st4", "mma:mb64,nb16,kb64"},
    {"sm_100", "mma:mb128,nb128", "mma:mb16,nb64,kb64,wm1,wn4,st4", "mma:mb64,nb16,kb64"},
    {"sm_120", "mma:mb128,nb128", "mma:mb16,nb64,kb64,wm1,wn4,st4", "mma:mb64,nb16,kb64"},
    {"gfx90a", "mfma:mb128,nb128,kb32,wm2,wn2,st1,lb1,em3,ks2,rs4", "mfma:mb32,nb128",
     "mfma:mb128,nb32"},
    {"gfx942", "mfma:mb128,nb64", "mfma:mb32,nb128", "mfma:mb128,nb32"},
    {"gfx950", "mfma:mb64,nb64", "mfma:mb32,nb128", "mfma:mb128,nb32"},
    {"gfx1100", "wmma:mb128,nb128", "wmma:mb16,nb128", "wmma:mb128,nb16"},
    {"gfx1201", "wmma:mb128,nb128", "wmma:mb16,nb128", "wmma:mb128,nb16"},
    {"xe_hpc", "xmx:mb128,nb128,kb32,wm4,wn4,st1,lb2,em3,ks2,rs2", "xmx:mb32,nb128",
     "xmx:mb128,nb16"},
    {"xe_hpg", "xmx:mb128,nb64", "xmx:mb16,nb64", "xmx:mb128,nb16"},
};
#define MATRIX_KINDS (sizeof matrix_choices / sizeof *matrix_choices)

static void check_product(tenon_context *context, int m, int n, int k, const char *solver)
{
    char line[128], text[1024], begins[64];
    snprintf(line, sizeof line, "gemm a=T:%dx%d b=T:%dx%d d=T:%dx%d", m, k, k, n, m, n);
    snprintf(begins, sizeof begins, "gemm/%s", solver);
    choose(context, line, TENON_DTYPE_F16, text, sizeof text);
    if (strncmp(text, begins, strlen(begins)) != 0)
        fail_msg("%s: %s has %s, not %s", line, context->device.info.name, text, begins);
}

static void check_blocks(const tn_device_kind *kind, const char *square, const char *rows,
                         const char *columns)
{
    tenon_context *context = target(kind);
    check_product(context, 1536, 1536, 4096, square);
    check_product(context, 16, 4096, 4096, rows);
    check_product(context, 4096, 16, 4096, columns);
    tenon_context_release(context);
}

TEST(blocks_that_fill_matrix_units)
{
    for (size_t i = 0; i < MATRIX_KINDS; i++) {
        const tn_device_kind *kind = tn_device_kind_named(matrix_choices[i].kind);
        assert_non_null(kind);
        check_blocks(kind, matrix_choices[i].square, matrix_choices[i].rows,
                     matrix_choices[i].columns);
    }
}

/* Tests every kind, including those that are not in the table above. */
TEST(large_products_run_on_matrix_units)
{
    static const char *const units[] = {"mma:", "wgmma:", "mfma:", "wmma:", "xmx:"};
    static const char line[] = "gemm a=T:4096x4096 b=T:4096x4096 d=T:4096x4096";
    for (size_t k = 0; k < tn_device_kind_count; k++) {
        tenon_context *context = target(&tn_device_kinds[k]);
        char text[1024];
        bool on_units = false;
        choose(context, line, TENON_DTYPE_F16, text, sizeof text);
        for (size_t u = 0; u < sizeof units / sizeof *units; u++)
            on_units |= strncmp(text + strlen("gemm/"), units[u], strlen(units[u])) == 0;
        if (on_units != (tn_device_kinds[k].rates.matrix_16 > 0))
            fail_msg("%s has %s", tn_device_kinds[k].name, text);
        tenon_context_release(context);
    }
}

/* Layers of ResNet-50 that are not products without im2col: images of c channels, k filters. */
static const struct {
    int c, side, k, filter, stride;
} layers[] = {{3, 224, 64, 7, 2},    {64, 56, 64, 3, 1},    {128, 56, 128, 3, 2},
              {128, 28, 128, 3, 1},  {256, 28, 256, 3, 2},  {256, 14, 256, 3, 1},
              {512, 14, 512, 3, 2},  {512, 7, 512, 3, 1},   {256, 56, 512, 1, 2},
              {512, 28, 1024, 1, 2}, {1024, 14, 2048, 1, 2}};
#define LAYERS (sizeof layers / sizeof *layers)

enum { FORWARD, DATA, FILTER, DIRECTIONS };

static void image(char *text, size_t size, const char *name, int n, int c, int h, int w, bool last)
{
    const int used = snprintf(text, size, "%s=T:%dx%dx%dx%d", name, n, c, h, w);
    if (last)
        snprintf(text + used, size - (size_t)used, "/%d,1,%d,%d", c * h * w, c * w, c);
}

/* Writes the call of layer `l` in a direction, for n images, in NCHW or, if `last`, in NHWC. */
static void make_line(char *line, size_t size, int direction, size_t l, int n, bool last)
{
    static const char *const operations[] = {"conv", "conv_backward_data", "conv_backward_filter"};
    const int side = layers[l].side, stride = layers[l].stride, f = layers[l].filter,
              out = (side - 1) / stride + 1, end = f > 1 ? f / 2 : (out - 1) * stride + 1 - side;
    char x[64], w[64], y[64];
    image(x, sizeof x, direction == DATA ? "dx" : "x", n, layers[l].c, side, side, last);
    image(w, sizeof w, direction == FILTER ? "dw" : "w", layers[l].k, layers[l].c, f, f, last);
    image(y, sizeof y, direction == FORWARD ? "y" : "dy", n, layers[l].k, out, out, last);
    snprintf(line, size, "%s %s %s %s stride=%d,%d pad_begin=%d,%d pad_end=%d,%d",
             operations[direction], direction == DATA ? y : x, direction == FILTER ? y : w,
             direction == FORWARD ? y
             : direction == DATA  ? x
                                  : w,
             stride, stride, f / 2, f / 2, end > 0 ? end : 0, end > 0 ? end : 0);
}

/* Sides of the smallest block of sums of a work-group, and of one that uses a core well. */
#define LEAST_BLOCK 32
#define GOOD_BLOCK  64

/* Returns true if im2col may be faster than implicit GEMM. Either the result has few rows, so
 * blocks would be mostly empty, while im2col is a product of many rows; or the result has too few
 * blocks to keep the device busy, while im2col has enough; or only the product has matrix units for
 * the type; or gathering was measured and takes long (forward). The filters' gradient needs no more
 * blocks, since its sums are split. */
static bool may_have_columns(tenon_context *context, int direction, size_t l, int n,
                             tenon_dtype dtype, const char *plan)
{
    const int64_t rows = direction == DATA ? layers[l].c : layers[l].k;
    const int64_t side =
        direction == DATA ? layers[l].side : (layers[l].side - 1) / layers[l].stride + 1;
    const int64_t blocks = n * rows * side * side / (GOOD_BLOCK * GOOD_BLOCK);
    return rows <= LEAST_BLOCK / 2 ||
           (direction == FORWARD && context->device.model.kind->assumed.gathering > 0) ||
           (direction != FILTER && (double)blocks < 2 * tn_model_cores(&context->device.model)) ||
           (dtype == TENON_DTYPE_F32 && strstr(plan, "gemm_matrix(") != NULL);
}

static void check_layer(tenon_context *context, const char *target, size_t l, tenon_dtype dtype)
{
    static const int images[] = {1, 8, 32, 128};
    char line[384], plan[1024];
    for (int i = 0; i < 2 * DIRECTIONS * 4; i++) {
        const int direction = i / 8, n = images[i / 2 % 4];
        make_line(line, sizeof line, direction, l, n, i % 2 != 0);
        choose(context, line, dtype, plan, sizeof plan);
        if (strstr(plan, "2im_gemm") == NULL && strstr(plan, "2col_gemm") == NULL)
            continue;
        if (!may_have_columns(context, direction, l, n, dtype, plan))
            fail_msg("%s on %s, type %d, has %s", line, target, (int)dtype, plan);
    }
}

/* A unit serves the types whose trials passed; other types use other solvers. */
TEST(matrix_unit_serves_only_types_that_passed)
{
    static const char line[] = "gemm a=T:1536x4096 b=T:4096x1536 d=T:1536x1536";
    char text[1024];
    tenon_context *context = target(tn_device_kind_named("gfx942"));
    tn_capability_result *mfma = &context->capabilities.results[TENON_CAPABILITY_AMD_MFMA];
    assert_non_null(strchr(mfma->types, '0' + MATRIX_F16));
    snprintf(mfma->types, sizeof mfma->types, "%d", MATRIX_BF16);
    choose(context, line, TENON_DTYPE_BF16, text, sizeof text);
    assert_non_null(strstr(text, "gemm/mfma"));
    choose(context, line, TENON_DTYPE_F16, text, sizeof text);
    assert_null(strstr(text, "gemm/mfma"));
    tenon_context_release(context);
}

TEST(im2col_is_chosen_only_if_it_may_pay)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16};
    for (size_t k = 0; k < tn_device_kind_count; k++) {
        const tn_device_kind *kind = &tn_device_kinds[k];
        if (tn_device_kind_is_cpu(kind))
            continue;
        tenon_context *context = target(kind);
        for (size_t i = 0; i < LAYERS * 3; i++)
            check_layer(context, kind->name, i / 3, types[i % 3]);
        tenon_context_release(context);
    }
}
