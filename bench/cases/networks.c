/* Networks in inference as sequences: channels last, packed filters, batch norm folded; and
 * training steps, whose cases are in training.c. */
#include "cases/training.h"
#include "networks/model.h"
#include "peers/peers.h"
#include "peers/program.h"
#include "shapes/shapes.h"

#include <stdlib.h>

static const bench_network_shape *shape_of(const bench_suite *suite, uint32_t number)
{
    return &suite->shapes->cases[number].network;
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
    const bench_network_shape *shape = shape_of(suite, number);
    (void)dtype;
    if (shape->trains)
        return bench_training_make(session, shape, bench);
    bench_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, model, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    bench->shares = shares;
    if (!bench_model_create(session, shape->layers, shape->n, model))
        return false;
    bench->operations = bench_model_operations(model);
    add_peers(session, model, bench);
    return true;
}

const bench_kind bench_network_cases = {bench_case_count, bench_case_name, bench_only_f32, make};
