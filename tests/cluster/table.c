/* Tests of the functions that tenon/mpi.h puts into a tenon_transport, between the processes of a
 * job: messages of many sizes in both directions, their order, those of a wrong size, and those
 * that are cancelled. */
#include "cluster.h"

enum { MESSAGES = 40, TAGS = 3 };

/* The bytes of a message are a function of its sender, receiver, tag and number. */
static uint64_t message_seed(uint32_t from, uint32_t to, uint32_t tag, uint32_t number)
{
    return from + 100u * to + 10000u * tag + 1000000u * (uint64_t)number;
}

static uint64_t message_size(uint32_t from, uint32_t to, uint32_t tag, uint32_t number)
{
    static const uint64_t sizes[] = {0, 1, 7, 64, 1000, 4096, 65535, 65537, 300001};
    uint64_t state = ~message_seed(from, to, tag, number);
    return number == 0 && tag == 0 ? 5000003 : sizes[cluster_next(&state) % 9];
}

static void fill(unsigned char *bytes, uint64_t size, uint64_t seed)
{
    for (uint64_t i = 0; i < size; i += 8) {
        const uint64_t number = cluster_next(&seed);
        memcpy(bytes + i, &number, size - i < 8 ? size - i : 8);
    }
}

/* A message in flight. */
typedef struct flight {
    unsigned char *bytes;
    uint64_t size, seed;
    void *request;
    bool receives;
} flight;

static void start(const tenon_transport *t, flight *f, bool receives, uint32_t peer, uint32_t tag,
                  uint32_t number)
{
    const uint32_t from = receives ? peer : t->rank, to = receives ? t->rank : peer;
    f->receives = receives;
    f->size = message_size(from, to, tag, number);
    f->seed = message_seed(from, to, tag, number);
    f->bytes = malloc(f->size + 1);
    CLUSTER_CHECK(f->bytes != NULL, "no memory");
    if (!receives) {
        fill(f->bytes, f->size, f->seed);
        CLUSTER_OK(t->send(t->state, peer, tag, f->bytes, f->size, &f->request));
    } else {
        CLUSTER_OK(t->receive(t->state, peer, tag, f->bytes, f->size, &f->request));
    }
}

static void finish(const tenon_transport *t, flight *f)
{
    int done = 0;
    while (!done)
        CLUSTER_OK(t->test(t->state, f->request, &done));
    if (f->receives) {
        unsigned char *expected = malloc(f->size + 1);
        CLUSTER_CHECK(expected != NULL, "no memory");
        fill(expected, f->size, f->seed);
        CLUSTER_CHECK(memcmp(expected, f->bytes, f->size) == 0, "a message has other bytes");
        free(expected);
    }
    free(f->bytes);
}

/* Every process exchanges messages with every other and itself; those with the same tag arrive in
 * the order in which they were sent. */
static void exchange(const tenon_transport *t)
{
    const uint32_t count = t->size * TAGS * MESSAGES * 2;
    flight *flights = calloc(count, sizeof *flights);
    uint32_t begun = 0;
    CLUSTER_CHECK(flights != NULL, "no memory");
    for (uint32_t number = 0; number < MESSAGES; number++)
        for (uint32_t tag = 0; tag < TAGS; tag++)
            for (uint32_t peer = 0; peer < t->size; peer++) {
                const bool sends_first = (t->rank + number) % 2 == 0;
                const uint32_t used = tag == 2 ? 32767 : tag;
                start(t, &flights[begun++], !sends_first, peer, used, number);
                start(t, &flights[begun++], sends_first, peer, used, number);
            }
    for (uint32_t i = 0; i < count; i++)
        finish(t, &flights[i]);
    free(flights);
}

/* Waits for a message that fails or ends. */
static tenon_status wait_for(const tenon_transport *t, void *request)
{
    int done = 0;
    tenon_status status = TENON_OK;
    while (!done && status == TENON_OK)
        status = t->test(t->state, request, &done);
    return status;
}

/* A message that is longer or shorter than expected fails at its receiver. */
static void mismatch(const tenon_transport *t)
{
    char sent[200] = "", received[200] = "";
    void *out, *in;
    for (uint64_t expected = 99; expected <= 101; expected += 2) {
        if (expected < 100 && t->size == 1)
            continue; /* Open MPI 4 does not notice it in a message to the sender itself */
        const uint32_t next = (t->rank + 1) % t->size, last = (t->rank + t->size - 1) % t->size;
        CLUSTER_OK(t->receive(t->state, last, 5, received, expected, &in));
        CLUSTER_OK(t->send(t->state, next, 5, sent, 100, &out));
        const tenon_status status = wait_for(t, in);
        CLUSTER_CHECK(status == TENON_ERROR_MISMATCH, "100 bytes instead of %d: %s", (int)expected,
                      tenon_status_string(status));
        CLUSTER_OK(wait_for(t, out));
    }
}

/* A receive that nothing was sent for can be cancelled, and its bytes are free. */
static void cancel(const tenon_transport *t)
{
    char bytes[64];
    void *request;
    for (int i = 0; i < 10; i++) {
        CLUSTER_OK(t->receive(t->state, (t->rank + 1) % t->size, 6, bytes, sizeof bytes, &request));
        CLUSTER_OK(t->cancel(t->state, request));
    }
}

/* Statuses of invalid arguments. */
static void invalid(void)
{
    tenon_transport t;
    const tenon_status status = tenon_mpi_transport(MPI_COMM_NULL, &t);
    CLUSTER_CHECK(status == TENON_ERROR_INVALID_ARGUMENT && t.send == NULL, "MPI_COMM_NULL");
    CLUSTER_CHECK(strstr(tenon_last_error(), "MPI_COMM_NULL") != NULL, "%s", tenon_last_error());
    CLUSTER_CHECK(tenon_mpi_transport(MPI_COMM_WORLD, NULL) == TENON_ERROR_INVALID_ARGUMENT,
                  "out is NULL");
}

int main(int argc, char **argv)
{
    tenon_transport t;
    tenon_status status = tenon_mpi_transport(MPI_COMM_WORLD, &t);
    CLUSTER_CHECK(status == TENON_ERROR_INVALID_ARGUMENT, "MPI is not initialized");
    cluster_open(&argc, &argv);
    invalid();
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &t));
    CLUSTER_CHECK((int)t.rank == cluster_rank, "rank is %d", (int)t.rank);
    exchange(&t);
    mismatch(&t);
    cancel(&t);
    exchange(&t);
    const bool has_threads = (t.flags & TENON_TRANSPORT_THREADS) != 0,
               can_shrink = t.shrink != NULL;
    t.destroy(t.state);
    MPI_Finalize();
    status = tenon_mpi_transport(MPI_COMM_WORLD, &t);
    if (status != TENON_ERROR_INVALID_ARGUMENT || strstr(tenon_last_error(), "finalized") == NULL)
        CLUSTER_END(9, "after MPI_Finalize: %s", tenon_last_error());
    printf("rank %d: passed, threads %d, shrink %d\n", cluster_rank, has_threads, can_shrink);
    return 0;
}
