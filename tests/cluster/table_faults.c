/* Tests the functions of tenon/mpi.h with a process that is killed or stopped at a random time
 * while all exchange messages. The victim prints when it ends; each survivor prints when it was
 * told and how, and shrinks if the transport can.
 *
 *     table_faults kill|stop VICTIM SEED DEADLINE
 */
#include "cluster.h"

enum { MOST = 8, BYTES = 20000 };

static uint32_t victim;
static double deadline, end_at;
static int signal_number;

/* Ends this process if it is the victim and its time has come. */
static void perhaps_end(void)
{
    if (signal_number == 0 || cluster_rank != (int)victim || cluster_now() < end_at)
        return;
    printf("ends %.6f\n", cluster_now());
    fflush(stdout);
    raise(signal_number);
}

/* Sends a number to every other process and receives theirs. */
static tenon_status exchange(const tenon_transport *t, unsigned char number, uint32_t *peer)
{
    static unsigned char out[BYTES], in[MOST][BYTES];
    void *requests[2 * MOST] = {NULL};
    bool ended[2 * MOST] = {false};
    tenon_status status = TENON_OK;
    const double start = cluster_now();
    uint32_t left = 2 * t->size - 2;
    memset(out, number, sizeof out);
    for (uint32_t i = 0; i < 2 * t->size && status == TENON_OK; i++) {
        *peer = i / 2;
        ended[i] = i / 2 == t->rank;
        if (!ended[i] && i % 2 == 0)
            status = t->receive(t->state, i / 2, 1, in[i / 2], BYTES, &requests[i]);
        else if (!ended[i])
            status = t->send(t->state, i / 2, 1, out, BYTES, &requests[i]);
    }
    while (left > 0 && status == TENON_OK) {
        for (uint32_t i = 0; i < 2 * t->size && status == TENON_OK; i++) {
            int done = 0;
            if (ended[i])
                continue;
            *peer = i / 2;
            status = t->test(t->state, requests[i], &done);
            ended[i] = done || status != TENON_OK;
            left -= done != 0;
        }
        perhaps_end();
        if (status == TENON_OK && left > 0 && cluster_now() - start > deadline)
            status = TENON_ERROR_TIMEOUT;
        cluster_sleep(20e-6);
    }
    for (uint32_t i = 0; i < 2 * t->size && status != TENON_OK; i++)
        if (!ended[i] && requests[i] != NULL)
            (void)t->cancel(t->state, requests[i]);
    for (uint32_t r = 0; r < t->size && status == TENON_OK; r++)
        CLUSTER_CHECK(r == t->rank || (in[r][0] == number && in[r][BYTES - 1] == number),
                      "wrong bytes from rank %d", (int)r);
    return status;
}

/* Continues without the victim. */
static void shrink(const tenon_transport *t, double told)
{
    tenon_transport left = TENON_TRANSPORT_INIT;
    uint32_t old_ranks[MOST], peer;
    CLUSTER_OK(t->shrink(t->state, &left, old_ranks));
    CLUSTER_CHECK(left.size == t->size - 1, "%d processes are left", (int)left.size);
    for (uint32_t r = 0; r < left.size; r++)
        CLUSTER_CHECK(old_ranks[r] == r + (r >= victim), "rank %d was %d", (int)r,
                      (int)old_ranks[r]);
    for (unsigned char i = 0; i < 20; i++)
        CLUSTER_OK(exchange(&left, i, &peer));
    printf("shrunk %d %.6f\n", cluster_rank, cluster_now() - told);
    left.destroy(left.state);
}

int main(int argc, char **argv)
{
    tenon_transport t;
    uint32_t peer = 0;
    tenon_status status = TENON_OK;
    cluster_open(&argc, &argv);
    CLUSTER_CHECK(argc == 5, "4 arguments are needed");
    uint64_t seed = strtoull(argv[3], NULL, 10);
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &t));
    CLUSTER_CHECK(t.size <= MOST, "too many processes");
    victim = (uint32_t)strtoul(argv[2], NULL, 10);
    deadline = strtod(argv[4], NULL);
    end_at = cluster_now() + 0.05 + (double)(cluster_next(&seed) % 100000) * 2e-6;
    signal_number = strcmp(argv[1], "kill") == 0 ? SIGKILL : SIGSTOP;
    for (unsigned char i = 0; status == TENON_OK; i++)
        status = exchange(&t, i, &peer);
    const double told = cluster_now();
    signal_number = 0;
    printf("told %d %.6f %s rank %d\n", cluster_rank, told, tenon_status_string(status), (int)peer);
    fflush(stdout);
    if (status == TENON_ERROR_PEER_LOST && t.shrink != NULL)
        shrink(&t, told);
    t.destroy(t.state);
    fflush(stdout);
    _exit(0);
}
