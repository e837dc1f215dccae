/* The members of a group, for the examples of parallel training: in one process the parts of a
 * device, or several streams of it if it cannot be divided. Compiled with the compiler of an MPI
 * and -DWITH_MPI, a member in each process of the job. */
#ifndef EXAMPLES_MEMBERS_H
#define EXAMPLES_MEMBERS_H

#include "try.h"

#include <stdbool.h>

#ifdef WITH_MPI
#include <tenon/mpi.h>
#endif

#define MOST_MEMBERS 64

typedef struct members {
    uint32_t local, first, size; /* of this process; the rank of the first one; of all processes */
    tenon_context *contexts[MOST_MEMBERS],
        *alone; /* `alone`: to compare with, on an equal device */
    tenon_stream *streams[MOST_MEMBERS], *sums[MOST_MEMBERS];
    tenon_group *group; /* of the streams in `sums`, or of `streams` */
} members;

/* Choices that do not depend on measurements are the same in all contexts of equal devices. */
static inline tenon_status members_context(const char *selector, tenon_context **context)
{
    return tenon_context_create(
        &tenon_context_params(.device = selector, .measurements = TENON_MEASUREMENTS_NONE),
        context);
}

/* Makes the contexts: of equal parts of the default device, if it can be divided, which then also
 * computes alone on a part. */
static inline void members_contexts(members *m)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT, part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    TRY(tenon_device_select(NULL, &info));
    snprintf(selector, sizeof selector, "%s/%u", info.selector, (unsigned)m->local);
    const bool is_divided = m->local > 1 && tenon_device_select(selector, &part) == TENON_OK;
    for (uint32_t i = 0; i < m->local; i++) {
        snprintf(selector, sizeof selector, is_divided ? "%s/%u:%u" : "%s", info.selector,
                 (unsigned)m->local, (unsigned)i);
        TRY(members_context(selector, &m->contexts[i]));
    }
    TRY(members_context(selector, &m->alone));
}

/* Opens `size` members, or with MPI one in each process. `has_sums`: the group has streams of its
 * own, so that collectives do not delay the other work of the members. */
static inline members members_open(int *argc, char ***argv, uint32_t size, bool has_sums)
{
    members m = {.local = size};
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
#ifdef WITH_MPI
    int provided;
    tenon_transport transport;
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
    TRY(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    params.transport = &transport;
    m.local = 1;
#else
    (void)argc, (void)argv;
#endif
    members_contexts(&m);
    for (uint32_t i = 0; i < m.local; i++) {
        TRY(tenon_stream_create(m.contexts[i], NULL, &m.streams[i]));
        if (has_sums)
            TRY(tenon_stream_create(m.contexts[i], NULL, &m.sums[i]));
    }
    TRY(tenon_group_create(has_sums ? m.sums : m.streams, m.local, &params, &m.group));
    m.first = tenon_group_first_rank(m.group);
    m.size = tenon_group_size(m.group);
    return m;
}

/* Makes a group of some members, of whose ranks `ranks` is a list in ascending order. All processes
 * call this; NULL in those without one of the members. */
static inline tenon_group *members_group(const members *m, uint32_t count, const uint32_t *ranks)
{
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    tenon_stream *streams[MOST_MEMBERS], *const *own = m->sums[0] != NULL ? m->sums : m->streams;
    tenon_group *group = NULL;
    uint32_t local = 0;
    for (uint32_t i = 0; i < count; i++)
        if (ranks[i] >= m->first && ranks[i] - m->first < m->local)
            streams[local++] = own[ranks[i] - m->first];
#ifdef WITH_MPI
    tenon_transport transport;
    MPI_Comm some;
    MPI_Comm_split(MPI_COMM_WORLD, local > 0 ? 0 : MPI_UNDEFINED, (int)m->first, &some);
    if (local > 0) {
        TRY(tenon_mpi_transport(some, &transport)); /* makes a communicator of its own */
        MPI_Comm_free(&some);
        params.transport = &transport;
    }
#endif
    if (local > 0)
        TRY(tenon_group_create(streams, local, &params, &group));
    return group;
}

static inline void members_close(members *m)
{
    tenon_group_destroy(m->group);
    for (uint32_t i = 0; i < m->local; i++) {
        tenon_stream_destroy(m->sums[i]);
        tenon_stream_destroy(m->streams[i]);
        tenon_context_release(m->contexts[i]);
    }
    tenon_context_release(m->alone);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
}

#endif
