/* A network with random weights: its plans, and the sequence of them. */
#ifndef BENCH_NETWORKS_MODEL_H
#define BENCH_NETWORKS_MODEL_H

#include "../bench.h"
#include "networks.h"

typedef struct bench_model_layer {
    float *w,
        *bias; /* dense K C R S, and K, for the reference and peers; NULL in pooling and scaling */
    tenon_tensor bias_tensor;
    tenon_packed *packed;
    tenon_plan *plan;
    tenon_conv_params conv;         /* of a convolution */
    tenon_pool_params pool;         /* of pooling */
    tenon_elementwise_params scale; /* of scaling */
} bench_model_layer;

typedef struct bench_model {
    bench_network network;
    int64_t n; /* images */
    tenon_context *context;
    tenon_sequence *sequence; /* operands "x" and "y" */
    float *input;             /* N H W C */
    double drawing;           /* seconds taken by random values */
    /* Each stored as N H W C: in the sequence, and in memory of their own, in which each layer can
     * run alone. */
    tenon_tensor placed[BENCH_MAX_LAYERS + 1], own[BENCH_MAX_LAYERS + 1];
    bench_model_layer layers[BENCH_MAX_LAYERS];
} bench_model;

/* Makes everything except own[] of intermediates. On failure the model can be destroyed. */
bool bench_model_create(bench_session *session, const bench_network *network, int64_t n,
                        bench_model *model);
void bench_model_destroy(bench_model *model);

bool bench_model_run(bench_model *model, tenon_stream *stream);

/* Runs the model and reads its result, which the caller frees. */
bool bench_model_result(bench_model *model, tenon_stream *stream, float **result);

/* Allocates own[] of the intermediates, if that is not done yet. */
bool bench_model_allocate(bench_model *model);

/* Runs one layer on own[]. */
bool bench_model_run_layer(bench_model *model, tenon_stream *stream, uint32_t number);

bool bench_layer_is_conv(const bench_layer *layer);

/* Returns an image as a layer reads it: one pixel for a fully connected layer. */
tenon_tensor bench_layer_input(const bench_layer *layer, tenon_tensor image);

double bench_model_operations(const bench_model *model);

/* Compares parts of the results of all layers with the references, each with the layer's actual
 * input. */
bool bench_model_verify(bench_model *model, tenon_stream *stream, double *error_over_bound,
                        char why[256]);

/* Measures the nanoseconds of all layers of each kind. Each layer is timed alone, with the images
 * in memory of their own. */
bool bench_model_shares(bench_model *model, tenon_stream *stream,
                        double nanoseconds[BENCH_LAYER_KINDS]);

#endif
