/* A group of processes of which one is killed or stopped at a random time, while all of them
 * compute sums. Every sum is checked. A survivor prints when it was told, what, and what it did
 * next: it shrinks the group and continues if it can, and ends the job otherwise.
 *
 *     faults kill|stop VICTIM SEED DEADLINE
 */
#include "cluster.h"

enum { LENGTH = 40000 };

static volatile sig_atomic_t signal_number;

/* A process that does not shrink ends itself and, if its MPI can, all others. */
static void end_job(int code)
{
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, code);
    _exit(code);
}

static void on_alarm(int number)
{
    (void)number;
    kill(getpid(), signal_number);
}

/* Ends this process at a random time between 0.1 and 0.5 seconds from now. */
static void plan_end(const char *how, uint64_t seed)
{
    const double delay = 0.1 + (double)(cluster_next(&seed) % 400000) * 1e-6;
    const struct itimerval timer = {{0, 0}, {0, (suseconds_t)(delay * 1e6)}};
    signal_number = strcmp(how, "kill") == 0 ? SIGKILL : SIGSTOP;
    printf("ends %.6f\n", cluster_now() + delay);
    fflush(stdout);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, NULL);
}

/* One sum of all members: member r adds (r + 1) * (step % 64 + 1) to every element. Returns the
 * failure of the group. */
static tenon_status sum(tenon_group *group, tenon_stream *stream, const tenon_tensor *x,
                        const tenon_tensor *y, int step, double ranks)
{
    static float got[LENGTH];
    const double own = (tenon_group_first_rank(group) + 1.0) * (step % 64 + 1);
    const float expected = (float)(ranks * (step % 64 + 1));
    CLUSTER_OK(tenon_tensor_fill(stream, x, own, NULL));
    tenon_status status = tenon_group_all_reduce(group, TENON_GROUP_SUM, x, y, NULL);
    if (status == TENON_OK)
        status = tenon_group_wait(group);
    if (status != TENON_OK)
        return status;
    CLUSTER_OK(tenon_tensor_download(stream, y, got, sizeof got, NULL));
    for (int i = 0; i < LENGTH; i++)
        if (got[i] != expected) {
            printf("WRONG RESULT: element %d is %g, expected %g\n", i, (double)got[i],
                   (double)expected);
            end_job(8);
        }
    return TENON_OK;
}

/* Makes a group of the survivors and computes with it. */
static void proceed(tenon_group *group, tenon_stream *stream, const tenon_tensor *x,
                    const tenon_tensor *y)
{
    tenon_group *left = NULL;
    const double start = cluster_now();
    const uint32_t size = tenon_group_size(group);
    tenon_status status = tenon_group_shrink(group, &left);
    if (status != TENON_OK) {
        printf("not shrunk: %s (%s)\n", tenon_last_error(), tenon_status_string(status));
        end_job(3);
    }
    tenon_group_destroy(group);
    CLUSTER_CHECK(tenon_group_size(left) == size - 1, "%d members are left",
                  (int)tenon_group_size(left));
    for (int step = 0; step < 10; step++)
        CLUSTER_OK(sum(left, stream, x, y, step, (size - 1.0) * size / 2));
    printf("shrunk %d %.6f\n", cluster_rank, cluster_now() - start);
    /* MPI_Finalize might wait for the lost process. */
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    const int64_t length = LENGTH;
    tenon_context *context;
    tenon_stream *stream;
    tenon_transport transport;
    tenon_tensor x, y;
    tenon_group *group;
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    cluster_open(&argc, &argv);
    CLUSTER_CHECK(argc == 5, "4 arguments are needed");
    CLUSTER_OK(tenon_context_create(NULL, &context));
    CLUSTER_OK(tenon_stream_create(context, NULL, &stream));
    CLUSTER_OK(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &x));
    CLUSTER_OK(tenon_tensor_create(context, TENON_DTYPE_F32, 1, &length, &y));
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    const bool can_shrink = transport.shrink != NULL;
    params.transport = &transport;
    params.deadline_s = 120; /* kernels may have to be compiled */
    CLUSTER_OK(tenon_group_create(&stream, 1, &params, &group));
    const double ranks = tenon_group_size(group) * (tenon_group_size(group) + 1.0) / 2;
    CLUSTER_OK(sum(group, stream, &x, &y, 0, ranks));
    tenon_group_destroy(group);

    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    params.deadline_s = strtod(argv[4], NULL);
    CLUSTER_OK(tenon_group_create(&stream, 1, &params, &group));
    if (cluster_rank == atoi(argv[2]))
        plan_end(argv[1], strtoull(argv[3], NULL, 10));
    tenon_status status = TENON_OK;
    for (int step = 0; status == TENON_OK; step++)
        status = sum(group, stream, &x, &y, step, ranks);
    printf("told %d %.6f %s %s\n", cluster_rank, cluster_now(), tenon_status_string(status),
           tenon_last_error());
    fflush(stdout);
    if (can_shrink && status == TENON_ERROR_PEER_LOST)
        proceed(group, stream, &x, &y);
    /* The others' deadlines end a moment later. Processes do not end the job at the same moment:
     * with ULFM, the launcher of Open MPI 5.0.11 may then wait for itself forever. */
    cluster_sleep(0.6 + 0.2 * cluster_rank);
    end_job(4);
    return 4;
}
