/* oneDNN's convolutions and their gradients, with the direct and the Winograd algorithm. */
#include "onednn.hpp"

using namespace onednn;

/* Shapes, plain strides, and the layouts requested from the primitive. */
struct tensors {
    dims x_shape, x, f_shape, f, y_shape, y;
    memory::desc want_x, want_f, want_y;
    dims stride, pad;
};

static tensors tensors_of(const bench_conv *c, bool blocked, memory::data_type type)
{
    const bench_conv_shape &s = c->shape;
    const int64_t inner = s.c / s.groups, outer = s.k / s.groups, taps = s.r * s.s;
    tensors t;
    t.x_shape = {s.n, s.c, s.h, s.w};
    t.x = {s.c * s.h * s.w, s.h * s.w, s.w, 1};
    t.y_shape = {s.n, s.k, c->p, c->q};
    t.y = {s.k * c->p * c->q, c->p * c->q, c->q, 1};
    if (c->channels_last) {
        t.x = {s.c * s.h * s.w, 1, s.w * s.c, s.c};
        t.y = {s.k * c->p * c->q, 1, c->q * s.k, s.k};
    }
    t.f_shape = s.groups > 1 ? dims{s.groups, outer, inner, s.r, s.s} : dims{s.k, inner, s.r, s.s};
    t.f = s.groups > 1 ? dims{outer * inner * taps, inner * taps, taps, s.s, 1}
                       : dims{inner * taps, taps, s.s, 1};
    const auto layout = [&](const dims &shape, const dims &plain) {
        return blocked ? memory::desc(shape, type, memory::format_tag::any)
                       : memory::desc(shape, type, plain);
    };
    t.want_x = layout(t.x_shape, t.x);
    t.want_y = layout(t.y_shape, t.y);
    /* Weights may always be reordered in advance, because they are the same in every call. Their
     * gradient keeps its layout, unless all tensors are blocked, or the images have their channels
     * last: for such images oneDNN is 20 to 300 times as slow with a plain gradient. */
    t.want_f = c->direction == BENCH_CONV_BACKWARD_FILTER && !c->channels_last
                   ? layout(t.f_shape, t.f)
                   : memory::desc(t.f_shape, type, memory::format_tag::any);
    t.stride = {s.stride, s.stride};
    t.pad = {s.pad, s.pad};
    return t;
}

static dnnl::convolution_forward::primitive_desc
describe_forward(const work &w, const tensors &t, dnnl::prop_kind kind, dnnl::algorithm algorithm)
{
#if DNNL_VERSION_MAJOR < 3
    return {{kind, algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad}, w.engine};
#else
    return {w.engine, kind, algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad};
#endif
}

static dnnl::convolution_backward_data::primitive_desc
describe_data(const work &w, const tensors &t, dnnl::algorithm algorithm)
{
    const auto hint = describe_forward(w, t, dnnl::prop_kind::forward_training, algorithm);
#if DNNL_VERSION_MAJOR < 3
    return {{algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad}, w.engine, hint};
#else
    return {w.engine, algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad, hint};
#endif
}

static dnnl::convolution_backward_weights::primitive_desc
describe_filter(const work &w, const tensors &t, dnnl::algorithm algorithm)
{
    const auto hint = describe_forward(w, t, dnnl::prop_kind::forward_training, algorithm);
#if DNNL_VERSION_MAJOR < 3
    return {{algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad}, w.engine, hint};
#else
    return {w.engine, algorithm, t.want_x, t.want_f, t.want_y, t.stride, t.pad, t.pad, hint};
#endif
}

static void make_conv(work &w, const bench_conv *c, bool blocked, memory::data_type type,
                      dnnl::algorithm algorithm)
{
    const tensors t = tensors_of(c, blocked, type);
    const memory::desc x = as_values(t.x_shape, t.x), f = as_values(t.f_shape, t.f),
                       y = as_values(t.y_shape, t.y);
    if (c->direction == BENCH_CONV_FORWARD) {
        const auto p = describe_forward(w, t, dnnl::prop_kind::forward_inference, algorithm);
        w.primitive = dnnl::convolution_forward(p);
        give(w, c->operands,
             {{DNNL_ARG_SRC, c->x, x, p.src_desc()},
              {DNNL_ARG_WEIGHTS, c->filter, f, p.weights_desc()},
              {DNNL_ARG_DST, c->y, y, p.dst_desc()}});
    } else if (c->direction == BENCH_CONV_BACKWARD_DATA) {
        const auto p = describe_data(w, t, algorithm);
        w.primitive = dnnl::convolution_backward_data(p);
        give(w, c->operands,
             {{DNNL_ARG_DIFF_DST, c->y, y, p.diff_dst_desc()},
              {DNNL_ARG_WEIGHTS, c->filter, f, p.weights_desc()},
              {DNNL_ARG_DIFF_SRC, c->x, x, p.diff_src_desc()}});
    } else {
        const auto p = describe_filter(w, t, algorithm);
        w.primitive = dnnl::convolution_backward_weights(p);
        give(w, c->operands,
             {{DNNL_ARG_SRC, c->x, x, p.src_desc()},
              {DNNL_ARG_DIFF_DST, c->y, y, p.diff_dst_desc()},
              {DNNL_ARG_DIFF_WEIGHTS, c->filter, f, p.diff_weights_desc()}});
    }
}

bool onednn::conv_peer(const bench_conv *c, bool blocked, bench_way *way)
{
    memory::data_type type;
    if (!type_of(c->dtype, &type))
        return false;
    const auto by = [=](dnnl::algorithm algorithm) {
        return [=](work &w) { make_conv(w, c, blocked, type, algorithm); };
    };
    return build(way, {{"direct", by(dnnl::algorithm::convolution_direct)},
                       {"winograd", by(dnnl::algorithm::convolution_winograd)}});
}
