/* Calls in Boost.Compute, on the same device and queue and in the same buffers. */
extern "C" {
#include "absent.h"
#include "peers.h"
}

#include <boost/compute/algorithm/copy.hpp>
#include <boost/compute/algorithm/copy_if.hpp>
#include <boost/compute/algorithm/exclusive_scan.hpp>
#include <boost/compute/algorithm/gather.hpp>
#include <boost/compute/algorithm/inclusive_scan.hpp>
#include <boost/compute/algorithm/iota.hpp>
#include <boost/compute/algorithm/max_element.hpp>
#include <boost/compute/algorithm/reduce.hpp>
#include <boost/compute/algorithm/scatter.hpp>
#include <boost/compute/algorithm/sort.hpp>
#include <boost/compute/algorithm/sort_by_key.hpp>
#include <boost/compute/algorithm/transform.hpp>
#include <boost/compute/functional/math.hpp>
#include <boost/compute/iterator/buffer_iterator.hpp>
#include <boost/compute/lambda.hpp>
#include <boost/compute/random/threefry_engine.hpp>
#include <boost/compute/random/uniform_real_distribution.hpp>
#include <boost/version.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace
{

namespace compute = boost::compute;

/* A call in progress: its operands and the queue. */
struct run {
    const bench_call &call;
    compute::command_queue &queue;
    compute::threefry_engine<> *engine; /* created when it is first needed */

    template <typename type> compute::buffer_iterator<type> begin(const char *name) const
    {
        for (uint32_t i = 0; i < call.count; i++)
            if (std::string(name) == call.operand[i].name)
                return {compute::buffer(call.operand[i].device.memory.u.buffer), 0};
        throw std::runtime_error(std::string("no operand ") + name);
    }

    template <typename type> compute::buffer_iterator<type> end(const char *name) const
    {
        return begin<type>(name) + elements(name);
    }

    std::ptrdiff_t elements(const char *name) const
    {
        for (uint32_t i = 0; i < call.count; i++)
            if (std::string(name) == call.operand[i].name)
                return tenon_tensor_elements(&call.operand[i].device);
        return 0;
    }
};

template <typename type> void sort(const run &r)
{
    compute::copy(r.begin<type>("x"), r.end<type>("x"), r.begin<type>("y"), r.queue);
    compute::sort(r.begin<type>("y"), r.end<type>("y"), r.queue);
}

void argsort(const run &r)
{
    compute::copy(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"), r.queue);
    compute::iota(r.begin<int>("indices"), r.end<int>("indices"), 0, r.queue);
    compute::sort_by_key(r.begin<float>("y"), r.end<float>("y"), r.begin<int>("indices"), r.queue);
}

template <typename function> std::function<void(const run &)> map(function f)
{
    return [f](const run &r) {
        compute::transform(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"), f, r.queue);
    };
}

template <typename function> std::function<void(const run &)> map2(function f)
{
    return [f](const run &r) {
        compute::transform(r.begin<float>("a"), r.end<float>("a"), r.begin<float>("b"),
                           r.begin<float>("d"), f, r.queue);
    };
}

template <typename function> std::function<void(const run &)> reduction(function f)
{
    return [f](const run &r) {
        compute::reduce(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"), f, r.queue);
    };
}

void draw(const run &r)
{
    compute::uniform_real_distribution<float> distribution(0, 1);
    distribution.generate(r.begin<float>("y"), r.end<float>("y"), *r.engine, r.queue);
}

/* The calls by name. Those of f32, except for "i32" in the name. */
const struct {
    const char *name;
    std::function<void(const run &)> function;
} known[] = {
    {"copy",
     [](const run &r) {
         compute::copy(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"), r.queue);
     }},
    {"abs", map(compute::fabs<float>())},
    {"sqrt", map(compute::sqrt<float>())},
    {"round", map(compute::rint<float>())},
    {"exp", map(compute::exp<float>())},
    {"log", map(compute::log<float>())},
    {"sin", map(compute::sin<float>())},
    {"tanh", map(compute::tanh<float>())},
    {"atan", map(compute::atan<float>())},
    {"erf", map(compute::erf<float>())},
    {"pow", map2(compute::pow<float>())},
    {"fmod", map2(compute::fmod<float>())},
    {"sum", reduction(compute::plus<float>())},
    {"max", reduction(compute::max<float>())},
    {"argmax",
     [](const run &r) { compute::max_element(r.begin<float>("x"), r.end<float>("x"), r.queue); }},
    {"gather",
     [](const run &r) {
         compute::gather(r.begin<int>("indices"), r.end<int>("indices"), r.begin<float>("x"),
                         r.begin<float>("y"), r.queue);
     }},
    {"scatter",
     [](const run &r) {
         compute::scatter(r.begin<float>("updates"), r.end<float>("updates"),
                          r.begin<int>("indices"), r.begin<float>("y"), r.queue);
     }},
    {"scan",
     [](const run &r) {
         compute::inclusive_scan(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"),
                                 r.queue);
     }},
    {"scan exclusive",
     [](const run &r) {
         compute::exclusive_scan(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"), 0.0F,
                                 r.queue);
     }},
    {"scan max",
     [](const run &r) {
         compute::inclusive_scan(r.begin<float>("x"), r.end<float>("x"), r.begin<float>("y"),
                                 compute::max<float>(), r.queue);
     }},
    {"sort", sort<float>},
    {"sort i32", sort<int>},
    {"argsort", argsort},
    {"uniform", draw},
};

/* The engine is that of a way, whose queue is the session's. */
struct work {
    const bench_call *call;
    std::function<void(const run &)> function;
    std::unique_ptr<compute::threefry_engine<>> engine;
};

extern "C" bool call(void *data, tenon_stream *stream, int)
{
    auto *w = static_cast<work *>(data);
    try {
        compute::command_queue queue(tenon_stream_cl(stream));
        if (!w->engine && std::string(w->call->name) == "uniform")
            w->engine = std::make_unique<compute::threefry_engine<>>(queue);
        w->function({*w->call, queue, w->engine.get()});
        return true;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "tenon-bench: Boost.Compute: %s: %s\n", w->call->name, error.what());
        return false;
    }
}

extern "C" void destroy(void *data)
{
    delete static_cast<work *>(data);
}

} // namespace

extern "C" bool bench_boost_call(const bench_call *c, bench_way *way)
{
    const tenon_dtype wanted =
        std::string(c->name).find("i32") != std::string::npos ? TENON_DTYPE_I32 : TENON_DTYPE_F32;
    for (const auto &k : known)
        if (c->operand[0].host.dtype == wanted && std::string(k.name) == c->name) {
            std::string version = BOOST_LIB_VERSION; /* such as 1_74 */
            std::replace(version.begin(), version.end(), '_', '.');
            bench_note_version("boost-compute", version.c_str());
            *way = bench_way{"boost-compute", call,    false,   new work{c, k.function, nullptr},
                             destroy,         nullptr, nullptr, way->edition};
            return true;
        }
    return false;
}
