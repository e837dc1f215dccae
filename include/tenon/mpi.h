/** @file
 * The transport of a group through MPI.
 *
 * The functions of this header are compiled by the application, with the mpi.h of its own MPI. So
 * the library links no MPI and works with each of them; Open MPI 4 and 5 and MPICH 4 and 5 are
 * tested. <tenon/tenon.h> does not include this header.
 *
 *     int provided;
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
 *     tenon_transport transport;
 *     tenon_status status = tenon_mpi_transport(MPI_COMM_WORLD, &transport);
 *
 *     tenon_group_params params = TENON_GROUP_PARAMS_INIT;
 *     params.transport = &transport;
 *     status = tenon_group_create(&stream, 1, &params, &group);
 *
 * The group owns the transport. Destroy the group before MPI_Finalize.
 *
 * The transport has a communicator of its own, made by MPI_Comm_dup, so its messages never meet
 * those of the application. Errors of that communicator are returned, not fatal. A process that
 * ended unexpectedly is reported as TENON_ERROR_PEER_LOST if the job continues: most launchers end
 * the whole job instead. With Open MPI 5 and `mpirun --with-ft ulfm` (User-Level Failure
 * Mitigation) the survivors are notified, and `shrink` gives them a transport without the lost
 * processes. After that, MPI_Finalize may wait for the lost process forever: write a checkpoint,
 * and end the process by _exit.
 */
#ifndef TENON_MPI_H
#define TENON_MPI_H

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#include <tenon/transport.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(OMPI_HAVE_MPI_EXT_FTMPI) && OMPI_HAVE_MPI_EXT_FTMPI
/** Defined if the mpi.h has User-Level Failure Mitigation. Whether it is switched on is known only
 * when the job runs. */
#define TENON_MPI_ULFM 1
#endif

TENON_BEGIN_C

/** The state of a transport through MPI. Private. */
typedef struct tenon_mpi_state {
    MPI_Comm comm; /**< the transport's own communicator */
    int is_broken; /**< a process was lost or a message was abandoned: comm must not be freed */
} tenon_mpi_state;

/** A message in flight. Private. */
typedef struct tenon_mpi_message {
    MPI_Request request; /**< MPI's handle */
    int receives;        /**< 0: a send */
    int size;            /**< in bytes */
} tenon_mpi_message;

/** Returns the status for an error code of MPI: TENON_ERROR_INVALID_ARGUMENT ·
 * TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_MISMATCH (the message received is longer than its buffer)
 * · TENON_ERROR_PEER_LOST (everything else). Private. */
static inline tenon_status tenon_mpi_status(int code)
{
    int error_class = MPI_ERR_OTHER;
    if (MPI_Error_class(code, &error_class) != MPI_SUCCESS)
        return TENON_ERROR_PEER_LOST;
    switch (error_class) {
    case MPI_SUCCESS:
        return TENON_OK;
    case MPI_ERR_TRUNCATE:
        return TENON_ERROR_MISMATCH;
    case MPI_ERR_NO_MEM:
        return TENON_ERROR_OUT_OF_MEMORY;
    case MPI_ERR_BUFFER:
    case MPI_ERR_COUNT:
    case MPI_ERR_TYPE:
    case MPI_ERR_TAG:
    case MPI_ERR_COMM:
    case MPI_ERR_RANK:
    case MPI_ERR_ARG:
        return TENON_ERROR_INVALID_ARGUMENT;
    default:
        return TENON_ERROR_PEER_LOST;
    }
}

/** Fails with the message "tenon_mpi_transport: CALL: MPI's text". Private. */
static inline tenon_status tenon_mpi_fail(const char *call, int code)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "", message[MPI_MAX_ERROR_STRING + 64];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        text[0] = '\0';
    snprintf(message, sizeof message, "tenon_mpi_transport: %s: %s", call, text);
    return tenon_transport_fail(tenon_mpi_status(code), message);
}

