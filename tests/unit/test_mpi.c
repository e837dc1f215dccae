/* Tests of tenon/mpi.h with a replacement of MPI whose functions return what a test asks for:
 * statuses of MPI's errors, of its states and levels of threads, and what is freed. ./run cluster
 * tests it with real ones. */
#include "common/testing.h"

#include <tenon/mpi.h>

#include <string.h>

struct fake_comm {
    bool is_inter, returns_errors;
};

struct fake_request {
    bool receives, is_cancelled;
};

/* What the replacement returns, and what it was asked. */
static struct {
    bool is_initialized, is_finalized, is_done;
    int level, error, test_error, received;
    int comms, requests; /* that exist */
    int peer, tag, count;
} fake;

static struct fake_comm world, own;

int MPI_Initialized(int *flag)
{
    *flag = fake.is_initialized;
    return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
    *flag = fake.is_finalized;
    return MPI_SUCCESS;
}

int MPI_Query_thread(int *provided)
{
    *provided = fake.level;
    return MPI_SUCCESS;
}

/* Codes are classes plus a multiple of 100. */
int MPI_Error_class(int code, int *error_class)
{
    *error_class = code % 100;
    return MPI_SUCCESS;
}

int MPI_Error_string(int code, char *string, int *length)
{
    *length = snprintf(string, MPI_MAX_ERROR_STRING, "code %d", code);
    return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    *flag = comm->is_inter;
    return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy)
{
    assert_ptr_equal(comm, &world);
    if (fake.error != MPI_SUCCESS)
        return fake.error;
    fake.comms++;
    *copy = &own;
    return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    assert_ptr_equal(*comm, &own);
    fake.comms--;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    assert_ptr_equal(comm, &own);
    *size = 5;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    assert_ptr_equal(comm, &own);
    *rank = 3;
    return MPI_SUCCESS;
}

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    comm->returns_errors = handler == MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

static int start(bool receives, int count, int peer, int tag, MPI_Comm comm, MPI_Request *request)
{
    assert_ptr_equal(comm, &own);
    assert_true(comm->returns_errors);
    if (fake.error != MPI_SUCCESS)
        return fake.error;
    *request = calloc(1, sizeof **request);
    assert_non_null(*request);
    (*request)->receives = receives;
    fake.requests++;
    fake.peer = peer;
    fake.tag = tag;
    fake.count = count;
    return MPI_SUCCESS;
}

int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    assert_non_null(bytes);
    assert_int_equal(type, MPI_BYTE);
    return start(false, count, to, tag, comm, request);
}

int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    assert_non_null(bytes);
    assert_int_equal(type, MPI_BYTE);
    return start(true, count, from, tag, comm, request);
}

int MPI_Request_free(MPI_Request *request)
{
    free(*request);
    *request = MPI_REQUEST_NULL;
    fake.requests--;
    return MPI_SUCCESS;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = fake.is_done || (*request)->is_cancelled;
    if (fake.test_error == MPI_SUCCESS && !*flag)
        return MPI_SUCCESS;
    if (status != MPI_STATUS_IGNORE)
        status->count = fake.received;
    MPI_Request_free(request);
    return fake.test_error;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    assert_int_equal(type, MPI_BYTE);
    *count = status->count;
    return MPI_SUCCESS;
}

/* Like real ones, it cancels only receives that have not begun. */
int MPI_Cancel(MPI_Request *request)
{
    (*request)->is_cancelled = (*request)->receives && fake.received == 0;
    return MPI_SUCCESS;
}

/* Volatile, so that static analysis does not assume that it fails after cmocka's assertion. */
static tenon_status (*volatile make)(MPI_Comm, tenon_transport *) = tenon_mpi_transport;

static void reset(void)
{
    memset(&fake, 0, sizeof fake);
    memset(&world, 0, sizeof world);
    memset(&own, 0, sizeof own);
    fake.is_initialized = true;
    fake.level = MPI_THREAD_MULTIPLE;
}

static tenon_transport opened(void)
{
    tenon_transport t = TENON_TRANSPORT_INIT;
    assert_int_equal(make(&world, &t), TENON_OK);
    return t;
}

/* Nothing of MPI is left, or only the communicator. */
static void closed(const tenon_transport *t, int comms)
{
    t->destroy(t->state);
    assert_int_equal(fake.requests, 0);
    assert_int_equal(fake.comms, comms);
}

static void assert_invalid(MPI_Comm comm, const char *reason)
{
    tenon_transport t;
    assert_int_equal(make(comm, &t), TENON_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(tenon_last_error(), reason));
    assert_non_null(strstr(tenon_last_error(), "tenon_mpi_transport: "));
    assert_null(t.send);
    assert_int_equal(fake.comms, 0);
}

