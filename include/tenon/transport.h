/** @file
 * Transports: how the processes of a group exchange bytes.
 *
 * A transport is a table of functions that start messages and test whether they have ended. A group
 * (tenon/group.h) whose members are in several processes uses one; it combines the data itself, so
 * a transport needs to know neither types nor operations. tenon/mpi.h fills the table with MPI.
 *
 * Rules for the functions:
 *  - None of them waits for another process, except `shrink`.
 *  - A message is identified by its peer and its tag. Messages with the same peer and tag are
 *    received in the order in which they were sent, as in MPI; others may overtake each other.
 *  - The sizes of a send and of its receive are equal, between 1 and TENON_TRANSPORT_MESSAGE_MAX.
 *  - The caller keeps the bytes of a message valid, and those that are sent unchanged, until
 *    `test` has reported its end or `cancel` has returned TENON_OK.
 *  - `send` may complete before the peer receives the message, or only then.
 */
#ifndef TENON_TRANSPORT_H
#define TENON_TRANSPORT_H

#include <tenon/status.h>

TENON_BEGIN_C

/** The largest number of processes of a group. */
#define TENON_TRANSPORT_MAX_PROCESSES 64

/** The largest message in bytes. A group divides larger data. */
#define TENON_TRANSPORT_MESSAGE_MAX (UINT64_C(1) << 30)

/** Tags are below this number; every MPI allows such tags. */
#define TENON_TRANSPORT_TAGS 32768u

/** Flag: a thread of the group may call the functions while the application uses the same
 * communication library in other threads (MPI_THREAD_MULTIPLE). The group's thread then makes
 * progress. Without this flag they are called only in the caller's thread, during calls on the
 * group, and the application calls tenon_group_poll for progress. In both cases no two of these
 * functions are called at the same time with the same state. */
#define TENON_TRANSPORT_THREADS 1u

/** A table of functions on bytes. A group copies it. Start from TENON_TRANSPORT_INIT. */
typedef struct tenon_transport {
    uint32_t struct_size; /**< sizeof(tenon_transport) */
    uint32_t size;        /**< processes: 1 to TENON_TRANSPORT_MAX_PROCESSES */
    uint32_t rank;        /**< of this process, below size */
    uint32_t flags;       /**< TENON_TRANSPORT_THREADS or 0 */
    void *state;          /**< passed to each function */
    /** Starts to send a message to another process.
     *  @param request  receives the message, for `test` and `cancel`; not written on failure
     *  @return TENON_OK · TENON_ERROR_PEER_LOST · another failure, after which the group is
     *          unusable */
    tenon_status (*send)(void *state, uint32_t to, uint32_t tag, const void *bytes, uint64_t size,
                         void **request);
    /** Starts to receive a message from another process. Otherwise as send. */
    tenon_status (*receive)(void *state, uint32_t from, uint32_t tag, void *bytes, uint64_t size,
                            void **request);
    /** Tests whether a message has ended, and makes progress.
     *  @param done  receives 1 if it has ended, which frees the request, otherwise 0
     *  @return TENON_OK · TENON_ERROR_PEER_LOST, or another failure of the message, which frees the
     *          request */
    tenon_status (*test)(void *state, void *request, int *done);
    /** Ends a message that has not ended, and frees the request. The group cancels only after a
     * failure, and its receives when it is destroyed.
     *  @return TENON_OK: its bytes are not used any more · otherwise they may still be used; the
     *          group then never frees them */
    tenon_status (*cancel)(void *state, void *request);
    /** Called in all surviving processes after a failure: makes a transport of the processes that
     * are left. May wait for them. Messages of the old transport do not appear in the new one.
     * NULL: not available.
     *  @param survivors  a table to be filled, whose struct_size is set
     *  @param old_ranks  receives the former rank of each process, in increasing order; has
     *                    room for `size` ranks
     *  @return TENON_OK · a failure, after which `survivors` is not used */
    tenon_status (*shrink)(void *state, struct tenon_transport *survivors, uint32_t *old_ranks);
    /** Frees the state. Called when the group is destroyed, after the last of the other calls, in
     * the thread that destroys the group. NULL: nothing to free. */
    void (*destroy)(void *state);
} tenon_transport;

/** The defaults of tenon_transport, without braces: no functions. */
#define TENON_TRANSPORT_DEFAULTS                                                                   \
    sizeof(tenon_transport), 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL
/** Initializes a tenon_transport with the defaults. */
#define TENON_TRANSPORT_INIT                                                                       \
    {                                                                                              \
        TENON_TRANSPORT_DEFAULTS                                                                   \
    }

/** Sets the message of tenon_last_error: for functions outside the library that make a transport.
 *  @param message  copied; NULL means ""
 *  @return `status` */
TENON_API tenon_status tenon_transport_fail(tenon_status status, const char *message);

TENON_END_C

#endif
