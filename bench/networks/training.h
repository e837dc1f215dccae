/* A training step of a network as one sequence: forward, the gradients of all parameters, and their
 * update. Images have their channels last; batch norm, in training mode, follows each convolution
 * except the fully connected one. */
#ifndef BENCH_NETWORKS_TRAINING_H
#define BENCH_NETWORKS_TRAINING_H

#include "../bench.h"
#include "networks.h"

#include "check/case.h"

#define BENCH_MAX_VALUES 1400
#define BENCH_MAX_STEPS  800

/* A tensor of the step. */
typedef struct bench_value {
    tenon_dtype dtype;
    uint32_t rank;
    int64_t shape[4]; /* of an image: N C H W */
    bool is_image;    /* stored as N H W C */
    bool lasts;       /* a parameter or its state: in memory of its own also in the sequence */
    const char *name; /* an operand of the sequence; NULL: an intermediate */
    double low, high; /* initial values are random between them */
    /* As stored: in the sequence, and in memory of their own, in which each step can run alone. */
    tenon_tensor placed, own;
} bench_value;

typedef struct bench_step {
    const tn_operation *operation;
    bench_layer_kind kind;
    tn_case_params params;
    int32_t values[TN_MAX_OPERANDS]; /* numbers of values; -1: absent */
    /* Bits of the operands that are viewed as a matrix with a row for each first index, and of
     * those that are transposed (afterwards). */
    uint32_t flattened, transposed;
    tenon_plan *plan;
} bench_step;

typedef struct bench_training {
    bench_network network;
    int64_t n; /* images */
    bench_value values[BENCH_MAX_VALUES];
    bench_step steps[BENCH_MAX_STEPS];
    uint32_t value_count, step_count;
    bool is_full;      /* it has more values or steps than can be listed */
    double operations; /* of products, convolutions and their gradients */
    tenon_context *context;
    tenon_sequence *sequence;
    tenon_memory workspace; /* of the sequence; that of a stream is limited */
} bench_training;

/* Lists the values and steps. Returns false if the network has a layer that is not supported. */
bool bench_training_list(bench_training *training);

/* Append to the lists. A value's number is returned. */
int32_t bench_list_value(bench_training *training, bench_value value);
/* The gradient of a parameter, which does not last. */
int32_t bench_list_gradient(bench_training *training, int32_t parameter);
/* A step whose operands are these values; -1: absent. Returns its parameters, which have the
 * defaults. */
void *bench_list_step(bench_training *training, const tn_operation *operation,
                      bench_layer_kind kind, const int32_t *values);
#define BENCH_LIST_STEP(training, operation, kind, ...)                                            \
    bench_list_step(training, &(operation), kind, (const int32_t[]){__VA_ARGS__})
/* The update of a parameter by momentum, with a velocity that is 0 at first. Returns the velocity.
 */
int32_t bench_list_update(bench_training *training, int32_t parameter, int32_t gradient,
                          double learning_rate, double momentum, double weight_decay);

/* Makes the plans, the sequence, and the values that last or are operands. On failure the training
 * can be destroyed. */
bool bench_training_create(bench_session *session, bench_training *training);
void bench_training_destroy(bench_training *training);

/* Gives the values that last or are operands their initial numbers. */
bool bench_training_reset(bench_training *training, tenon_stream *stream);

bool bench_training_run(bench_training *training, tenon_stream *stream);

/* Returns a step's view of an operand that is stored so. */
tenon_tensor bench_training_view(const bench_training *training, const bench_step *step,
                                 uint32_t operand, tenon_tensor stored);

/* Allocates own of the intermediates, if that is not done yet. */
bool bench_training_allocate(bench_training *training);

/* Runs one step on the values' own memory. */
bool bench_training_run_step(bench_training *training, tenon_stream *stream, uint32_t number);

/* Compares a few channels of the results of all steps with the references, each with the step's
 * actual inputs; and the loss and the parameters after the sequence with those after its steps run
 * alone, which must have the same bits. */
bool bench_training_verify(bench_training *training, tenon_stream *stream, double *error_over_bound,
                           char why[256]);

/* Measures the nanoseconds of all steps of each kind, each timed alone. */
bool bench_training_shares(bench_training *training, tenon_stream *stream,
                           double nanoseconds[BENCH_LAYER_KINDS]);

/* Returns the bytes of the values with memory of their own; of all: after verification. */
double bench_training_bytes(const bench_training *training, bool all);

#endif
