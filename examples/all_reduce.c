/* Estimates pi with all processes of an MPI job: each averages sqrt(1 - u * u) over its own random
 * numbers on its device, and the group averages the results. With Open MPI 5 and --with-ft ulfm the
 * job survives processes that are killed.
 *
 *     mpicc all_reduce.c -o all_reduce -ltenon && mpirun -n 4 ./all_reduce
 */
#include <stdbool.h>
#include <tenon/mpi.h>
#include <unistd.h>

#include "try.h"

/* One value of this process: the mean of a million samples. */
static void sample(tenon_stream *stream, uint64_t sequence, const tenon_tensor *u,
                   const tenon_tensor *mean)
{
    const tenon_random_params random = tenon_random_params(.seed = 1, .sequence = sequence);
    tenon_elementwise_chain_params f = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    f.steps[f.step_count++] =
        (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .operand = TENON_CHAIN_X0};
    f.steps[f.step_count++] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = -1};
    f.steps[f.step_count++] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .alpha = 1};
    f.steps[f.step_count++] = (tenon_chain_step){.op = TENON_CHAIN_SQRT};
    TRY(tenon_random(stream, &random, u, NULL));
    TRY(tenon_elementwise_chain(stream, &f, u, NULL, NULL, NULL, u, NULL));
    TRY(tenon_reduce(stream, &tenon_reduce_params(.kind = TENON_REDUCE_MEAN), u, mean, NULL));
}

int main(int argc, char **argv)
{
    const int64_t count = 1 << 20, one = 1;
    const uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 20;
    int provided;
    bool has_lost = false;
    tenon_context *context;
    tenon_stream *stream;
    tenon_transport transport;
    tenon_group *group, *left;
    tenon_tensor u, mean;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &count, &u));
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &one, &mean));

    /* Each process has one member. No collective waits longer than ten seconds for the others. */
    TRY(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    TRY(tenon_group_create(&stream, 1,
                           &tenon_group_params(.transport = &transport, .deadline_s = 10), &group));
    double sum = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        float value;
        sample(stream, round * 1000 + tenon_group_first_rank(group), &u, &mean);
        tenon_status status = tenon_group_all_reduce(group, TENON_GROUP_MEAN, &mean, &mean, NULL);
        if (status == TENON_OK)
            status = tenon_group_wait(group);
        if (status == TENON_ERROR_PEER_LOST && tenon_group_shrink(group, &left) == TENON_OK) {
            fprintf(stderr, "%u processes are left\n", (unsigned)tenon_group_size(left));
            tenon_group_destroy(group);
            group = left;
            has_lost = true;
            round--; /* once more */
            continue;
        }
        TRY(status);
        TRY(tenon_tensor_download(stream, &mean, &value, sizeof value, NULL));
        sum += (double)value;
    }
    if (tenon_group_first_rank(group) == 0)
        printf("%u processes: pi is about %.4f\n", (unsigned)tenon_group_size(group),
               4 * sum / (double)rounds);
    fflush(stdout);
    if (has_lost)
        _exit(0); /* MPI_Finalize might wait for the lost process */
    tenon_group_destroy(group);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    MPI_Finalize();
    return 0;
}
