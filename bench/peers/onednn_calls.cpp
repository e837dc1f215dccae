/* Calls in oneDNN: functions of elements, reductions and images in plain layouts, and convolutions
 * of integers. */
#include "onednn.hpp"

#include <cstring>
#include <string>

using namespace onednn;
using tag = memory::format_tag;
using desc = memory::desc;
using algorithm = dnnl::algorithm;

namespace
{

const auto inference = dnnl::prop_kind::forward_inference;

const bench_call_operand *find(const bench_call *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (std::string(name) == c->operand[i].name)
            return &c->operand[i];
    return nullptr;
}

memory::data_type type_of_operand(const bench_call_operand &o)
{
    switch (o.host.dtype) {
    case TENON_DTYPE_I8:
        return memory::data_type::s8;
    case TENON_DTYPE_U8:
        return memory::data_type::u8;
    case TENON_DTYPE_I32:
        return memory::data_type::s32;
    default:
        return memory::data_type::f32;
    }
}

/* Describes an operand as it is in memory, with additional dimensions of one element up to the
 * rank. */
desc plain(const bench_call_operand &o, uint32_t rank)
{
    dims shape, stride;
    for (uint32_t d = 0; d < rank; d++) {
        shape.push_back(d < o.host.rank ? o.host.shape[d] : 1);
        stride.push_back(d < o.host.rank ? o.host.stride[d] : 1);
    }
    return {shape, type_of_operand(o), stride};
}

/* Adds an argument in the wanted layout, with the values of an input. */
void give_operand(work &w, int name, const bench_call_operand &o, const desc &stored,
                  const desc &wanted)
{
    memory target(wanted, w.engine);
    if (!o.is_output) {
        memory source(stored, w.engine, o.host.memory.u.svm);
        dnnl::reorder(source, target).execute(w.stream, source, target);
        w.stream.wait();
    }
    if (w.arguments.empty())
        w.arguments.emplace_back();
    w.arguments[0].emplace(name, target);
}

#if DNNL_VERSION_MAJOR < 3
#define DESCRIBED(primitive, ...)                                                                  \
    primitive::primitive_desc                                                                      \
    {                                                                                              \
        {__VA_ARGS__}, w.engine                                                                    \
    }
#else
#define DESCRIBED(primitive, ...) primitive::primitive_desc(w.engine, __VA_ARGS__)
#endif

void make_function(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "x"), &y = *find(c, "y");
    const desc d = plain(x, x.host.rank);
#if DNNL_VERSION_MAJOR < 3
    w.primitive = dnnl::eltwise_forward(DESCRIBED(dnnl::eltwise_forward, inference, a, d, 0, 0));
#else
    w.primitive = dnnl::eltwise_forward(DESCRIBED(dnnl::eltwise_forward, inference, a, d, d, 0, 0));
#endif
    give_operand(w, DNNL_ARG_SRC, x, d, d);
    give_operand(w, DNNL_ARG_DST, y, d, d);
}

void make_binary(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "a"), &y = *find(c, "b"), &z = *find(c, "d");
    const desc d = plain(x, x.host.rank);
    w.primitive = dnnl::binary(DESCRIBED(dnnl::binary, a, d, d, d));
    give_operand(w, DNNL_ARG_SRC_0, x, d, d);
    give_operand(w, DNNL_ARG_SRC_1, y, d, d);
    give_operand(w, DNNL_ARG_DST, z, d, d);
}

/* Reduces a vector, or the rows or columns of a matrix. */
void make_reduction(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "x"), &y = *find(c, "y");
    const desc from = plain(x, x.host.rank);
    dims shape(x.host.rank, 1);
    if (y.host.rank == 1)
        shape[y.host.shape[0] == x.host.shape[0] ? 0 : 1] = y.host.shape[0];
    const desc to(shape, memory::data_type::f32, x.host.rank == 1 ? tag::a : tag::ab);
    w.primitive = dnnl::reduction(DESCRIBED(dnnl::reduction, a, from, to, 2.0F, 0.0F));
    give_operand(w, DNNL_ARG_SRC, x, from, from);
    give_operand(w, DNNL_ARG_DST, y, to, to);
}

void make_resize(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "x"), &y = *find(c, "y");
    const desc from = plain(x, 4), to = plain(y, 4);
    w.primitive =
        dnnl::resampling_forward(DESCRIBED(dnnl::resampling_forward, inference, a, from, to));
    give_operand(w, DNNL_ARG_SRC, x, from, from);
    give_operand(w, DNNL_ARG_DST, y, to, to);
}

void make_lrn(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "x"), &y = *find(c, "y");
    const desc d = plain(x, 4);
