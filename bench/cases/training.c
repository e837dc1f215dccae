/* Training steps of networks, as cases of the suite `networks`. */
#include "cases/training.h"

#include <stdio.h>
#include <stdlib.h>

/* The share of the device's memory that a case may need. */
#define MEMORY_SHARE 0.75

static bool call(void *data, tenon_stream *stream, int turn)
{
    (void)turn;
    return bench_training_run(data, stream);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    return bench_training_verify(data, stream, error_over_bound, why);
}

static bool shares(void *data, tenon_stream *stream, double *nanoseconds)
{
    return bench_training_shares(data, stream, nanoseconds);
}

static void destroy(bench_case *bench)
{
    bench_training_destroy(bench->tenon.data);
    free(bench->tenon.data);
}

/* Returns false, with a message, if the device has too little memory: verification and the shares
 * of time need all values in memory of their own, and the sequence has about half of them. */
static bool fits(const bench_session *session, const bench_training *training, bench_case *bench)
{
    const double needed = 1.5 * bench_training_bytes(training, true),
                 available = MEMORY_SHARE * (double)session->device.global_memory;
    if (needed <= available)
        return true;
    fprintf(stderr,
            "tenon-bench: %s is skipped: it needs %.0f MiB of memory, of which %.0f may be "
            "used on this device\n",
            bench->name, needed / 1048576, available / 1048576);
    bench->is_skipped = true;
    return false;
}

bool bench_training_case(bench_session *session, bench_training *training, bench_case *bench)
{
    bench->tenon = (bench_way){"tenon", call, false, training, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    bench->shares = shares;
    bench->operations = training->operations;
    return fits(session, training, bench) && bench_training_create(session, training);
}

bool bench_training_make(bench_session *session, const bench_network_shape *shape,
                         bench_case *bench)
{
    bench_training *training = calloc(1, sizeof *training);
    if (training == NULL)
        return false;
    training->n = shape->n;
    training->network = *shape->layers;
    if (!bench_training_list(training)) {
        bench_complain("%s has layers that cannot be trained here", bench->name);
        free(training);
        return false;
    }
    return bench_training_case(session, training, bench);
}
