/* The layers of a network as primitives of oneDNN, which choose the layouts. */
#ifndef BENCH_PEERS_ONEDNN_LAYERS_HPP
#define BENCH_PEERS_ONEDNN_LAYERS_HPP

#include "onednn.hpp"

#include <map>

namespace onednn
{

/* A primitive and the layouts of its arguments. */
struct node {
    dnnl::primitive primitive;
    std::map<int, memory::desc> layouts;
};

/* Returns N C H W of an image. */
dims image_shape(const bench_model *model, uint32_t image);

/* Describes an image whose channels are stored last. */
memory::desc channels_last(const dims &shape);

/* Describes the filters of a layer as they are stored on the host. */
memory::desc stored_filters(const bench_model *model, const bench_layer &layer);

/* Returns the primitives that can compute a layer. `x` is the current layout of the image that it
 * reads; only convolutions and fully connected layers choose another one. */
std::vector<node> layer_candidates(const bench_model *model, const dnnl::engine &engine,
                                   const bench_layer &layer, const memory::desc &x);

} // namespace onednn

#endif
