#include "onednn.hpp"

extern "C" {
#include "../environment.h"
#include "../timing.h"
}

#include <cstdio>
#include <string>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace onednn
{

bool type_of(tenon_dtype dtype, memory::data_type *type)
{
    *type = dtype == TENON_DTYPE_BF16 ? memory::data_type::bf16 : memory::data_type::f32;
    return dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_BF16;
}

memory::desc as_values(const dims &shape, const dims &strides)
{
    return memory::desc(shape, memory::data_type::f32, strides);
}

static memory fill(work &w, const argument &a, float *values, bool is_output)
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

static void run(work &w, int turn)
{
    if (w.instead) {
        w.instead(turn);
        return;
    }
    w.primitive.execute(w.stream, w.arguments[(size_t)turn % w.arguments.size()]);
    w.stream.wait();
}

extern "C" {
static bool call(void *data, tenon_stream *, int turn)
{
    run(*static_cast<work *>(data), turn);
    return true;
}

static void destroy(void *data)
{
    delete static_cast<work *>(data);
}
}

double seconds_of(const std::function<void(int)> &run)
{
    double least = 1e9, end = 0;
    run(0);
    end = bench_now() + 0.01;
    for (int turn = 1; turn < 4 || bench_now() < end; turn++) {
        double start = bench_now();
        run(turn);
        double seconds = bench_now() - start;
        least = seconds < least ? seconds : least;
    }
    return least;
}

/* Makes the work of a candidate; none if oneDNN has no such primitive. */
static std::unique_ptr<work> make(const candidate &c)
{
    try {
        auto w = std::make_unique<work>();
        c.make(*w);
        return w;
    } catch (const dnnl::error &error) {
        if (error.status != dnnl_unimplemented)
            std::fprintf(stderr, "tenon-bench: oneDNN: %s\n", error.what());
        return nullptr;
    }
}

/* Pins the library's threads, which are the OpenMP threads of the caller. */
static void pin_threads()
{
#ifdef _OPENMP
#pragma omp parallel
    bench_pin(omp_get_thread_num());
#endif
    bench_pin(0);
}

bool build(bench_way *way, const std::vector<candidate> &candidates)
{
    std::unique_ptr<work> best;
    double least = 0;
    *way = bench_way{way->name, call, true, nullptr, destroy, nullptr, nullptr, way->edition};
    pin_threads();
    for (const candidate &c : candidates) {
        std::unique_ptr<work> w = make(c);
        if (!w)
            continue;
        double seconds = candidates.size() > 1 ? seconds_of([&](int turn) { run(*w, turn); }) : 0;
        if (!best || seconds < least) {
            best = std::move(w);
            least = seconds;
            way->algorithm = c.algorithm;
        }
    }
    bench_pin(-1);
    way->data = best.release();
    return way->data != nullptr;
}

} // namespace onednn

using namespace onednn;

extern "C" const bench_onednn_library bench_onednn_linked = {
    version, gemm_peer, conv_peer, map_peer, rnn_peer, call_peer, conv_int8_peer, network_peer};

const char *onednn::version()
{
    static const dnnl_version_t *v = dnnl_version();
    static const std::string version =
        std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
    return version.c_str();
}

static dnnl::matmul::primitive_desc describe_product(work &w, const memory::desc &a,
                                                     const memory::desc &b, const memory::desc &d)
{
#if DNNL_VERSION_MAJOR < 3
    return {dnnl::matmul::desc(a, b, d), w.engine};
#else
    return {w.engine, a, b, d};
#endif
}

/* Returns the dimensions, with the batch as an additional dimension if there is one. */
static dims batched(const bench_gemm_shape &s, int64_t of_batch, int64_t first, int64_t second)
{
    return s.batch > 1 ? dims{of_batch, first, second} : dims{first, second};
}

