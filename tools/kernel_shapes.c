#include "kernel_shapes.h"

#include <stddef.h>

const char *const kernel_shapes[] = {
    /* Matrix products: large, medium and small, every layout, large K, batches, attention. */
    "gemm a=T:4096x4096 b=T:4096x4096 d=T:4096x4096",
    "gemm a=T:4096x4096/1,4096 b=T:4096x4096 bias=T:4096 d=T:4096x4096 activation=gelu",
    "gemm a=T:4096x4096 b=T:4096x4096/1,4096 c=@d d=T:4096x4096 beta=1",
    "gemm a=T:4096x4096/1,4096 b=T:4096x4096/1,4096 d=T:4096x4096",
    "gemm a=T:1024x1024 b=T:1024x1024 d=T:1024x1024",
    "gemm a=T:256x256 b=T:256x256 d=T:256x256",
    "gemm a=T:96x96 b=T:96x96 d=T:96x96",
    "gemm a=T:1021x1019 b=T:1019x1031 d=T:1021x1031",
    "gemm a=T:64x65536 b=T:65536x64 d=T:64x64",
    "gemm a=T:96x128x64 b=T:96x64x128/8192,1,64 d=T:96x128x128",
    "gemm a=T:4096x4096 b=T:4096x64 d=T:4096x64",
    "gemm a=T:16x4096 b=T:4096x11008 d=T:16x11008",
    "gemm a=T:1x4096 b=T:4096x4096/1,4096 d=T:1x4096",
    "gemm a=T:4096x4096 b=T:4096x1 d=T:4096x1",
    "gemm_int8 a=i8:4096x4096 b=i8:4096x4096/1,4096 d=i32:4096x4096",
    "gemm_int8 a=u8:1024x1024 b=i8:1024x1024 scale_of_b=f32:1024 zero_point_of_a=u8: "
    "d=f16:1024x1024",
    "gemm_int8 a=i8:1x4096 b=i8:4096x4096/1,4096 d=i32:1x4096",
    "gemm_ragged a=T:4096x1024 b=T:8x1024x4096 offsets=i32:9 d=T:4096x4096",
    /* Convolutions of common networks: a first layer, 3 × 3 early and late, with stride 2,
     * pointwise, depthwise, with channels first and last. */
    "conv x=T:32x3x224x224 w=T:64x3x7x7 bias=T:64 y=T:32x64x112x112 stride=2,2 pad_begin=3,3 "
    "pad_end=3,3 activation=relu",
    "conv x=T:32x64x56x56 w=T:64x64x3x3 y=T:32x64x56x56 pad_begin=1,1 pad_end=1,1",
    "conv x=T:32x512x7x7 w=T:512x512x3x3 y=T:32x512x7x7 pad_begin=1,1 pad_end=1,1",
    "conv x=T:32x64x56x56/200704,1,3584,64 w=T:64x64x3x3 y=T:32x64x56x56/200704,1,3584,64 "
    "pad_begin=1,1 pad_end=1,1",
    "conv x=T:32x128x56x56 w=T:128x128x3x3 y=T:32x128x28x28 stride=2,2 pad_begin=1,1 pad_end=1,1",
    "conv x=T:32x256x14x14 w=T:1024x256x1x1 y=T:32x1024x14x14",
    "conv x=T:1x256x14x14 w=T:1024x256x1x1 y=T:1x1024x14x14",
    "conv x=T:32x144x56x56 w=T:144x1x3x3 y=T:32x144x56x56 groups=144 pad_begin=1,1 pad_end=1,1",
    "conv x=T:32x144x56x56/451584,1,8064,144 w=T:144x1x3x3 y=T:32x144x28x28/112896,1,4032,144 "
    "groups=144 stride=2,2 pad_begin=1,1 pad_end=1,1",
    "conv x=T:1x64x56x56 w=T:64x64x3x3 y=T:1x64x56x56 pad_begin=1,1 pad_end=1,1",
    "conv_backward_data dy=T:32x64x56x56 w=T:64x64x3x3 dx=T:32x64x56x56 pad_begin=1,1 pad_end=1,1",
    "conv_backward_data dy=T:32x128x28x28 w=T:128x128x3x3 dx=T:32x128x56x56 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "conv_backward_data dy=T:32x144x56x56 w=T:144x1x3x3 dx=T:32x144x56x56 groups=144 pad_begin=1,1 "
    "pad_end=1,1",
    "conv_backward_filter x=T:32x64x56x56 dy=T:32x64x56x56 dw=T:64x64x3x3 pad_begin=1,1 "
    "pad_end=1,1",
    "conv_backward_filter x=T:32x128x56x56 dy=T:32x128x28x28 dw=T:128x128x3x3 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "conv_backward_filter x=T:32x144x56x56 dy=T:32x144x56x56 dw=T:144x1x3x3 groups=144 "
    "pad_begin=1,1 pad_end=1,1",
    "conv_backward_bias dy=T:32x64x56x56 db=T:64",
    "conv_transpose x=T:8x128x28x28 w=T:128x64x4x4 bias=T:64 y=T:8x64x56x56 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    /* Row operations: attention, a vocabulary, a single row; images with channels first and last.
     */
    "softmax x=T:65536x128 y=T:65536x128",
    "softmax x=T:4096x4096 y=T:4096x4096",
    "softmax x=T:64x50257 y=T:64x50257",
    "softmax_backward y=T:4096x4096 dy=T:4096x4096 dx=T:4096x4096",
    "cross_entropy logits=T:4096x50257 labels=i32:4096 loss=T:4096",
    "cross_entropy_backward logits=T:4096x50257 labels=i32:4096 dlogits=T:4096x50257",
    "norm x=T:8192x768 gamma=T:768 beta=T:768 y=T:8192x768 mean=S:8192 rstd=S:8192",
    "norm x=T:2048x8192 gamma=T:8192 y=T:2048x8192 rstd=S:2048 kind=rms",
    "norm x=T:32x64x56x56 gamma=T:64 beta=T:64 y=T:32x64x56x56 mean=S:64 rstd=S:64 kind=batch",
    "norm_backward x=T:8192x768 dy=T:8192x768 gamma=T:768 mean=S:8192 rstd=S:8192 dx=T:8192x768 "
    "dgamma=T:768 dbeta=T:768",
    "norm_backward x=T:32x64x56x56 dy=T:32x64x56x56 gamma=T:64 mean=S:64 rstd=S:64 "
    "dx=T:32x64x56x56 dgamma=T:64 dbeta=T:64 kind=batch",
    "reduce x=T:4096x4096 y=T:4096 axis_count=1 axes=1 kind=sum",
    "reduce x=T:4096x4096 y=T:4096 axis_count=1 axes=0 kind=sum",
    "reduce x=T:16777216 y=S: kind=sum",
    "reduce x=T:16777216 y=S: kind=max",
    "reduce x=T:4096x50257 y=i32:4096 axis_count=1 axes=1 kind=argmax",
    "pool x=T:32x64x112x112 y=T:32x64x56x56 window=3,3 stride=2,2 pad_begin=1,1 pad_end=1,1",
    "pool x=T:32x64x112x112/802816,1,7168,64 y=T:32x64x56x56/200704,1,3584,64 window=3,3 "
    "stride=2,2 pad_begin=1,1 pad_end=1,1",
    /* Element-wise operations. */
    "elementwise a=T:16777216 b=T:16777216 d=T:16777216",
    "elementwise_chain x0=T:16777216 x1=T:16777216 y=T:16777216 step_count=2 op=multiply,activate "
    "operand=x1,scalar activation=identity,gelu",
    "activation x=T:16777216 y=T:16777216 activation=gelu",
    "activation_backward x=T:16777216 dy=T:16777216 dx=T:16777216 activation=gelu",
    "copy x=T:4096x4096/1,4096 y=T:4096x4096",
    "copy x=T:16777216 y=f32:16777216",
    "gather x=T:50257x768 indices=i32:8192 y=T:8192x768",
    "gather_backward dy=T:8192x768 indices=i32:8192 dx=T:50257x768",
    "scan x=T:16777216 y=T:16777216",
    "scan x=T:4096x4096 y=T:4096x4096 axis=0",
    "sort x=T:4096x4096 y=T:4096x4096 indices=i32:4096x4096",
    "sort tenon_top_k x=T:4096x50257 y=T:4096x50 indices=i32:4096x50",
    "scatter updates=T:8192x768 indices=i32:8192 y=T:50257x768 op=add",
    "adam gradient=T:16777216 parameter=T:16777216 first=S:16777216 second=S:16777216",
    NULL,
};
