/* Networks in oneDNN. Weights are reordered to the layouts that the primitives choose before
 * anything is timed. An image keeps the layout in which a primitive wrote it; a reorder precedes
 * only a primitive that requires another one. */
#include "onednn_layers.hpp"

extern "C" {
#include "absent.h"
}

#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace onednn;

using desc = memory::desc;
using arguments = std::unordered_map<int, memory>;

/* The largest accepted difference from Tenon's result, relative to its largest element: for
 * rounding errors of f32 over all layers, and those of Winograd's algorithm. */
static const double tolerance = 1e-4;

namespace
{

/* A primitive to run. */
struct step {
    dnnl::primitive primitive;
    arguments with;
};

/* An image in one layout. `buffer` is the number of a shared buffer, -1: memory of its own. */
struct placed {
    memory values;
    int buffer;
};

/* Memory that several images use one after another. */
struct buffer {
    memory bytes;
    size_t size;
    bool is_free;
};

struct network {
    const bench_model *model;
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    std::vector<step> steps;
    std::vector<buffer> buffers;
    std::vector<std::vector<placed>> images; /* each in all layouts so far, the first one first */
    std::vector<uint32_t> last;              /* the last layer that reads each image */
    memory result;
};

} // namespace

/* Returns the number of the smallest free buffer that is large enough, or of a new one. */
static int take_buffer(network &n, size_t size)
{
    int best = -1;
    for (int b = 0; b < (int)n.buffers.size(); b++)
        if (n.buffers[b].is_free && n.buffers[b].size >= size &&
            (best < 0 || n.buffers[b].size < n.buffers[best].size))
            best = b;
    if (best < 0) {
        best = (int)n.buffers.size();
        const desc bytes({(int64_t)size}, memory::data_type::u8, memory::format_tag::a);
        n.buffers.push_back({memory(bytes, n.engine), size, true});
    }
    n.buffers[best].is_free = false;
    return best;
}

static placed place(network &n, const desc &layout)
{
    const int number = take_buffer(n, layout.get_size());
    return {memory(layout, n.engine, n.buffers[number].bytes.get_data_handle()), number};
}

/* Returns values of the host in another layout, in memory of their own. */
static memory constant(network &n, const desc &stored, float *values, const desc &layout)
{
    memory source(stored, n.engine, values), target(layout, n.engine);
    dnnl::reorder(source, target).execute(n.stream, source, target);
    n.stream.wait();
    return target;
}

static void add_reorder(network &n, const memory &from, const memory &to)
{
    n.steps.push_back({dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}});
}

/* Returns true if a layout has no padding and the image only one pixel: all such layouts are the
 * same, though their strides may differ. */
static bool is_pixel(const desc &layout, const dims &shape)
{
    return shape[2] * shape[3] == 1 &&
           layout.get_size() == (size_t)(shape[0] * shape[1]) * sizeof(float);
}

/* Returns an image in a layout, after a reorder if it has none. The input of the network is
 * reordered before the measurement, because the caller may store it in any layout. */
static placed &read(network &n, uint32_t image, const desc &layout)
{
    std::vector<placed> &in = n.images[image];
    for (placed &p : in)
        if (p.values.get_desc() == layout)
            return p;
    const dims shape = image_shape(n.model, image);
    if (image == 0) {
        in.push_back({constant(n, channels_last(shape), n.model->input, layout), -1});
    } else if (is_pixel(layout, shape) && is_pixel(in.front().values.get_desc(), shape)) {
        void *values = in.front().values.get_data_handle();
        in.push_back({memory(layout, n.engine, values), in.front().buffer});
    } else {
        in.push_back(place(n, layout));
        add_reorder(n, in.front().values, in.back().values);
    }
    return in.back();
}

/* Returns the layout in which an image was written. */
static desc layout_of(network &n, uint32_t image)
{
    return n.images[image].empty() ? channels_last(image_shape(n.model, image))
                                   : n.images[image].front().values.get_desc();
}

/* Returns memory for the result of a layer that adds an image to it, with the values of the image:
 * its own memory if no later layer reads it, or a copy. */
static placed write_over(network &n, uint32_t number, const desc &layout)
{
    const bench_layer &l = n.model->network.layers[number];
    const auto other = (uint32_t)l.other;
    if (other != 0 && other != l.x && n.last[other] == number) {
        const placed taken = read(n, other, layout);
        for (placed &p : n.images[other])
            p.buffer = p.buffer == taken.buffer ? -1 : p.buffer; /* not released with the image */
        return taken;
    }
    const memory source = read(n, other, layout_of(n, other)).values;
    const placed copy = place(n, layout);
    add_reorder(n, source, copy.values);
    return copy;
}

/* Releases the buffers of images that no later layer reads. */
static void release(network &n, uint32_t number)
{
    for (size_t image = 0; image < n.images.size(); image++)
        for (const placed &p : n.images[image])
            if (n.last[image] == number && p.buffer >= 0)
                n.buffers[p.buffer].is_free = true;
}

static memory zeros(const network &n, const desc &layout)
{
    memory made(layout, n.engine);
    std::memset(made.get_data_handle(), 0, layout.get_size());
    return made;
}

