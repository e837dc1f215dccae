/* What oneDNN's peers share, in its C++ interface, which frees what it makes. Images and weights
 * are brought into the layouts that a primitive wants before anything is timed. */
#ifndef BENCH_PEERS_ONEDNN_HPP
#define BENCH_PEERS_ONEDNN_HPP

extern "C" {
#include "peers.h"
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

/* What is run, with its arguments for each copy of the operands. */
struct work {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    dnnl::primitive primitive;
    std::vector<std::unordered_map<int, memory>> arguments;
    std::function<void(int)> instead; /* of the primitive, by turns */
};

/* An argument: an operand of the case as it lies in memory, and the layout that is wanted. */
struct argument {
    int name;
    uint32_t operand;
    memory::desc plain, wanted;
};

/* The operands' values are kept as f32; a 16-bit primitive gets them rounded. */
memory::desc as_values(const dims &shape, const dims &strides);

/* False where oneDNN's processors do not compute in the type. */
bool type_of(tenon_dtype dtype, memory::data_type *type);

void give(work &w, const bench_operands *operands, const std::vector<argument> &arguments);

/* One of several algorithms: fills in the work, or throws what oneDNN throws. */
struct candidate {
    const char *algorithm;
    std::function<void(work &)> make;
};

/* The way with the fastest of the candidates; false where oneDNN has none of them. */
bool build(const char *name, bench_way *way, const std::vector<candidate> &candidates);

} // namespace onednn

#endif
