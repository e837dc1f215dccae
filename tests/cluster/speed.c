/* Compares the sum of all members' tensors with MPI_Allreduce on host memory and the copies from
 * and to the device that this requires. Process 0 prints a row for each size.
 *
 *     speed ROUNDS BYTES…
 */
#include "cluster.h"

enum { MOST_ROUNDS = 101 };

typedef struct both {
    tenon_group *group;
    tenon_stream *stream;
    tenon_tensor x, y;
    float *sent, *received;
    size_t bytes;
} both;

static void by_tenon(both *b)
{
    CLUSTER_OK(tenon_group_all_reduce(b->group, TENON_GROUP_SUM, &b->x, &b->y, NULL));
    CLUSTER_OK(tenon_group_wait(b->group));
}

static void by_mpi_alone(both *b)
{
    MPI_Allreduce(b->sent, b->received, (int)(b->bytes / sizeof(float)), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
}

static void by_mpi(both *b)
{
    CLUSTER_OK(tenon_tensor_download(b->stream, &b->x, b->sent, b->bytes, NULL));
    by_mpi_alone(b);
    CLUSTER_OK(tenon_tensor_upload(b->stream, b->received, b->bytes, &b->y, NULL));
}

/* Returns the time of the slowest process. */
static double time_of(void (*call)(both *), both *b)
{
    double own, most = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    own = cluster_now();
    call(b);
    own = cluster_now() - own;
    MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    return values[count / 2];
}

static void measure(both *b, int rounds)
{
    double ours[MOST_ROUNDS], theirs[MOST_ROUNDS], alone[MOST_ROUNDS], ratios[MOST_ROUNDS];
    const int64_t length = (int64_t)(b->bytes / sizeof(float));
    tenon_context *context = tenon_stream_context(b->stream);
    b->sent = calloc(1, b->bytes);
    b->received = calloc(1, b->bytes);
    CLUSTER_CHECK(b->sent != NULL && b->received != NULL, "no memory");
    CLUSTER_OK(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &b->x));
    CLUSTER_OK(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &b->y));
    CLUSTER_OK(tenon_tensor_fill(b->stream, &b->x, cluster_rank + 1, NULL));
    for (int i = -1; i < rounds; i++) { /* the first round is not counted */
        const bool first = i % 2 == 0;
        const double a = time_of(first ? by_tenon : by_mpi, b), d = time_of(by_mpi_alone, b),
                     c = time_of(first ? by_mpi : by_tenon, b);
        if (i < 0)
            continue;
        alone[i] = d;
        ours[i] = first ? a : c;
        theirs[i] = first ? c : a;
        ratios[i] = ours[i] / theirs[i];
    }
    CLUSTER_OK(tenon_tensor_download(b->stream, &b->y, b->received, b->bytes, NULL));
    const int size = (int)tenon_group_size(b->group);
    CLUSTER_CHECK(b->received[length - 1] == (float)size * (float)(size + 1) / 2, "a wrong sum");
    if (cluster_rank == 0)
        printf("row %d %zu %.9f %.9f %.9f %.4f\n", size, b->bytes, median(ours, rounds),
               median(theirs, rounds), median(alone, rounds), median(ratios, rounds));
    tenon_tensor_destroy(&b->x);
    tenon_tensor_destroy(&b->y);
    free(b->sent);
    free(b->received);
}

int main(int argc, char **argv)
{
    tenon_context *context;
    tenon_transport transport;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    both b = {0};
    cluster_open(&argc, &argv);
    CLUSTER_CHECK(argc > 2, "2 arguments are needed");
    const int rounds = atoi(argv[1]);
    CLUSTER_CHECK(rounds > 0 && rounds <= MOST_ROUNDS, "1 to %d rounds", MOST_ROUNDS);
    CLUSTER_OK(tenon_context_create(NULL, &context));
    CLUSTER_OK(tenon_stream_create(context, NULL, &b.stream));
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    params.transport = &transport;
    CLUSTER_OK(tenon_group_create(&b.stream, 1, &params, &b.group));
    for (int i = 2; i < argc; i++) {
        b.bytes = strtoull(argv[i], NULL, 10);
        measure(&b, rounds);
    }
    tenon_group_destroy(b.group);
    tenon_stream_destroy(b.stream);
    tenon_context_release(context);
    MPI_Finalize();
    return 0;
}
