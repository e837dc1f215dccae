/* Tests memory-bound operations on a device that is treated as a GPU: work distribution, kernels
 * and choices are those of a GPU. */
#include "quick.h"
#include "support.h"

#include "check/case.h"
#include "ops/common/gpu.h"
#include "ops/registry.h"
#include "runtime/context/context.h"
#include "runtime/probe/capability.h"

/* `dtype` is the type of the views that have none. */
static void run_example(tenon_stream *stream, const char *line, tenon_dtype dtype)
{
    tn_case c;
    tn_case_result result;
    char text[TN_CASE_TEXT_SIZE];
    memset(&c, 0, sizeof c);
    assert_ok(tn_case_parse_line(line, dtype, &c));
    c.seed = test_seed();
    if (tn_case_run(stream, &c, &result) != TENON_OK)
        fail_msg("%s: %s", tn_case_text(&c, text), tenon_last_error());
    if (!result.served || !result.right)
        fail_msg("%s by %s: %s", tn_case_text(&c, text), result.solver, result.why);
}

/* Runs all lines; in the quick set, one in `of`. */
static void run_drawn(tenon_stream *stream, const char *const *line, uint32_t of, tenon_dtype dtype)
{
    for (; *line != NULL; line++)
        if (quick_draws(*line, of))
            run_example(stream, *line, dtype);
}

/* Returns false for operations that are not memory-bound, which have kernels of their own. */
static bool is_bound_by_memory(const tn_operation *operation)
{
    static const char *const others[] = {"gemm", "conv", "im2col", "col2im", "pool", "packed"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strncmp(operation->examples[0], others[i], strlen(others[i])) == 0)
            return false;
    return true;
}

static tenon_stream *begin_as(tenon_context **context, const tn_device_kind *kind,
                              uint32_t least_sub_group)
{
    tenon_stream *stream;
    assert_ok(tenon_context_create(NULL, context));
    (*context)->device.is_cpu = false;
    (*context)->device.model.kind = kind;
    (*context)->device.least_sub_group = least_sub_group;
    assert_ok(tenon_stream_create(*context, NULL, &stream));
    return stream;
}

static tenon_stream *begin(tenon_context **context)
{
    return begin_as(context, tn_device_kind_other(), 0);
}

