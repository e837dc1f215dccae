/* Tests the gradients of convolutions by solvers with packed blocks, around the edges of every kind
 * of block. */
#include "conv_case.h"

#include "runtime/context/context.h"

/* All block shapes of the packed solvers: bands of lines and parts of lines, several images in a
 * band, blocks of filters and channels, slices, runs of taps longer than a vector, and every
 * tile. */
TEST(packed_blocks)
{
    static const char *const of_image[] = {"implicit_packed", "implicit_packed:kc64,rb24,lm4",
                                           "implicit_packed:mr14,nv1,kc64", NULL};
    static const char *const transposed[] = {"implicit_packed", "implicit_packed:kc64,rb24,lm4",
                                             NULL};
    /* The first requires more local memory than OpenCL's minimum. */
    static const char *const of_filter[] = {"implicit_packed:mr14,nv1", "implicit_packed",
                                            "implicit_packed:mr2,nv2,lm2", NULL};
    const bool has_room = test_context->device.info.local_memory >= 48 << 10;
    /* n, c, size, k, filter, stride, dilation, padding, groups */
    static const int64_t cases[][10] = {
        {3, 32, 7, 7, 130, 3, 1, 1, 1, 1},  {1, 16, 20, 33, 17, 3, 2, 1, 1, 1},
        {2, 48, 14, 14, 65, 1, 2, 1, 0, 1}, {5, 130, 6, 7, 9, 1, 1, 1, 0, 1},
        {1, 3, 30, 31, 16, 7, 2, 1, 3, 1},  {2, 40, 9, 21, 24, 3, 3, 1, 2, 2},
        {1, 17, 25, 26, 13, 3, 1, 3, 3, 1}, {1, 16, 9, 9, 20, 5, 1, 1, 2, 1},
        {1, 2, 3, 700, 3, 3, 1, 1, 1, 1},   {2, 20, 12, 13, 12, 2, 4, 1, 1, 1}};
    test_random random = test_random_for(1213);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t *v = cases[i];
        conv_case p = conv_like(.n = v[0], .c = v[1], .size[0] = v[2], .size[1] = v[3], .k = v[4],
                                .groups = v[9], .beta = i % 3 == 1, .x = i % 4 == 3 ? NHWC : NCHW,
                                .y = i % 4 == 2 ? NHWC : NCHW, .w = i % 5 == 4 ? NHWC : NCHW);
        for (int d = 0; d < 2; d++) {
            p.filter[d] = v[5];
            p.geometry.stride[d] = v[6];
            p.geometry.dilation[d] = v[7];
            p.geometry.pad_begin[d] = p.geometry.pad_end[d] = v[8];
        }
        conv_check_by(OF_IMAGE, &p, TENON_DTYPE_F32, of_image, &random);
        p.residual =
            p.beta != 0 ? FULL_RESIDUAL : NO_RESIDUAL; /* only of the transposed convolution */
        conv_check_by(TRANSPOSED, &p, TENON_DTYPE_F16, transposed, &random);
        conv_check_by(OF_FILTER, &p, i % 2 ? TENON_DTYPE_F32 : TENON_DTYPE_BF16,
                      of_filter + !has_room, &random);
    }
}

/* Blocks so small that those of the self-check, with more columns than a vector, do not fit. */
TEST(little_local_memory)
{
    static const char *const lines[] = {
        "conv_backward_filter/implicit_packed x=f32:2x4x9x70 dy=f32:2x9x9x67 dw=f32:9x4x1x4",
        "conv_backward_data/implicit_packed dy=f32:2x9x9x67 w=f32:9x4x1x4 dx=f32:2x4x9x70", NULL};
    test_with_local_memory(20 << 10, lines);
    assert_true(test_with_local_memory(32 << 10, lines) > 0);
}
