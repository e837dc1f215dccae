/* Tests images passed with dimensions in N H W C order: the message names them and the function
 * that views them as N C H W, but only if that would help. */
#include "fixture.h"

#define ONE(x)  "; if " x " is stored as N H W C, make its view with tenon_tensor_nhwc"
#define SOME(x) "; if " x " are stored as N H W C, make their views with tenon_tensor_nhwc"

TEST(convolutions)
{
    static const test_refusal refusals[] = {
        {"conv x=T:2x7x6x5 w=T:4x5x3x3 y=T:2x4x5x4",
         "w: 4 filters of 5 channels do not fit 7 channels of x in 1 group" ONE("x")},
        {"conv x=T:2x5x7x6 w=T:4x3x3x5 y=T:2x4x5x4", ONE("w")},
        {"conv x=T:2x5x7x6 w=T:4x5x3x3 y=T:2x5x4x4",
         "y: shape is 2x5x4x4, must be 2x4x5x4 (stride 1x1, dilation 1x1, pad_begin 0x0, "
         "pad_end 0x0)" ONE("y")},
        {"conv x=T:2x7x6x5 w=T:4x3x3x5 y=T:2x4x5x4", SOME("x and w")},
        {"conv x=T:2x7x6x5 w=T:4x3x3x5 c=T:2x5x4x4 y=T:2x5x4x4 beta=1", SOME("x, w, c and y")},
        {"conv x=T:2x7x8x9x4 w=T:6x3x3x3x2 y=T:2x5x6x7x6 groups=2", SOME("x, w and y")},
        {"conv x=T:2x9x4 w=T:6x4x3 y=T:2x6x7", ONE("x")},
        /* Detected by the channels of x and w alone; y fits neither way. */
        {"conv x=T:1x4x9x8 w=T:5x8x3x3 y=T:1x5x2x6",
         "w: 5 filters of 8 channels do not fit 4 channels of x in 1 group" ONE("x")},
        {"conv x=T:1x4x9x6 w=T:4x3x3x3 y=T:1x5x2x6 groups=2",
         "do not fit 4 channels of x in 2 groups" ONE("x")},
        {"conv_backward_data dy=T:2x5x4x4 w=T:4x5x3x3 dx=T:2x5x7x6", ONE("dy")},
        {"conv_backward_data dy=T:2x4x5x4 w=T:4x3x3x5 dx=T:2x7x6x5", SOME("w and dx")},
        {"conv_backward_filter x=T:2x7x6x5 dy=T:2x5x4x4 dw=T:4x5x3x3", SOME("x and dy")},
        {"conv_backward_filter x=T:2x5x7x6 dy=T:2x4x5x4 dw=T:4x3x3x5", ONE("dw")},
        {"conv_backward_bias dy=T:2x5x4x7 db=T:7", ONE("dy")},
        {"im2col x=T:2x4x5x3 col=T:2x12x12 filter=2,2", ONE("x")},
    };
    TEST_REFUSE(refusals);
}

TEST(pools_and_norms)
{
    static const test_refusal refusals[] = {
        {"pool x=T:2x8x10x3 y=T:2x3x4x5 kind=average window=2,2 stride=2,2", ONE("x")},
        {"pool x=T:2x8x10x3 y=T:2x4x5x3 indices=i32:2x4x5x3 window=2,2 stride=2,2",
         SOME("x, y and indices")},
        {"pool_backward dy=T:2x4x5x3 dx=T:2x3x8x10 kind=average window=2,2 stride=2,2", ONE("dy")},
        {"norm x=T:4x6x5x3 gamma=T:3 beta=T:3 y=T:4x6x5x3 kind=batch",
         "gamma: shape is 3, must be 6" SOME("x and y")},
        {"norm x=T:4x3x6x5 y=T:4x6x5x3 kind=instance", ONE("y")},
        {"norm x=T:4x5x7x6 y=T:4x5x7x6 kind=group groups=3", SOME("x and y")},
    };
    TEST_REFUSE(refusals);
}

/* Errors that no reordering fixes are reported as they are. */
TEST(other_mistakes)
{
    static const char *const lines[] = {
        "conv x=T:1x8x9x8 w=T:5x8x3x3 y=T:1x5x2x6",
        "conv x=T:2x7x6x5 w=T:4x8x3x3 y=T:2x4x5x4",
        "conv x=T:2x7x6x5 w=T:4x5x3x3 y=T:2x4x5x4 groups=0",
        "conv x=T:2x5x7x6 w=T:4x5x3x3 bias=T:3 y=T:2x4x5x4",
        "pool x=T:2x8x10x3 y=T:2x3x4x6 kind=average window=2,2 stride=2,2",
        "norm x=T:4x6x5x3 gamma=T:7 y=T:4x6x5x3 kind=batch",
        "gemm a=T:5x3x4 b=T:5x3x6 d=T:5x4x6",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const test_refusal refusal = {lines[i], ""};
        test_refuse(&refusal, 1);
        assert_null(strstr(tenon_last_error(), "tenon_tensor_nhwc"));
    }
}
