/* The peers. Each function sets up the peer for a case, with weights in the peer's preferred layout
 * if that is requested. The way has the name of the peer. Returns false if the peer is not built in
 * or does not support the case. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "networks/model.h"
#include "operands.h"
#include "shapes/shapes.h"

/* A matrix product with operands a, b and d. */
typedef struct bench_gemm {
    bench_gemm_shape shape;
    tenon_dtype dtype;
    const bench_operands *operands;
    uint32_t a, b, d; /* operand numbers */
} bench_gemm;

typedef enum bench_conv_direction {
    BENCH_CONV_FORWARD,
    BENCH_CONV_BACKWARD_DATA,  /* from y and the filters to x: the gradient of the images */
    BENCH_CONV_BACKWARD_FILTER /* from x and y to the filters: the gradient of the filters */
} bench_conv_direction;

/* A two-dimensional convolution or one of its gradients: images N C H W, filters K C/groups R S,
 * output P Q. */
typedef struct bench_conv {
    bench_conv_direction direction;
    bench_conv_shape shape;
    int64_t p, q;
    tenon_dtype dtype;
    const bench_operands *operands;
    uint32_t x, filter, y;
    bool channels_last; /* images are stored as N H W C and N P Q K */
} bench_conv;

/* An element-wise function y = f(x). Operands x, y. */
typedef struct bench_map {
    tenon_activation_kind kind;
    int64_t elements;
    tenon_dtype dtype;
    const bench_operands *operands;
    uint32_t x, y;
} bench_map;

/* A recurrent layer in one direction with as many inputs as hidden units: an LSTM, or a GRU that
 * resets after the product. Operands x, w, r, bias (absent for a GRU), the initial h and c,
 * and y. */
typedef struct bench_rnn {
    bool is_gru;
    int64_t steps, batch, hidden;
    tenon_dtype dtype;
    const bench_operands *operands;
} bench_rnn;
/* A call of a suite of calls, for libraries that have the same. Views are dense and row-major. */
typedef struct bench_call_operand {
    const char *name;
    tenon_tensor host, device; /* the host's memory is of kind SVM */
    bool is_output;
} bench_call_operand;
typedef struct bench_call {
    const char *name;  /* of the case, without a size */
    const char *numpy; /* as a statement of NumPy; several, separated by " | ", are alternatives */
    bool by_rows;      /* the rows of the operands may be computed by several threads */
    bench_call_operand operand[BENCH_MAX_OPERANDS];
    uint32_t count;
} bench_call;

bool bench_openblas_gemm(const bench_gemm *gemm, bench_way *way);
bool bench_clblast_gemm(const bench_gemm *gemm, bench_way *way);
/* Peers on the GPU that is the session's device; f32 without TF32. */
bool bench_cublas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way);
bool bench_rocblas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way);
bool bench_cudnn_conv(const bench_session *session, const bench_conv *conv, bench_way *way);
/* Gives the peer clblast-tuned the results of CLBlast's tuners for a device, from the JSON files in
 * the folder. */
bool bench_clblast_tune(cl_device_id device, const char *folder);
/* Set up oneDNN with the fastest of its algorithms, by measurement. `blocked`: the library chooses
 * the layouts of weights, and of images, which are also reordered outside the measured time. */
bool bench_onednn_gemm(const bench_gemm *gemm, bool blocked, bench_way *way);
bool bench_onednn_conv(const bench_conv *conv, bool blocked, bench_way *way);
bool bench_onednn_map(const bench_map *map, bench_way *way);
bool bench_onednn_rnn(const bench_rnn *rnn, bench_way *way);
/* Set up a call by its name. The operands outlive the way. */
bool bench_onednn_call(const bench_call *call, bench_way *way);
bool bench_boost_call(const bench_call *call, bench_way *way);
/* Runs a call in NumPy by a command (program.h), with one thread or one per processor. */
bool bench_numpy_call(const char *command, const bench_call *call, bench_way *way);
/* A convolution of u8 images N H W C and i8 filters K C R S to i32, in its operands x, w and y. */
bool bench_onednn_conv_int8(const bench_conv_shape *shape, const bench_call *call, bench_way *way);
/* Sets up a network with the weights and the input of a model, which outlives it, and compares its
 * result with Tenon's on the stream. The library's version becomes the way's algorithm. */
bool bench_onednn_network(bench_model *model, tenon_stream *stream, bench_way *way);

/* Returns the next way of a case, with the name of the peer in an edition (editions.h) and the
 * number of the edition; NULL if there is no such peer or it is not requested. */
bench_way *bench_peer_begin(const bench_session *session, bench_case *bench, const char *peer,
                            int edition);

/* Adds a peer to a case, in each of its editions that is requested and supports the case. */
#define BENCH_ADD_PEER(session, bench, peer, call)                                                 \
    for (int bench_edition = 0; bench_edition < 2; bench_edition++) {                              \
        bench_way *bench_way_at = bench_peer_begin(session, bench, peer, bench_edition);           \
        if (bench_way_at != NULL && call)                                                          \
            (bench)->peer_count++;                                                                 \
    }

#endif