/** Starts a message. Private. */
static inline tenon_status tenon_mpi_start(void *data, int receives, uint32_t peer, uint32_t tag,
                                           void *bytes, uint64_t size, void **request)
{
    tenon_mpi_state *state = (tenon_mpi_state *)data;
    tenon_mpi_message *message;
    int code;
    if (size > INT_MAX)
        return TENON_ERROR_INVALID_ARGUMENT;
    message = (tenon_mpi_message *)malloc(sizeof *message);
    if (message == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    message->request = MPI_REQUEST_NULL;
    message->receives = receives;
    message->size = (int)size;
    if (receives)
        code = MPI_Irecv(bytes, (int)size, MPI_BYTE, (int)peer, (int)tag, state->comm,
                         &message->request);
    else
        code = MPI_Isend(bytes, (int)size, MPI_BYTE, (int)peer, (int)tag, state->comm,
                         &message->request);
    if (code != MPI_SUCCESS) {
        state->is_broken = 1;
        free(message);
        return tenon_mpi_status(code);
    }
    *request = message;
    return TENON_OK;
}

/** tenon_transport's `send`. */
static inline tenon_status tenon_mpi_send(void *state, uint32_t to, uint32_t tag, const void *bytes,
                                          uint64_t size, void **request)
{
    return tenon_mpi_start(state, 0, to, tag, (void *)(uintptr_t)bytes, size, request);
}

/** tenon_transport's `receive`. */
static inline tenon_status tenon_mpi_receive(void *state, uint32_t from, uint32_t tag, void *bytes,
                                             uint64_t size, void **request)
{
    return tenon_mpi_start(state, 1, from, tag, bytes, size, request);
}

/** tenon_transport's `test`. */
static inline tenon_status tenon_mpi_test(void *data, void *request, int *done)
{
    tenon_mpi_state *state = (tenon_mpi_state *)data;
    tenon_mpi_message *message = (tenon_mpi_message *)request;
    tenon_status result = TENON_OK;
    MPI_Status status;
    int flag = 0, received = 0, code;
    *done = 0;
    code = MPI_Test(&message->request, &flag, &status);
    if (code == MPI_SUCCESS && !flag)
        return TENON_OK;
    if (code == MPI_SUCCESS && message->receives) {
        code = MPI_Get_count(&status, MPI_BYTE, &received);
        if (code == MPI_SUCCESS && received != message->size)
            result = TENON_ERROR_MISMATCH;
    }
    if (code != MPI_SUCCESS) {
        result = tenon_mpi_status(code);
        state->is_broken = 1;
    }
    *done = result == TENON_OK;
    free(message);
    return result;
}

/** tenon_transport's `cancel`. MPI can cancel neither a send nor a receive that has begun. Such a
 * message ends when the peer continues, perhaps never.
 *  @return TENON_OK · TENON_ERROR_INCOMPLETE (MPI may still use the bytes) */
static inline tenon_status tenon_mpi_cancel(void *data, void *request)
{
    tenon_mpi_state *state = (tenon_mpi_state *)data;
    tenon_mpi_message *message = (tenon_mpi_message *)request;
    int done = 0;
    if (message->receives)
        (void)MPI_Cancel(&message->request);
    if (MPI_Test(&message->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        done = 1;
    if (!done) {
        state->is_broken = 1;
        (void)MPI_Request_free(&message->request);
    }
    free(message);
    return done ? TENON_OK : TENON_ERROR_INCOMPLETE;
}

static inline tenon_status tenon_mpi_open(MPI_Comm own, tenon_transport *out);

#ifdef TENON_MPI_ULFM
/** Writes the rank in `before` of each process of `after`. Private. */
static inline int tenon_mpi_old_ranks(MPI_Comm before, MPI_Comm after, int size,
                                      uint32_t *old_ranks)
{
    MPI_Group from = MPI_GROUP_NULL, to = MPI_GROUP_NULL;
    int code = MPI_Comm_group(after, &from);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_group(before, &to);
    for (int rank = 0; rank < size && code == MPI_SUCCESS; rank++) {
        int old = 0;
        code = MPI_Group_translate_ranks(from, 1, &rank, to, &old);
        old_ranks[rank] = (uint32_t)old;
    }
    if (from != MPI_GROUP_NULL)
        (void)MPI_Group_free(&from);
    if (to != MPI_GROUP_NULL)
        (void)MPI_Group_free(&to);
    return code;
}

/** tenon_transport's `shrink`. */
static inline tenon_status tenon_mpi_shrink(void *data, tenon_transport *survivors,
                                            uint32_t *old_ranks)
{
    tenon_mpi_state *state = (tenon_mpi_state *)data;
    MPI_Comm own = MPI_COMM_NULL;
    tenon_status status;
    int code;
    /* MPIX_Comm_revoke is not needed: a group always has a receive from every other process, so MPI
     * tells each survivor. */
    state->is_broken = 1;
    code = MPIX_Comm_shrink(state->comm, &own);
    if (code != MPI_SUCCESS)
        return tenon_mpi_status(code);
    status = tenon_mpi_open(own, survivors);
    if (status != TENON_OK)
        return status;
    code = tenon_mpi_old_ranks(state->comm, own, (int)survivors->size, old_ranks);
    if (code == MPI_SUCCESS)
        return TENON_OK;
    survivors->destroy(survivors->state);
    return tenon_mpi_status(code);
}

/** Returns nonzero if the job continues without a lost process. Private. */
static inline int tenon_mpi_can_continue(void)
{
    int *value = NULL, flag = 0;
    return MPI_Comm_get_attr(MPI_COMM_WORLD, MPIX_FT, &value, &flag) == MPI_SUCCESS && flag &&
           *value;
}
#endif

/** tenon_transport's `destroy`. A communicator with a lost process or an unfinished message is not
 * freed, because that might wait for it. */
static inline void tenon_mpi_destroy(void *data)
{
    tenon_mpi_state *state = (tenon_mpi_state *)data;
    int is_finalized = 0;
    if (MPI_Finalized(&is_finalized) == MPI_SUCCESS && !is_finalized && !state->is_broken)
        (void)MPI_Comm_free(&state->comm);
    free(state);
}

/** Makes the transport of a communicator, which it takes over. Private. */
static inline tenon_status tenon_mpi_open(MPI_Comm own, tenon_transport *out)
{
    tenon_mpi_state *state = (tenon_mpi_state *)calloc(1, sizeof *state);
    int size = 0, rank = 0, level = MPI_THREAD_SINGLE, code;
    if (state == NULL) {
        (void)MPI_Comm_free(&own);
        return tenon_transport_fail(TENON_ERROR_OUT_OF_MEMORY, "tenon_mpi_transport: no memory");
    }
    state->comm = own;
    code = MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(own, &size);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(own, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Query_thread(&level);
    if (code != MPI_SUCCESS) {
        tenon_mpi_destroy(state);
        return tenon_mpi_fail("its own communicator", code);
    }
    out->size = (uint32_t)size;
    out->rank = (uint32_t)rank;
    out->flags = level >= MPI_THREAD_MULTIPLE ? TENON_TRANSPORT_THREADS : 0;
    out->state = state;
    out->send = tenon_mpi_send;
    out->receive = tenon_mpi_receive;
    out->test = tenon_mpi_test;
    out->cancel = tenon_mpi_cancel;
    out->shrink = NULL;
    out->destroy = tenon_mpi_destroy;
#ifdef TENON_MPI_ULFM
    if (tenon_mpi_can_continue())
        out->shrink = tenon_mpi_shrink;
#endif
    return TENON_OK;
}

/** Checks the state of MPI and the communicator. Private. */
static inline tenon_status tenon_mpi_check(MPI_Comm comm)
{
    int is_initialized = 0, is_finalized = 0, is_inter = 0, code;
    const char *problem = NULL;
    if (MPI_Initialized(&is_initialized) != MPI_SUCCESS || !is_initialized)
        problem = "tenon_mpi_transport: MPI is not initialized; call MPI_Init_thread first";
    else if (MPI_Finalized(&is_finalized) != MPI_SUCCESS || is_finalized)
        problem = "tenon_mpi_transport: MPI is finalized already";
    else if (comm == MPI_COMM_NULL)
        problem = "tenon_mpi_transport: comm is MPI_COMM_NULL";
    if (problem != NULL)
        return tenon_transport_fail(TENON_ERROR_INVALID_ARGUMENT, problem);
    code = MPI_Comm_test_inter(comm, &is_inter);
    if (code != MPI_SUCCESS)
        return tenon_mpi_fail("comm", code);
    if (is_inter)
        return tenon_transport_fail(TENON_ERROR_INVALID_ARGUMENT,
                                    "tenon_mpi_transport: comm is an inter-communicator");
    return TENON_OK;
}

/** Makes a transport of the processes of a communicator. Collective: all of its processes call it.
 * If MPI provides MPI_THREAD_MULTIPLE, the transport has TENON_TRANSPORT_THREADS and groups use it
 * from threads of their own. At lower levels groups use it only within calls, so collectives
 * progress only there (tenon_group_poll); with MPI_THREAD_FUNNELED these must be made by the thread
 * that initialized MPI.
 *  @param comm  an intra-communicator; used only during the call. Errors of MPI_Comm_dup are
 *               handled by its error handler
 *  @param out   receives the transport, for tenon_group_create of one group, which then owns it.
 *               Without functions on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; MPI is not initialized, or is finalized;
 *          MPI_COMM_NULL; an inter-communicator) · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_PEER_LOST (any other error of MPI). tenon_last_error has MPI's text */
static inline tenon_status tenon_mpi_transport(MPI_Comm comm, tenon_transport *out)
{
    static const tenon_transport none = TENON_TRANSPORT_INIT;
    MPI_Comm own = MPI_COMM_NULL;
    tenon_status status;
    int code;
    if (out == NULL)
        return tenon_transport_fail(TENON_ERROR_INVALID_ARGUMENT,
                                    "tenon_mpi_transport: out is NULL");
    *out = none;
    status = tenon_mpi_check(comm);
    if (status != TENON_OK)
        return status;
    code = MPI_Comm_dup(comm, &own);
    if (code != MPI_SUCCESS)
        return tenon_mpi_fail("MPI_Comm_dup", code);
    return tenon_mpi_open(own, out);
}

TENON_END_C

#endif