TEST(states_of_mpi)
{
    reset();
    fake.is_initialized = false;
    assert_invalid(&world, "not initialized");
    reset();
    fake.is_finalized = true;
    assert_invalid(&world, "finalized already");
    reset();
    assert_invalid(MPI_COMM_NULL, "MPI_COMM_NULL");
    world.is_inter = true;
    assert_invalid(&world, "inter-communicator");
    world.is_inter = false;
    fake.error = 200 + MPI_ERR_COMM;
    assert_invalid(&world, "MPI_Comm_dup: code 205");
    assert_int_equal(make(&world, NULL), TENON_ERROR_INVALID_ARGUMENT);
}

TEST(transport)
{
    for (int level = MPI_THREAD_SINGLE; level <= MPI_THREAD_MULTIPLE; level++) {
        reset();
        fake.level = level;
        const tenon_transport t = opened();
        assert_int_equal(t.struct_size, sizeof t);
        assert_int_equal(t.size, 5);
        assert_int_equal(t.rank, 3);
        assert_int_equal(t.flags, level == MPI_THREAD_MULTIPLE ? TENON_TRANSPORT_THREADS : 0);
        assert_null(t.shrink); /* the replacement has no ULFM */
        closed(&t, 0);
    }
    reset();
    const tenon_transport t = opened();
    fake.is_finalized = true; /* then no function of MPI may be called */
    closed(&t, 1);
}

TEST(messages)
{
    char bytes[8] = "";
    void *request;
    int done = 2;
    reset();
    const tenon_transport t = opened();
    assert_int_equal(t.send(t.state, 4, 32767, bytes, 7, &request), TENON_OK);
    assert_int_equal(fake.peer * 100000 + fake.tag, 432767);
    assert_int_equal(fake.count, 7);
    assert_int_equal(t.test(t.state, request, &done), TENON_OK);
    assert_int_equal(done, 0);
    fake.is_done = true;
    assert_int_equal(t.test(t.state, request, &done), TENON_OK);
    assert_int_equal(done, 1);
    for (fake.received = 6; fake.received <= 7; fake.received++) { /* a message too short */
        assert_int_equal(t.receive(t.state, 1, 0, bytes, 7, &request), TENON_OK);
        assert_int_equal(t.test(t.state, request, &done),
                         fake.received == 7 ? TENON_OK : TENON_ERROR_MISMATCH);
        assert_int_equal(done, fake.received == 7);
    }
    assert_int_equal(t.send(t.state, 0, 0, bytes, UINT64_C(1) << 31, &request),
                     TENON_ERROR_INVALID_ARGUMENT);
    closed(&t, 0);
}

TEST(errors)
{
    static const struct {
        int error;
        tenon_status status;
    } errors[] = {{MPI_ERR_OTHER, TENON_ERROR_PEER_LOST},
                  {99, TENON_ERROR_PEER_LOST}, /* a class of an extension */
                  {300 + MPI_ERR_TRUNCATE, TENON_ERROR_MISMATCH},
                  {100 + MPI_ERR_NO_MEM, TENON_ERROR_OUT_OF_MEMORY},
                  {MPI_ERR_TAG, TENON_ERROR_INVALID_ARGUMENT},
                  {MPI_ERR_RANK, TENON_ERROR_INVALID_ARGUMENT}};
    char bytes[8] = "";
    void *request;
    int done;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        reset();
        const tenon_transport t = opened();
        fake.error = errors[i].error;
        assert_int_equal(t.send(t.state, 1, 1, bytes, 1, &request), errors[i].status);
        assert_int_equal(t.receive(t.state, 1, 1, bytes, 1, &request), errors[i].status);
        fake.error = MPI_SUCCESS;
        assert_int_equal(t.send(t.state, 1, 1, bytes, 1, &request), TENON_OK);
        fake.test_error = errors[i].error;
        assert_int_equal(t.test(t.state, request, &done), errors[i].status);
        assert_int_equal(done, 0);
        closed(&t, 1); /* MPI_Comm_free might wait for the lost process */
    }
}

TEST(cancelled)
{
    char bytes[8] = "";
    void *request;
    reset();
    tenon_transport t = opened();
    assert_int_equal(t.receive(t.state, 1, 1, bytes, 1, &request), TENON_OK);
    assert_int_equal(t.cancel(t.state, request), TENON_OK);
    closed(&t, 0);
    t = opened();
    assert_int_equal(t.send(t.state, 1, 1, bytes, 1, &request), TENON_OK);
    assert_int_equal(t.cancel(t.state, request), TENON_ERROR_INCOMPLETE);
    fake.received = 1; /* the receive has begun */
    assert_int_equal(t.receive(t.state, 1, 1, bytes, 1, &request), TENON_OK);
    assert_int_equal(t.cancel(t.state, request), TENON_ERROR_INCOMPLETE);
    closed(&t, 1);
    t = opened();
    assert_int_equal(t.receive(t.state, 1, 1, bytes, 1, &request), TENON_OK);
    fake.test_error = MPI_ERR_OTHER; /* a failed message is over */
    assert_int_equal(t.cancel(t.state, request), TENON_OK);
    closed(&t, 1);
}