static void end(tenon_stream *stream, tenon_context *context)
{
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

TEST(every_example)
{
    tenon_context *context;
    tenon_stream *stream = begin(&context);
    for (uint32_t i = 0; i < tn_operation_count; i++)
        if (is_bound_by_memory(tn_operations[i])) {
            run_drawn(stream, tn_operations[i]->examples, 6, TENON_DTYPE_F32);
            if (tn_context_has(context, TENON_CAPABILITY_F64))
                run_drawn(stream, tn_operations[i]->examples, 18, TENON_DTYPE_F64);
        }
    end(stream, context);
}

static const char function_chain[] =
    "elementwise_chain x0=f32:37x229/240,1 x1=f32:37x1 y=f32:37x229/2,80 step_count=3 "
    "op=exp,fmod,log1p operand=scalar,x1";

/* Aligned and unaligned vectors, also of 16-bit elements; teams that keep a row and teams that do
 * not; contiguous rows and strided ones. */
TEST(edges)
{
    static const char *const lines[] = {
        "activation x=f16:1024 y=f16:1024 activation=relu",
        "activation x=bf16:1027+1 y=bf16:1027 activation=relu",
        "elementwise a=f16:3x5x7x9/800,150,20,2 b=f16:3x5x7x9 d=f16:3x5x7x9",
        "gated a=f64:7x9/20,2 b=f64:7x9 y=f64:7x9",
        "elementwise_chain x0=f64:7x9/20,2 x1=f64:7x9 y=f64:7x9 step_count=1 op=add operand=x1",
        "copy x=u8:61x64 y=u8:61x64",
        "copy x=u8:61x67+1 y=u8:61x67",
        "copy x=i8:300 y=f16:300",
        "copy x=f32:41x37/1,41 y=i64:41x37",
        "compare a=f16:1027+1 b=f16:1027 d=bool:1027 kind=less",
        "logic a=i64:13x31 b=i64:31 d=@a kind=xor",
        "where condition=bool:61x67+1 a=f32:61x67 b=f32:61x1 d=f32:61x67",
        "elementwise a=i16:7x9/20,2 b=i16:7x9 d=i16:7x9 kind=multiply",
        "gather x=u8:13x67 indices=i64:29 y=u8:29x67",
        "gather x=f32:5x7x11x30 indices=i32:5x23x2 y=f32:5x23x30 axis=1 mode=tuples flags=1",
        "scatter/sorted updates=f16:300x37 indices=i32:300 y=f16:11x37 op=add",
        ("scatter/scan updates=i16:40x9x4 indices=i64:40x9x4 y=i16:40x13x5 axis=1 mode=elements "
         "op=max"),
        "rearrange x=f16:61x67+1 y=f16:130x67 shift=5,9 flip=2",
        "pool/windows x=f32:2x5x17x19 y=f32:2x5x6x7 kind=average flags=4",
        "pool/windows x=f16:2x5x17x19 y=f16:2x5x5x6 kind=lp window=3,3 stride=3,3 p=3",
        "pool_backward/windows dy=f32:2x5x6x7 dx=f32:2x5x17x19 kind=average flags=4",
        "rnn/step x=f32:4x9x6 w=f32:1x132x6 r=f32:1x132x33 y=f32:4x1x9x33 c0=f32:1x9x33",
        "rnn/sequence x=f16:4x9x6 w=f16:2x51x6 r=f16:2x51x17 y=f16:4x2x9x17 kind=gru direction=2",
        ("rnn_backward_data/sequence w=f32:1x20x4 r=f32:1x20x3 projection=f32:1x3x5 y=f32:3x1x6x3 "
         "reserve=f32:1x3x6x25 dy=f32:3x1x6x3 dx=f32:3x6x4 dgates=f32:1x3x6x23"),
        ("rnn_backward_weights x=f16:40x5x6 lengths=i32:5 y=f16:40x1x5x17 reserve=f32:1x40x5x85 "
         "dgates=f32:1x40x5x68 dw=f16:1x68x6 dr=f16:1x68x17 dbias=f16:1x68 dpeephole=f16:1x51"),
        "softmax/group x=f32:3x4200 y=@x flags=1",
        "softmax/group:tm2 x=f16:13x100+3 y=f16:13x100",
        "softmax/group:tm4 x=f32:3x37x19 y=@x axis=1",
        "softmax_backward/group:tm1 y=f32:5x131 dy=f32:5x131+1 dx=f32:5x131",
        "cross_entropy/group:tm2 logits=f32:3x190x4 labels=i32:3x4 loss=f32:3x4 axis=1",
        "norm/group:tm8 x=f16:5x227 gamma=f16:227 beta=f16:227 y=f16:5x227",
        "norm/group:tm4 x=f32:3x5x7x3 y=@x kind=batch",
        "reduce/group:tm16 x=f32:37x1001+1 y=f32:37 axes=1 axis_count=1 kind=variance",
        "reduce/group:tm8 x=f16:130x65 y=f16:65 axes=0 axis_count=1 kind=max",
        "reduce/group:tm2 x=f32:13x3x41/130,43,1 y=i32:13 axes=1,2 axis_count=2 kind=argmax_last",
        "reduce/group:tm8 x=f32:13x301 y=f32:13 axes=1 axis_count=1 kind=product",
        "reduce/group:tm4 x=f16:13x301 y=f32:13 axes=1 axis_count=1 kind=log_sum_exp",
        "reduce/group:tm4 x=f16:130x65 y=f16:65 axes=0 axis_count=1 kind=sum_abs",
        "reduce/rows x=f16:13x301 y=i32:13 axes=1 axis_count=1 kind=count",
        "reduce/split_columns x=u8:3001x33 y=u8:33 axes=0 axis_count=1 kind=all",
        "function x=f16:7x9/20,2 y=f16:7x9 kind=floor",
        "function x=f32:1027+1 y=f32:1027 kind=sin",
        "elementwise a=bf16:1027+1 b=bf16: d=bf16:1027 kind=pow",
        function_chain,
        "reduce/group:tm1 x=f32:9x13x3 y=i32:13 axes=0,2 axis_count=2 kind=argmin",
        NULL};
    tenon_context *context;
    tenon_stream *stream = begin(&context);
    run_drawn(stream, lines, 3, TENON_DTYPE_F32);
    end(stream, context);
}

static const char chain[] =
    "elementwise_chain x0=f32:140003 x1=f32: x2=f32:140003 y=f32:140003 step_count=3 "
    "op=fma,activate,max operand=x1,scalar,scalar addend=x2 activation=identity,gelu "
    "alpha=0,0,0.25";
static const char layer[] =
    "norm_backward/split x=f16:21x1367+3 dy=f16:21x1367 gamma=f16:1367 mean=f32:21 rstd=f32:21 "
    "dx=@dy dgamma=f16:1367 kind=layer";
static const char gapped[] =
    "norm_backward/split x=f32:2x3x5x4x7/1600,300,50,9,1 dy=f32:2x3x5x4x7 mean=f32:3 rstd=f32:3 "
    "dx=f32:2x3x5x4x7 kind=batch";
static const char sgd[] =
    "sgd gradient=bf16:140003 parameter=bf16:140003 velocity=f32:140003 master=f32:140003 "
    "momentum=0.5";

/* Tensors large enough for work-items to have several vectors in flight: with partial pieces and
 * vectors, partly aligned rows, repeated operands, and in-place outputs. */
TEST(streams)
{
    static const char *const lines[] = {
        "elementwise a=f32:140003 b=f32:140003 d=@b kind=divide",
        "elementwise a=f16:150000 b=f16: d=f16:150000 kind=max",
        "elementwise a=f32:140003+1 b=f32:140003 d=f32:140003",
        "elementwise a=f32:300x402 b=f32:402 d=f32:300x402 kind=subtract",
        "elementwise a=f64:90000 b=f64:90000 d=f64:90000 kind=scale_add alpha=0 beta=-2",
        "copy x=u8:700001 y=u8:700001",
        "copy x=f32:150001 y=bf16:150001",
        "copy x=f16:300x404/410,1 y=f16:300x404",
        "activation x=bf16:150003 y=@x activation=tanh",
        "activation_backward x=f32:140003 dy=f32:140003 dx=@dy activation=elu activation.alpha=0.5",
        chain,
        "gated a=f32:300x450/901,1 b=f32:300x450/901,1+452 y=f32:300x450 activation=silu",
        "gated_backward a=f16:150000 b=f16:150000 dy=f16:150000 da=@a db=@b activation=relu",
        "prelu x=f32:3x5x8200 slope=f32:5x1 y=f32:3x5x8200",
        sgd,
        "adam gradient=f32:140003 parameter=f32:140003 first=f32:140003 second=f32:140003 step=7",
        "clip sum=f32: x=f16:150003 max_norm=0.01",
        "square_sum x=f32:600003 sum=f32: flags=1",
        "dropout x=f32:140003 y=f32:140003 probability=0.3",
        NULL};
    tenon_context *context;
    tenon_stream *stream = begin(&context);
    run_drawn(stream, lines, 3, TENON_DTYPE_F32);
    end(stream, context);
}

/* Code compiled only for Intel's GPUs: 64-bit divisions, recomputed addresses, kernels of few and
 * of many dimensions, and products whose edges are read through strides. */
TEST(as_intel)
{
    static const char *const lines[] = {
        "norm/split x=f32:3x19x7x5 y=f32:3x19x7x5 kind=batch",
        "norm/split x=f32:2x3x5x4x7/1600,300,50,9,1 y=f32:2x3x5x4x7 kind=batch",
        layer,
        gapped,
        "reduce/split_rows x=f32:3x1111x7/9000,8,1 y=f32:3 axes=1,2 axis_count=2 kind=variance",
        "reduce/split_rows x=f16:3x1111x7/9000,8,1 y=f16:3 axes=1,2 axis_count=2 kind=max",
        "gemm/tiled:mb64,nb64,kb8,mr4,nr4 a=f32:133x70 b=f32:70x165 d=f32:133x165",
        "gemm/tiled:mb64,nb64,kb8,mr4,nr4 a=f32:133x70/1,133 b=f32:70x165/3,211 d=f32:133x165",
        "gemm/tiled:mb32,nb32,kb16,mr2,nr4 a=bf16:70x40+1 b=bf16:40x66 d=bf16:70x66",
        "gated_backward a=f16:150000 b=f16:150000 dy=f16:150000 da=@a db=@b activation=relu",
        chain,
        NULL};
    tenon_context *context;
    tenon_stream *stream = begin_as(&context, tn_device_kind_named("xe_lp"), 8);
    run_drawn(stream, lines, 3, TENON_DTYPE_F32);
    end(stream, context);
}

static void assert_cut(const tenon_context *context, int64_t length, int64_t lines, int64_t parts)
{
    const tn_stream_share share = {4, 4};
    const tn_stream_pieces cut = tn_stream_cut(context, length, lines, share);
    assert_int_equal(cut.parts, parts);
    assert_int_equal(cut.pieces, (length + cut.chunk - 1) / cut.chunk);
    assert_int_equal(cut.chunk, parts == 1 ? share.unit : parts * share.unit * share.vectors);
}

/* The streams of an H200: how many work-items share a piece of lines. */
TEST(shares)
{
    static tenon_context context;
    context.device.info.max_work_group = 1024;
    context.device.model = (tn_model){tn_device_kind_named("sm_90"), 132, 0};
    assert_cut(&context, 1 << 26, 1, 256);
    assert_cut(&context, (1 << 26) + 4, 1, 256);
    assert_cut(&context, 1 << 20, 1, 1); /* too few work-items would remain */
    assert_cut(&context, 768, 1 << 17, 48);
    assert_cut(&context, 4100, 1 << 14, 136); /* two pieces of nearly the same size */
    assert_cut(&context, 100, 1 << 20, 1);    /* too few neighbors */
    assert_int_equal(tn_gpu_group(&context, 1 << 24), 256);
    assert_int_equal(tn_gpu_group(&context, 132 * 128), 128);
    assert_int_equal(tn_gpu_group(&context, 100), 64);
}
