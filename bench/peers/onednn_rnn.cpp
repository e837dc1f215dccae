/* oneDNN's recurrent layers, LSTM and GRU with linear-before-reset, with reordered weights. */
#include "onednn.hpp"

using namespace onednn;

/* Shapes, plain strides, and the layouts requested from the primitive. */
struct layer_tensors {
    dims x_shape, x, w_shape, w, bias_shape, bias, state_shape, state, y_shape, y;
    memory::desc want_x, want_w, want_bias, want_state, want_y;
};

static layer_tensors tensors_of(const bench_rnn *r, memory::data_type type)
{
    const int64_t h = r->hidden, gates = r->is_gru ? 3 : 4;
    layer_tensors t;
    t.x_shape = t.y_shape = {r->steps, r->batch, h};
    t.x = t.y = {r->batch * h, h, 1};
    t.w_shape = {1, 1, h, gates, h}; /* layer, direction, input, gate, output */
    t.w = {gates * h * h, gates * h * h, 1, h * h, h};
    t.bias_shape = {1, 1, gates, h};
    t.bias = {gates * h, gates * h, h, 1};
    t.state_shape = {1, 1, r->batch, h};
    t.state = {r->batch * h, r->batch * h, h, 1};
    t.want_state = memory::desc(t.state_shape, type, t.state);
    t.want_x = memory::desc(t.x_shape, type, t.x);
    t.want_y = memory::desc(t.y_shape, type, t.y);
    t.want_w = memory::desc(t.w_shape, type, memory::format_tag::any);
    if (!r->is_gru)
        t.want_bias = memory::desc(t.bias_shape, memory::data_type::f32, t.bias);
    return t;
}

static dnnl::lstm_forward::primitive_desc describe_lstm(const work &w, const layer_tensors &t)
{
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto direction = dnnl::rnn_direction::unidirectional_left2right;
    const memory::desc none;
#if DNNL_VERSION_MAJOR < 3
    return {{kind, direction, t.want_x, t.want_state, t.want_state, t.want_w, t.want_w, t.want_bias,
             t.want_y, none, none},
            w.engine};
#else
    return {w.engine, kind,     direction,   t.want_x, t.want_state, t.want_state,
            t.want_w, t.want_w, t.want_bias, t.want_y, none,         none};
#endif
}

static dnnl::lbr_gru_forward::primitive_desc describe_gru(const work &w, const layer_tensors &t)
{
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto direction = dnnl::rnn_direction::unidirectional_left2right;
    const memory::desc none;
#if DNNL_VERSION_MAJOR < 3
    return {{kind, direction, t.want_x, t.want_state, t.want_w, t.want_w, none, t.want_y, none},
            w.engine};
#else
    return {w.engine, kind,     direction, t.want_x, t.want_state,
            t.want_w, t.want_w, none,      t.want_y, none};
#endif
}

/* Gives the arguments of a primitive. */
template <typename description>
static void give_layer(work &w, const bench_rnn *r, const layer_tensors &t, const description &p)
{
    std::vector<argument> arguments = {
        {DNNL_ARG_SRC_LAYER, 0, as_values(t.x_shape, t.x), p.src_layer_desc()},
        {DNNL_ARG_WEIGHTS_LAYER, 1, as_values(t.w_shape, t.w), p.weights_layer_desc()},
        {DNNL_ARG_WEIGHTS_ITER, 2, as_values(t.w_shape, t.w), p.weights_iter_desc()},
        {DNNL_ARG_SRC_ITER, 4, as_values(t.state_shape, t.state), p.src_iter_desc()},
        {DNNL_ARG_DST_LAYER, 5, as_values(t.y_shape, t.y), p.dst_layer_desc()}};
    if (!r->is_gru) {
        arguments.push_back(
            {DNNL_ARG_SRC_ITER_C, 4, as_values(t.state_shape, t.state), t.want_state});
        arguments.push_back({DNNL_ARG_BIAS, 3, as_values(t.bias_shape, t.bias), p.bias_desc()});
    }
    give(w, r->operands, arguments);
}

static void make_layer(work &w, const bench_rnn *r, memory::data_type type)
{
    const layer_tensors t = tensors_of(r, type);
    if (r->is_gru) {
        const auto p = describe_gru(w, t);
        w.primitive = dnnl::lbr_gru_forward(p);
        give_layer(w, r, t, p);
    } else {
        const auto p = describe_lstm(w, t);
        w.primitive = dnnl::lstm_forward(p);
        give_layer(w, r, t, p);
    }
}

bool onednn::rnn_peer(const bench_rnn *r, bench_way *way)
{
    memory::data_type type;
    if (!type_of(r->dtype, &type))
        return false;
    return build(way, {{nullptr, [=](work &w) { make_layer(w, r, type); }}});
}