static void make_product(work &w, const bench_gemm *g, bool blocked, memory::data_type type)
{
    const bench_gemm_shape &s = g->shape;
    const dims a_shape = batched(s, s.batch, s.m, s.k), b_shape = batched(s, s.batch, s.k, s.n),
               d_shape = batched(s, s.batch, s.m, s.n);
    const dims a = s.a_transposed ? batched(s, s.m * s.k, 1, s.m) : batched(s, s.m * s.k, s.k, 1);
    const dims b = s.b_transposed ? batched(s, s.k * s.n, 1, s.k) : batched(s, s.k * s.n, s.n, 1);
    const dims d = batched(s, s.m * s.n, s.n, 1);
    const memory::desc weights = blocked ? memory::desc(b_shape, type, memory::format_tag::any)
                                         : memory::desc(b_shape, type, b);
    const auto p = describe_product(w, memory::desc(a_shape, type, a), weights,
                                    memory::desc(d_shape, type, d));
    w.primitive = dnnl::matmul(p);
    give(w, g->operands,
         {{DNNL_ARG_SRC, g->a, as_values(a_shape, a), p.src_desc()},
          {DNNL_ARG_WEIGHTS, g->b, as_values(b_shape, b), p.weights_desc()},
          {DNNL_ARG_DST, g->d, as_values(d_shape, d), p.dst_desc()}});
}

/* Uses the library's BLAS routine, an alternative to its primitives. */
static void make_sgemm(work &w, const bench_gemm *g)
{
    w.instead = [g](int turn) {
        const bench_gemm_shape &s = g->shape;
        const int copy = turn % g->operands->copies;
        const bench_operand *o = g->operands->operand;
        for (int64_t z = 0; z < s.batch; z++)
            dnnl::sgemm(s.a_transposed ? 'T' : 'N', s.b_transposed ? 'T' : 'N', s.m, s.n, s.k, 1,
                        o[g->a].values[copy] + z * s.m * s.k, s.a_transposed ? s.m : s.k,
                        o[g->b].values[copy] + z * s.k * s.n, s.b_transposed ? s.k : s.n, 0,
                        o[g->d].values[copy] + z * s.m * s.n, s.n);
    };
}

bool onednn::gemm_peer(const bench_gemm *g, bool blocked, bench_way *way)
{
    memory::data_type type;
    if (!type_of(g->dtype, &type))
        return false;
    std::vector<candidate> candidates = {
        {"matmul", [=](work &w) { make_product(w, g, blocked, type); }}};
    if (!blocked && g->dtype == TENON_DTYPE_F32)
        candidates.push_back({"sgemm", [=](work &w) { make_sgemm(w, g); }});
    return build(way, candidates);
}

static dnnl::eltwise_forward::primitive_desc describe_map(work &w, dnnl::algorithm algorithm,
                                                          const memory::desc &x)
{
    const auto kind = dnnl::prop_kind::forward_inference;
#if DNNL_VERSION_MAJOR < 3
    return {{kind, algorithm, x, 0.0F, 0.0F}, w.engine};
#else
    return {w.engine, kind, algorithm, x, x, 0.0F, 0.0F};
#endif
}

static bool algorithm_of(tenon_activation_kind kind, dnnl::algorithm *algorithm)
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

static void make_map(work &w, const bench_map *m, dnnl::algorithm algorithm, memory::data_type type)
{
    const dims shape = {m->elements}, stride = {1};
    const memory::desc x(shape, type, stride);
    w.primitive = dnnl::eltwise_forward(describe_map(w, algorithm, x));
    give(w, m->operands,
         {{DNNL_ARG_SRC, m->x, as_values(shape, stride), x},
          {DNNL_ARG_DST, m->y, as_values(shape, stride), x}});
}

bool onednn::map_peer(const bench_map *m, bench_way *way)
{
    memory::data_type type;
    dnnl::algorithm algorithm;
    if (!type_of(m->dtype, &type) || !algorithm_of(m->kind, &algorithm))
        return false;
    return build(way, {{nullptr, [=](work &w) { make_map(w, m, algorithm, type); }}});
}
