/* oneDNN in its C++ interface, which frees what it makes. Images and weights are brought into the
 * layouts that a primitive wants before anything is timed. */
extern "C" {
#include "peers.h"
}

#include <cstdio>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace
{

using dnnl::memory;
using dims = memory::dims;

/* A primitive with its arguments, for each copy of the operands. */
struct work {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::primitive primitive;
    std::vector<std::unordered_map<int, memory>> arguments;
};

/* An argument: an operand of the case as it lies in memory, and the layout that is wanted. */
struct argument {
    int name;
    uint32_t operand;
    memory::desc plain, wanted;
};

bool type_of(tenon_dtype dtype, memory::data_type *type)
{
    *type = dtype == TENON_DTYPE_BF16 ? memory::data_type::bf16 : memory::data_type::f32;
    return dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_BF16;
}

/* The operands' values are kept as f32; a 16-bit primitive gets them rounded. */
memory::desc as_values(const dims &shape, const dims &strides)
{
    return memory::desc(shape, memory::data_type::f32, strides);
}

memory fill(work &w, const argument &a, float *values, bool is_output)
{
    memory target(a.wanted, w.engine);
    if (!is_output) {
        memory source(a.plain, w.engine, values);
        dnnl::reorder(source, target).execute(w.stream, source, target);
        w.stream.wait();
    }
    return target;
}

void give(work &w, const bench_operands *operands, const std::vector<argument> &arguments)
{
    for (int c = 0; c < operands->copies; c++) {
        std::unordered_map<int, memory> of_copy;
        for (const argument &a : arguments) {
            const bench_operand &o = operands->operand[a.operand];
            of_copy.emplace(a.name, fill(w, a, o.values[c], o.is_output));
        }
        w.arguments.push_back(std::move(of_copy));
    }
}

bool call(void *data, tenon_stream *, int turn)
{
    work &w = *static_cast<work *>(data);
    w.primitive.execute(w.stream, w.arguments[(size_t)turn % w.arguments.size()]);
    w.stream.wait();
    return true;
}

void destroy(void *data)
{
    delete static_cast<work *>(data);
}

/* Builds a way of what `make` puts into the work; false where oneDNN has no such primitive. */
template <typename F> bool build(const char *name, bench_way *way, F make)
{
    try {
        auto w = std::make_unique<work>();
        make(*w);
        *way = bench_way{name, call, true, w.release(), destroy};
        return true;
    } catch (const dnnl::error &error) {
        if (error.status != dnnl_unimplemented)
            std::fprintf(stderr, "tenon-bench: oneDNN: %s\n", error.what());
        return false;
    }
}

dnnl::matmul::primitive_desc describe_product(work &w, const memory::desc &a, const memory::desc &b,
                                              const memory::desc &d)
{
#if DNNL_VERSION_MAJOR < 3
    return {dnnl::matmul::desc(a, b, d), w.engine};
#else
    return {w.engine, a, b, d};
#endif
}

dnnl::convolution_forward::primitive_desc describe_conv(work &w, const bench_conv *c,
                                                        const memory::desc &x,
                                                        const memory::desc &f,
                                                        const memory::desc &y)
{
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto algorithm = dnnl::algorithm::convolution_auto;
    const dims stride = {c->stride, c->stride}, pad = {c->pad, c->pad};
#if DNNL_VERSION_MAJOR < 3
    return {{kind, algorithm, x, f, y, stride, pad, pad}, w.engine};
#else
    return {w.engine, kind, algorithm, x, f, y, stride, pad, pad};
#endif
}

dnnl::eltwise_forward::primitive_desc describe_map(work &w, dnnl::algorithm algorithm,
                                                   const memory::desc &x)
{
    const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR < 3
    return {{kind, algorithm, x, 0.0F, 0.0F}, w.engine};
#else
    return {w.engine, kind, algorithm, x, x, 0.0F, 0.0F};
#endif
}

bool algorithm_of(tenon_activation_kind kind, dnnl::algorithm *algorithm)
{
    switch (kind) {
    case TENON_ACTIVATION_RELU:
        *algorithm = dnnl::algorithm::eltwise_relu;
        return true;
    case TENON_ACTIVATION_TANH:
        *algorithm = dnnl::algorithm::eltwise_tanh;
        return true;
    case TENON_ACTIVATION_SIGMOID:
        *algorithm = dnnl::algorithm::eltwise_logistic;
        return true;
    case TENON_ACTIVATION_GELU:
        *algorithm = dnnl::algorithm::eltwise_gelu_erf;
        return true;
    case TENON_ACTIVATION_GELU_TANH:
        *algorithm = dnnl::algorithm::eltwise_gelu_tanh;
        return true;
    default:
        return false;
    }
}

} // namespace

