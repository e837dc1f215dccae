/* Descriptions of a network's layers in the interfaces of oneDNN 2 and 3. */
#include "onednn_layers.hpp"

namespace onednn
{

using desc = memory::desc;
using tag = memory::format_tag;

static const auto f32 = memory::data_type::f32;
static const auto inference = dnnl::prop_kind::forward_inference;

/* A layer to describe. */
struct request {
    const bench_model *model;
    const dnnl::engine &engine;
    const bench_layer &layer;
    const desc &x;
};

dims image_shape(const bench_model *model, uint32_t image)
{
    const bench_image &i = model->network.images[image];
    return {model->n, i.channels, i.size[0], i.size[1]};
}

desc channels_last(const dims &shape)
{
    /* For one pixel, the usual strides of a dense tensor. */
    return desc(shape, f32, shape[2] * shape[3] == 1 ? tag::nchw : tag::nhwc);
}

/* Returns the shape of a layer's filters: of convolutions G K/G C/G R S or K C R S; those of fully
 * connected layers have the size of the image. */
static dims filter_shape(const bench_model *model, const bench_layer &l)
{
    int64_t w[4];
    bench_layer_filters(&model->network, &l, w);
    if (l.kind == BENCH_LAYER_CONNECTED) {
        dims shape = image_shape(model, l.x);
        shape[0] = w[0];
        return shape;
    }
    return l.groups > 1 ? dims{l.groups, w[0] / l.groups, w[1], w[2], w[3]}
                        : dims{w[0], w[1], w[2], w[3]};
}

desc stored_filters(const bench_model *model, const bench_layer &l)
{
    const dims shape = filter_shape(model, l);
    if (l.kind == BENCH_LAYER_CONNECTED)
        return channels_last(shape);
    return desc(shape, f32, l.groups > 1 ? tag::goihw : tag::oihw);
}

static void append(dnnl::post_ops *ops, dnnl::algorithm algorithm, float alpha, float beta)
{
#if DNNL_VERSION_MAJOR < 3
    ops->append_eltwise(1.0F, algorithm, alpha, beta);
#else
    ops->append_eltwise(algorithm, alpha, beta);
#endif
}

static void append_activation(dnnl::post_ops *ops, const tenon_activation &a)
{
    const auto alpha = (float)a.alpha, beta = (float)a.beta;
    switch (a.kind) {
    case TENON_ACTIVATION_IDENTITY:
        break;
    case TENON_ACTIVATION_RELU:
        append(ops, dnnl::algorithm::eltwise_relu, 0, 0);
        break;
    case TENON_ACTIVATION_CLIPPED_RELU:
        append(ops, dnnl::algorithm::eltwise_clip, 0, alpha);
        break;
    case TENON_ACTIVATION_HARD_SIGMOID:
        append(ops, dnnl::algorithm::eltwise_linear, alpha, beta);
        append(ops, dnnl::algorithm::eltwise_clip, 0, 1);
        break;
    case TENON_ACTIVATION_HARD_SWISH: /* oneDNN 2 ignores the numbers */
        append(ops, dnnl::algorithm::eltwise_hardswish, 1.0F / 6, 0.5F);
        break;
    default:
        throw dnnl::error(dnnl_unimplemented, "an activation that no network has");
    }
}

/* Returns the operations that follow a layer with filters: the addition of an image, which is in
 * the memory of the result, and the activation. */
static dnnl::primitive_attr attributes_of(const bench_layer &l)
{
    dnnl::primitive_attr attributes;
    dnnl::post_ops ops;
    if (l.other >= 0)
        ops.append_sum(1.0F);
    append_activation(&ops, l.activation);
    attributes.set_post_ops(ops);
    return attributes;
}

/* Describes a tensor whose layout the primitive chooses. */
static desc any(const dims &shape)
{
    return desc(shape, f32, tag::any);
}

template <typename described> static node with_filters(const described &p)
{
    return {dnnl::primitive(p.get()),
            {{DNNL_ARG_SRC, p.src_desc()},
             {DNNL_ARG_WEIGHTS, p.weights_desc()},
             {DNNL_ARG_BIAS, p.bias_desc()},
             {DNNL_ARG_DST, p.dst_desc()}}};
}

static node make_convolution(const request &r, dnnl::algorithm algorithm)
{
    const bench_layer &l = r.layer;
    const dims shape = image_shape(r.model, l.y);
    const desc x = any(image_shape(r.model, l.x)), w = any(filter_shape(r.model, l)),
               bias({shape[1]}, f32, tag::a), y = any(shape);
    const dims stride = {l.stride[0], l.stride[1]}, pad = {l.padding, l.padding};
#if DNNL_VERSION_MAJOR < 3
    return with_filters(dnnl::convolution_forward::primitive_desc(
        {inference, algorithm, x, w, bias, y, stride, pad, pad}, attributes_of(l), r.engine));
#else
    return with_filters(dnnl::convolution_forward::primitive_desc(
        r.engine, inference, algorithm, x, w, bias, y, stride, pad, pad, attributes_of(l)));
#endif
}

static node make_connected(const request &r)
{
    const dims shape = image_shape(r.model, r.layer.y);
    const desc x = any(image_shape(r.model, r.layer.x)), w = any(filter_shape(r.model, r.layer)),
               bias({shape[1]}, f32, tag::a), y({shape[0], shape[1]}, f32, tag::ab);
    const auto attributes = attributes_of(r.layer);
#if DNNL_VERSION_MAJOR < 3
    return with_filters(dnnl::inner_product_forward::primitive_desc({inference, x, w, bias, y},
                                                                    attributes, r.engine));
#else
    return with_filters(dnnl::inner_product_forward::primitive_desc(r.engine, inference, x, w, bias,
                                                                    y, attributes));
#endif
}

static node make_pooling(const request &r)
{
    const bench_layer &l = r.layer;
    const dims size = {r.model->network.images[l.x].size[0], r.model->network.images[l.x].size[1]};
    const bool is_global = l.filter == 0;
    const dims window = is_global ? size : dims{l.filter, l.filter},
               stride = is_global ? dims{1, 1} : dims{l.stride[0], l.stride[1]},
               pad = is_global ? dims{0, 0} : dims{l.padding, l.padding};
    const auto algorithm =
        is_global ? dnnl::algorithm::pooling_avg_exclude_padding : dnnl::algorithm::pooling_max;
    const desc y = any(image_shape(r.model, l.y));
#if DNNL_VERSION_MAJOR < 3
    const dnnl::pooling_forward::primitive_desc p(
        {inference, algorithm, r.x, y, stride, window, pad, pad}, r.engine);
#else
    const dims dilation = {0, 0};
    const dnnl::pooling_forward::primitive_desc p(r.engine, inference, algorithm, r.x, y, stride,
                                                  window, dilation, pad, pad);
#endif
    return {dnnl::primitive(p.get()), {{DNNL_ARG_SRC, p.src_desc()}, {DNNL_ARG_DST, p.dst_desc()}}};
}

static node make_scaling(const request &r, const desc &x, tag layout)
{
    const desc other(image_shape(r.model, (uint32_t)r.layer.other), f32, layout);
    const auto algorithm = dnnl::algorithm::binary_mul;
#if DNNL_VERSION_MAJOR < 3
    const dnnl::binary::primitive_desc p({algorithm, x, other, x}, r.engine);
#else
    const dnnl::binary::primitive_desc p(r.engine, algorithm, x, other, x);
#endif
    return {dnnl::primitive(p.get()),
            {{DNNL_ARG_SRC_0, p.src_desc(0)},
             {DNNL_ARG_SRC_1, p.src_desc(1)},
             {DNNL_ARG_DST, p.dst_desc()}}};
}

/* Adds a candidate, unless oneDNN does not have it. */
static void add(std::vector<node> *candidates, const std::function<node()> &make)
{
    try {
        candidates->push_back(make());
    } catch (const dnnl::error &error) {
        if (error.status != dnnl_unimplemented)
            throw;
    }
}

static std::vector<node> make_convolutions(const request &r)
{
    std::vector<node> made;
    for (auto algorithm :
         {dnnl::algorithm::convolution_direct, dnnl::algorithm::convolution_winograd})
        add(&made, [&] { return make_convolution(r, algorithm); });
    return made;
}

/* Multiplies in the image's current layout, by factors in several layouts, because oneDNN has fast
 * kernels for only some of them; and in a layout with the channels last. */
static std::vector<node> make_scalings(const request &r)
{
    std::vector<node> made;
    const desc plain = channels_last(image_shape(r.model, r.layer.x));
    for (auto layout : {tag::nchw, tag::nChw4c, tag::nChw8c, tag::nChw16c})
        add(&made, [&] { return make_scaling(r, r.x, layout); });
    if (r.x != plain)
        add(&made, [&] { return make_scaling(r, plain, tag::nchw); });
    return made;
}

std::vector<node> layer_candidates(const bench_model *model, const dnnl::engine &engine,
                                   const bench_layer &layer, const desc &x)
{
    const request r = {model, engine, layer, x};
    switch (layer.kind) {
    case BENCH_LAYER_POOLING:
        return {make_pooling(r)};
    case BENCH_LAYER_SCALING:
        return make_scalings(r);
    case BENCH_LAYER_CONNECTED:
        return {make_connected(r)};
    default:
        return make_convolutions(r);
    }
}

} // namespace onednn