/* Returns the seconds of a candidate, with the reorder of the image that it reads. */
static double measure(network &n, const node &candidate, uint32_t image)
{
    arguments with;
    for (const auto &a : candidate.layouts)
        with.emplace(a.first, zeros(n, a.second));
    memory &to = with.at(DNNL_ARG_SRC), from = zeros(n, layout_of(n, image));
    dnnl::reorder reorder(from, to);
    const bool reorders = image != 0 && from.get_desc() != to.get_desc();
    return seconds_of([&](int) {
        if (reorders)
            reorder.execute(n.stream, from, to);
        candidate.primitive.execute(n.stream, with);
        n.stream.wait();
    });
}

/* Returns the fastest of the candidates, by measurement if there are several. */
static node fastest_of(network &n, const std::vector<node> &candidates, uint32_t image)
{
    size_t best = 0;
    double least = 0;
    if (candidates.empty())
        throw dnnl::error(dnnl_unimplemented, "no primitive for a layer");
    for (size_t i = 0; candidates.size() > 1 && i < candidates.size(); i++) {
        const double seconds = measure(n, candidates[i], image);
        if (i == 0 || seconds < least) {
            best = i;
            least = seconds;
        }
    }
    return candidates[best];
}

/* Returns the result of a fully connected layer, a matrix, as images of one pixel. */
static placed as_image(const network &n, uint32_t image, const placed &matrix)
{
    const desc pixels = channels_last(image_shape(n.model, image));
    return {memory(pixels, n.engine, matrix.values.get_data_handle()), matrix.buffer};
}

static void add_layer(network &n, uint32_t number)
{
    const bench_layer &l = n.model->network.layers[number];
    const bench_model_layer &m = n.model->layers[number];
    const bool is_filtered = bench_layer_is_conv(&l);
    const desc x = layout_of(n, l.x);
    const node chosen = fastest_of(n, layer_candidates(n.model, n.engine, l, x), l.x);
    const auto wanted = [&](int argument) { return chosen.layouts.at(argument); };
    arguments with = {{DNNL_ARG_SRC, read(n, l.x, wanted(DNNL_ARG_SRC)).values}};
    if (is_filtered) {
        const desc bias = wanted(DNNL_ARG_BIAS);
        with.emplace(DNNL_ARG_WEIGHTS,
                     constant(n, stored_filters(n.model, l), m.w, wanted(DNNL_ARG_WEIGHTS)));
        with.emplace(DNNL_ARG_BIAS, constant(n, bias, m.bias, bias));
    } else if (l.kind == BENCH_LAYER_SCALING) {
        with.emplace(DNNL_ARG_SRC_1, read(n, (uint32_t)l.other, wanted(DNNL_ARG_SRC_1)).values);
    }
    const desc y = wanted(DNNL_ARG_DST);
    const placed result = is_filtered && l.other >= 0 ? write_over(n, number, y) : place(n, y);
    with.emplace(DNNL_ARG_DST, result.values);
    n.steps.push_back({chosen.primitive, with});
    n.images[l.y].push_back(l.kind == BENCH_LAYER_CONNECTED ? as_image(n, l.y, result) : result);
    release(n, number);
}

static void build_network(network &n)
{
    const bench_network &all = n.model->network;
    n.images.resize(all.layer_count + 1);
    n.last.assign(all.layer_count + 1, all.layer_count);
    for (uint32_t i = 0; i < all.layer_count; i++) {
        n.last[all.layers[i].x] = i;
        if (all.layers[i].other >= 0)
            n.last[all.layers[i].other] = i;
    }
    for (uint32_t i = 0; i < all.layer_count; i++)
        add_layer(n, i);
    n.result =
        read(n, all.layer_count, channels_last(image_shape(n.model, all.layer_count))).values;
}

static void run(network &n)
{
    for (const step &s : n.steps)
        s.primitive.execute(n.stream, s.with);
    n.stream.wait();
}

/* Compares the result with Tenon's. Returns false, and notes the reason, if they differ. */
static bool agrees(const network &n, const float *wanted, const char *name)
{
    const auto *got = static_cast<const float *>(n.result.get_data_handle());
    const size_t count = n.result.get_desc().get_size() / sizeof *got;
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = std::fmax(largest, std::fabs((double)wanted[i]));
    for (size_t i = 0; i < count; i++)
        if (!(std::fabs((double)got[i] - (double)wanted[i]) <= tolerance * largest)) {
            bench_leave_out(name, "wrong result: %.9g instead of %.9g", (double)got[i],
                            (double)wanted[i]);
            return false;
        }
    return true;
}

bool onednn::network_peer(bench_model *model, tenon_stream *stream, bench_way *way)
{
    const auto n = std::make_shared<network>();
    n->model = model;
    const candidate only = {onednn::version(), [n](work &w) {
                                build_network(*n);
                                w.instead = [n](int) { run(*n); };
                            }};
    float *wanted = nullptr;
    if (!build(way, {only}))
        return false;
    run(*n);
    const bool well = bench_model_result(model, stream, &wanted) && agrees(*n, wanted, way->name);
    std::free(wanted);
    if (!well)
        way->destroy(way->data);
    return well;
}