extern "C" bool bench_onednn_gemm(const bench_gemm *g, bool blocked, bench_way *way)
{
    memory::data_type type;
    if (!type_of(g->dtype, &type))
        return false;
    return build(blocked ? "onednn-blocked" : "onednn", way, [&](work &w) {
        const dims a_shape = {g->m, g->k}, b_shape = {g->k, g->n}, d_shape = {g->m, g->n};
        const dims a = g->a_transposed ? dims{1, g->m} : dims{g->k, 1};
        const dims b = g->b_transposed ? dims{1, g->k} : dims{g->n, 1};
        const dims d = {g->n, 1};
        const memory::desc weights = blocked ? memory::desc(b_shape, type, memory::format_tag::any)
                                             : memory::desc(b_shape, type, b);
        const auto p = describe_product(w, memory::desc(a_shape, type, a), weights,
                                        memory::desc(d_shape, type, d));
        w.primitive = dnnl::matmul(p);
        give(w, g->operands,
             {{DNNL_ARG_SRC, g->a, as_values(a_shape, a), p.src_desc()},
              {DNNL_ARG_WEIGHTS, g->b, as_values(b_shape, b), p.weights_desc()},
              {DNNL_ARG_DST, g->d, as_values(d_shape, d), p.dst_desc()}});
    });
}

extern "C" bool bench_onednn_conv(const bench_conv *c, bool blocked, bench_way *way)
{
    memory::data_type type;
    if (!type_of(c->dtype, &type))
        return false;
    return build(blocked ? "onednn-blocked" : "onednn", way, [&](work &w) {
        const int64_t inner = c->c / c->groups, outer = c->k / c->groups, taps = c->r * c->s;
        const dims x_shape = {c->n, c->c, c->h, c->w}, y_shape = {c->n, c->k, c->p, c->q};
        const dims x = {c->c * c->h * c->w, c->h * c->w, c->w, 1};
        const dims y = {c->k * c->p * c->q, c->p * c->q, c->q, 1};
        const dims f_shape = c->groups > 1 ? dims{c->groups, outer, inner, c->r, c->s}
                                           : dims{c->k, inner, c->r, c->s};
        const dims f = c->groups > 1 ? dims{outer * inner * taps, inner * taps, taps, c->s, 1}
                                     : dims{inner * taps, taps, c->s, 1};
        const auto layout = [&](const dims &shape, const dims &plain) {
            return blocked ? memory::desc(shape, type, memory::format_tag::any)
                           : memory::desc(shape, type, plain);
        };
        /* Weights may be laid out in advance in either case: they are the same in every call. */
        const auto p =
            describe_conv(w, c, layout(x_shape, x),
                          memory::desc(f_shape, type, memory::format_tag::any), layout(y_shape, y));
        w.primitive = dnnl::convolution_forward(p);
        give(w, c->operands,
             {{DNNL_ARG_SRC, c->x, as_values(x_shape, x), p.src_desc()},
              {DNNL_ARG_WEIGHTS, c->filter, as_values(f_shape, f), p.weights_desc()},
              {DNNL_ARG_DST, c->y, as_values(y_shape, y), p.dst_desc()}});
    });
}

extern "C" bool bench_onednn_map(const bench_map *m, bench_way *way)
{
    memory::data_type type;
    dnnl::algorithm algorithm;
    if (!type_of(m->dtype, &type) || !algorithm_of(m->kind, &algorithm))
        return false;
    return build("onednn", way, [&](work &w) {
        const dims shape = {m->elements}, stride = {1};
        const memory::desc x(shape, type, stride);
        w.primitive = dnnl::eltwise_forward(describe_map(w, algorithm, x));
        give(w, m->operands,
             {{DNNL_ARG_SRC, m->x, as_values(shape, stride), x},
              {DNNL_ARG_DST, m->y, as_values(shape, stride), x}});
    });
}
