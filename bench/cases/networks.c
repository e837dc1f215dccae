/* Networks in inference as sequences: channels last, packed filters, batch norm folded; and
 * training steps, whose cases are in training.c. */
#include "cases/training.h"
#include "networks/model.h"
#include "peers/peers.h"
#include "peers/program.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t batches[] = {1, 8};

#define BATCHES (sizeof batches / sizeof *batches)

/* The number of cases of inference, which precede those of training. */
static uint32_t inferences(void)
{
    return bench_network_count() * (uint32_t)BATCHES;
}

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return inferences() + bench_trained_count();
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const bool is_training = number >= inferences();
    int64_t n = batches[number % BATCHES];
    const char *network = is_training ? bench_trained_name(number - inferences(), &n)
                                      : bench_network_name(number / (uint32_t)BATCHES);
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s n%d", network, (int)n);
}

static bool has_dtype(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    (void)suite;
    (void)number;
    return dtype == TENON_DTYPE_F32;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    (void)turn;
    return bench_model_run(data, stream);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    return bench_model_verify(data, stream, error_over_bound, why);
}

static bool shares(void *data, tenon_stream *stream, double *nanoseconds)
{
    return bench_model_shares(data, stream, nanoseconds);
}

static void destroy(bench_case *bench)
{
    bench_model_destroy(bench->tenon.data);
    free(bench->tenon.data);
}

static void add_peers(bench_session *session, bench_model *model, bench_case *bench)
{
    static const char *const libraries[] = {"onnxruntime", "pytorch"};
    const char *command = session->options->network_program;
    BENCH_ADD_PEER(session, bench, "onednn",
                   bench_onednn_network(model, session->stream, bench_way_at));
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        BENCH_ADD_PEER(
            session, bench, libraries[i],
            bench_program_network(command, libraries[i], &model->network, model->n, bench_way_at));
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    (void)suite;
    (void)dtype;
    if (number >= inferences())
        return bench_training_make(session, number - inferences(), bench);
    bench_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, model, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    bench->shares = shares;
    if (!bench_model_create(session, number / (uint32_t)BATCHES, batches[number % BATCHES], model))
        return false;
    bench->operations = bench_model_operations(model);
    add_peers(session, model, bench);
    return true;
}

static const bench_kind functions = {count, name_of, has_dtype, make};

const bench_suite bench_suite_networks = {"networks", "whole networks, channels last", &functions,
                                          3, 0};
