/* Resizing, local response normalization, pooling and regions of images N C H W. */
#include "calls.h"

#define IMAGE(name, line)                                                                          \
    {                                                                                              \
        name, line, NULL, false, NULL, NULL                                                        \
    }

static const bench_listed_call calls[] = {
    IMAGE("nearest 64@56 x2", "resize x=T:1x64x56x56 y=T:1x64x112x112"),
    IMAGE("linear 64@56 x2", "resize x=T:1x64x56x56 y=T:1x64x112x112 mode=linear"),
    IMAGE("linear photo", "resize x=T:8x3x480x640 y=T:8x3x224x224 mode=linear"),
    IMAGE("linear photo antialias", "resize x=T:8x3x480x640 y=T:8x3x224x224 mode=linear flags=1"),
    IMAGE("cubic photo", "resize x=T:8x3x480x640 y=T:8x3x224x224 mode=cubic"),
    IMAGE("linear 64@56 x2 dx", "resize_backward dy=T:1x64x112x112 dx=T:1x64x56x56 mode=linear"),
    IMAGE("lrn alexnet n8", "lrn x=T:8x96x55x55 y=T:8x96x55x55 size=5"),
    IMAGE("lrn alexnet n8 dx", "lrn_backward x=T:8x96x55x55 dy=T:8x96x55x55 dx=T:8x96x55x55 "
                               "size=5"),
    IMAGE("max 3x3/2 n8", "pool x=T:8x64x112x112 y=T:8x64x56x56 window=3,3 stride=2,2 "
                          "pad_begin=1,1 pad_end=1,1"),
    IMAGE("max 3x3/2 n8 dx", "pool_backward x=T:8x64x112x112 dy=T:8x64x56x56 dx=T:8x64x112x112 "
                             "window=3,3 stride=2,2 pad_begin=1,1 pad_end=1,1"),
    IMAGE("avg 3x3/2 n8", "pool x=T:8x64x112x112 y=T:8x64x56x56 kind=average window=3,3 "
                          "stride=2,2 pad_begin=1,1 pad_end=1,1"),
    IMAGE("avg 3x3/2 n8 dx", "pool_backward dy=T:8x64x56x56 dx=T:8x64x112x112 kind=average "
                             "window=3,3 stride=2,2 pad_begin=1,1 pad_end=1,1"),
    IMAGE("lp 3x3/2 n8", "pool x=T:8x64x112x112 y=T:8x64x56x56 kind=lp p=2 window=3,3 "
                         "stride=2,2 pad_begin=1,1 pad_end=1,1"),
    IMAGE("max 3x3/2 ceil n8", "pool x=T:8x64x112x112 y=T:8x64x56x56 window=3,3 stride=2,2 "
                               "flags=2"),
    IMAGE("avg adaptive 7x7 n8", "pool x=T:8x256x25x31 y=T:8x256x7x7 kind=average flags=4"),
    IMAGE("roi_align 256@50 300",
          "roi_align x=T:1x256x50x50 rois=T:300x4 indices=i32:300 y=T:300x256x7x7 "
          "sampling_ratio=2"),
    IMAGE("roi_align max", "roi_align x=T:1x256x50x50 rois=T:300x4 indices=i32:300 "
                           "y=T:300x256x7x7 mode=max sampling_ratio=2"),
    IMAGE("roi_align max dx",
          "roi_align_backward x=T:1x256x50x50 dy=T:300x256x7x7 rois=T:300x4 indices=i32:300 "
          "dx=T:1x256x50x50 mode=max sampling_ratio=2"),
    IMAGE("grid_sample 64@56", "grid_sample x=T:8x64x56x56 grid=T:8x56x56x2 y=T:8x64x56x56"),
    IMAGE("grid_sample 16@24^3",
          "grid_sample x=T:2x16x24x24x24 grid=T:2x24x24x24x3 y=T:2x16x24x24x24"),
    IMAGE("grid_sample 64@56 dx, dgrid",
          "grid_sample_backward x=T:8x64x56x56 grid=T:8x56x56x2 dy=T:8x64x56x56 dx=T:8x64x56x56 "
          "dgrid=T:8x56x56x2"),
};
static const int64_t sizes[] = {0};

const bench_call_suite bench_suite_images = {
    {"images", "resize, normalization across channels, pooling, regions", &bench_listed_calls, 0.3,
     0},
    BENCH_CALLS(calls, sizes)};