#if DNNL_VERSION_MAJOR < 3
    w.primitive =
        dnnl::lrn_forward(DESCRIBED(dnnl::lrn_forward, inference, a, d, 5, 1e-4F, 0.75F, 1.0F));
#else
    w.primitive =
        dnnl::lrn_forward(DESCRIBED(dnnl::lrn_forward, inference, a, d, d, 5, 1e-4F, 0.75F, 1.0F));
#endif
    give_operand(w, DNNL_ARG_SRC, x, d, d);
    give_operand(w, DNNL_ARG_DST, y, d, d);
}

/* Windows of 3 × 3 with a stride of 2 and a border of one pixel. */
void make_pool(work &w, const bench_call *c, algorithm a)
{
    const bench_call_operand &x = *find(c, "x"), &y = *find(c, "y");
    const desc from = plain(x, 4), to = plain(y, 4);
    const dims stride = {2, 2}, window = {3, 3}, border = {1, 1};
#if DNNL_VERSION_MAJOR < 3
    w.primitive = dnnl::pooling_forward(
        DESCRIBED(dnnl::pooling_forward, inference, a, from, to, stride, window, border, border));
#else
    const dims dilation = {0, 0};
    w.primitive = dnnl::pooling_forward(DESCRIBED(dnnl::pooling_forward, inference, a, from, to,
                                                  stride, window, dilation, border, border));
#endif
    give_operand(w, DNNL_ARG_SRC, x, from, from);
    give_operand(w, DNNL_ARG_DST, y, to, to);
}

/* The calls by name, in f32. */
const struct {
    const char *name;
    void (*make)(work &w, const bench_call *c, algorithm a);
    algorithm kind;
} known[] = {
    {"abs", make_function, algorithm::eltwise_abs},
    {"sqrt", make_function, algorithm::eltwise_sqrt},
    {"round", make_function, algorithm::eltwise_round},
    {"exp", make_function, algorithm::eltwise_exp},
    {"log", make_function, algorithm::eltwise_log},
    {"tanh", make_function, algorithm::eltwise_tanh},
    {"maximum", make_binary, algorithm::binary_max},
    {"sum", make_reduction, algorithm::reduction_sum},
    {"max", make_reduction, algorithm::reduction_max},
    {"norm", make_reduction, algorithm::reduction_norm_lp_sum},
    {"sum rows", make_reduction, algorithm::reduction_sum},
    {"sum columns", make_reduction, algorithm::reduction_sum},
    {"nearest 64@56 x2", make_resize, algorithm::resampling_nearest},
    {"linear 64@56 x2", make_resize, algorithm::resampling_linear},
    {"linear photo", make_resize, algorithm::resampling_linear},
    {"lrn alexnet n8", make_lrn, algorithm::lrn_across_channels},
    {"max 3x3/2 n8", make_pool, algorithm::pooling_max},
    {"avg 3x3/2 n8", make_pool, algorithm::pooling_avg_include_padding},
};

void make_conv(work &w, const bench_conv_shape &s, const bench_call *c)
{
    const bench_call_operand &x = *find(c, "x"), &f = *find(c, "w"), &y = *find(c, "y");
    const int64_t taps = s.r * s.s, inner = s.c / s.groups, outer = s.k / s.groups;
    const dims grouped = {s.groups, outer, inner, s.r, s.s};
    const desc from = plain(x, 4), to = plain(y, 4),
               filters = s.groups == 1
                             ? plain(f, 4)
                             : desc(grouped, memory::data_type::s8,
                                    dims{outer * inner * taps, inner * taps, taps, s.s, 1}),
               any(s.groups == 1 ? dims{s.k, s.c, s.r, s.s} : grouped, memory::data_type::s8,
                   tag::any);
    const dims stride = {s.stride, s.stride}, border = {s.pad, s.pad};
    const auto p = DESCRIBED(dnnl::convolution_forward, inference, algorithm::convolution_direct,
                             from, any, to, stride, border, border);
    w.primitive = dnnl::convolution_forward(p);
    give_operand(w, DNNL_ARG_SRC, x, from, from);
    give_operand(w, DNNL_ARG_WEIGHTS, f, filters, p.weights_desc());
    give_operand(w, DNNL_ARG_DST, y, to, to);
}

} // namespace

bool onednn::call_peer(const bench_call *c, bench_way *way)
{
    for (const auto &k : known)
        if (std::string(k.name) == c->name && c->operand[0].host.dtype == TENON_DTYPE_F32)
            return build(way, {{nullptr, [=](work &w) { k.make(w, c, k.kind); }}});
    return false;
}

bool onednn::conv_int8_peer(const bench_conv_shape *s, const bench_call *c, bench_way *way)
{
    return build(way, {{nullptr, [=](work &w) { make_conv(w, *s, c); }}});
}
