/* Shared code of oneDNN's peers, in its C++ interface, which frees its objects. Images and weights
 * are reordered to the layouts that a primitive requires before anything is timed. */
#ifndef BENCH_PEERS_ONEDNN_HPP
#define BENCH_PEERS_ONEDNN_HPP

extern "C" {
#include "editions.h"
}

#include <functional>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace onednn
{

using dnnl::memory;
using dims = memory::dims;

/* The operation to run, with its arguments for each copy of the operands. */
struct work {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::primitive primitive;
    std::vector<std::unordered_map<int, memory>> arguments;
    std::function<void(int)>
        instead; /* if set, called instead of the primitive; the argument selects the copy */
};

/* An argument: an operand of the case as it is stored, and the layout that the primitive requires.
 */
struct argument {
    int name;
    uint32_t operand;
    memory::desc plain, wanted;
};

/* Describes values stored as f32; a 16-bit primitive gets them rounded. */
memory::desc as_values(const dims &shape, const dims &strides);

/* Returns oneDNN's type; false if oneDNN does not compute in the type on CPUs. */
bool type_of(tenon_dtype dtype, memory::data_type *type);

void give(work &w, const bench_operands *operands, const std::vector<argument> &arguments);

/* One of several algorithms: fills in the work, or throws oneDNN's exceptions. */
struct candidate {
    const char *algorithm;
    std::function<void(work &)> make;
};

/* Returns the seconds of a call: the minimum of a few, after an untimed one. The argument counts
 * the calls. */
double seconds_of(const std::function<void(int)> &run);

/* Sets up the fastest of the candidates; returns false if oneDNN supports none of them. The way
 * keeps its name. */
bool build(bench_way *way, const std::vector<candidate> &candidates);

/* oneDNN's version, and the peers of bench_onednn_library. */
const char *version();
bool gemm_peer(const bench_gemm *gemm, bool blocked, bench_way *way);
bool conv_peer(const bench_conv *conv, bool blocked, bench_way *way);
bool map_peer(const bench_map *map, bench_way *way);
bool rnn_peer(const bench_rnn *rnn, bench_way *way);
bool call_peer(const bench_call *call, bench_way *way);
bool conv_int8_peer(const bench_conv_shape *shape, const bench_call *call, bench_way *way);
bool network_peer(bench_model *model, tenon_stream *stream, bench_way *way);

} // namespace onednn

#endif
