#include "group/connect.h"

#include <stdlib.h>
#include <string.h>

/* Increased whenever messages change. */
#define PROTOCOL 1

/* "TENON" and the protocol. The size of a header detects another layout of structs. */
#define MAGIC (UINT64_C(0x54454e4f4e000000) + PROTOCOL)

/* Time between two attempts. */
#define PAUSE_NS 50000

typedef struct hello {
    uint64_t magic, header_size, chunk_bytes;
    uint64_t devices; /* hash of the local members' device and driver; 0: they differ */
    uint32_t processes, count;
} hello;

typedef struct meeting {
    hello own, *received; /* one per process */
    tn_message *sends, *receives;
} meeting;

tenon_status tn_transport_check(const char *caller, const tenon_transport *t)
{
    const struct {
        const char *name;
        bool is_set;
    } functions[] = {{"send", t->send != NULL},
                     {"receive", t->receive != NULL},
                     {"test", t->test != NULL},
                     {"cancel", t->cancel != NULL}};
    if (t->struct_size != sizeof *t)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: transport: struct_size is %u, must be %zu; start from "
                       "TENON_TRANSPORT_INIT",
                       caller, (unsigned)t->struct_size, sizeof *t);
    if (t->size == 0 || t->size > TENON_TRANSPORT_MAX_PROCESSES)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: transport: size is %u, must be 1 to %d",
                       caller, (unsigned)t->size, TENON_TRANSPORT_MAX_PROCESSES);
    if (t->rank >= t->size)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: transport: rank is %u, but size is %u",
                       caller, (unsigned)t->rank, (unsigned)t->size);
    if ((t->flags & ~TENON_TRANSPORT_THREADS) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: transport: flags is %u, must be 0 or TENON_TRANSPORT_THREADS", caller,
                       (unsigned)t->flags);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!functions[i].is_set)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: transport: %s is NULL", caller,
                           functions[i].name);
    return TENON_OK;
}

static tenon_status start(tenon_group *group, meeting *m)
{
    for (uint32_t p = 0; p < group->places.processes; p++)
        if (p != group->places.process)
            TN_TRY(tn_message_receive(&group->transport, &group->places, p, TN_TAG_HELLO,
                                      &m->received[p], sizeof m->own, &m->receives[p]));
    for (uint32_t p = 0; p < group->places.processes; p++)
        if (p != group->places.process)
            TN_TRY(tn_message_send(&group->transport, &group->places, p, TN_TAG_HELLO, &m->own,
                                   sizeof m->own, &m->sends[p]));
    return TENON_OK;
}

/* Returns the number of a process whose messages have not ended, or `processes`. */
static tenon_status test(tenon_group *group, meeting *m, uint32_t *pending)
{
    *pending = group->places.processes;
    for (uint32_t p = 0; p < group->places.processes; p++) {
        bool moved = false;
        TN_TRY(tn_message_test(&group->transport, &group->places, &m->sends[p], &moved));
        TN_TRY(tn_message_test(&group->transport, &group->places, &m->receives[p], &moved));
        if (m->sends[p].is_pending || m->receives[p].is_pending)
            *pending = p;
    }
    return TENON_OK;
}

static tenon_status meet(tenon_group *group, meeting *m)
{
    const uint64_t began = tn_now();
    uint32_t pending = 0;
    tenon_status status = start(group, m);
    for (;;) {
        if (status == TENON_OK)
            status = test(group, m, &pending);
        if (status != TENON_OK)
            return status;
        if (pending == group->places.processes)
            return TENON_OK;
        if ((double)(tn_now() - began) * 1e-9 > group->deadline_s)
            return tn_fail(TENON_ERROR_TIMEOUT, "nothing from process %u within %g s",
                           (unsigned)pending, group->deadline_s);
        tn_sleep(PAUSE_NS);
    }
}

/* Compares the parameters of the processes, with the same result in all of them. */
static tenon_status compare(const tenon_group *group, const meeting *m)
{
    const hello *first = &m->received[0];
    for (uint32_t p = 1; p < group->places.processes; p++) {
        const hello *other = &m->received[p];
        if (other->magic != first->magic || other->header_size != first->header_size)
            return tn_fail(TENON_ERROR_MISMATCH,
                           "process %u uses another version of Tenon than process 0", (unsigned)p);
        if (other->processes != first->processes)
            return tn_fail(TENON_ERROR_MISMATCH,
                           "the transport of process %u has size %u, that of process 0 has %u",
                           (unsigned)p, (unsigned)other->processes, (unsigned)first->processes);
        if (other->chunk_bytes != first->chunk_bytes)
            return tn_fail(TENON_ERROR_MISMATCH,
                           "chunk_bytes is %llu in process %u, but %llu in process 0",
                           (unsigned long long)other->chunk_bytes, (unsigned)p,
                           (unsigned long long)first->chunk_bytes);
    }
    return TENON_OK;
}

static tenon_status place(tenon_group *group, const meeting *m)
{
    uint64_t members = 0;
    group->is_uniform = m->received[0].devices != 0;
    for (uint32_t p = 0; p < group->places.processes; p++) {
        members += m->received[p].count;
        group->is_uniform = group->is_uniform && m->received[p].devices == m->received[0].devices;
    }
    if (members > TENON_GROUP_MAX_MEMBERS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "the processes have %llu members together, must be at most %d",
                       (unsigned long long)members, TENON_GROUP_MAX_MEMBERS);
    for (uint32_t p = 0; p < group->places.processes; p++)
        group->places.starts[p + 1] = group->places.starts[p] + m->received[p].count;
    return TENON_OK;
}

static uint64_t hash_devices(const tenon_group *group, uint32_t count)
{
    uint64_t first = 0;
    for (uint32_t m = 0; m < count; m++) {
        const tenon_device_info *info = &group->members[m].context->device.info;
        uint64_t own = tn_hash(TN_HASH_START, info->name, strlen(info->name));
        own = tn_hash(own, info->driver_version, strlen(info->driver_version));
        if (m > 0 && own != first)
            return 0;
        first = own;
    }
    return first;
}

static tenon_status connect_all(tenon_group *group, uint32_t count, meeting *m)
{
    m->own = (hello){.magic = MAGIC,
                     .header_size = sizeof(tn_header),
                     .chunk_bytes = group->chunk_bytes,
                     .devices = hash_devices(group, count),
                     .processes = group->places.processes,
                     .count = count};
    m->received[group->places.process] = m->own;
    TN_TRY(meet(group, m));
    TN_TRY(compare(group, m));
    return place(group, m);
}

/* Frees the memory unless messages may still use it. */
static void end(const tenon_group *group, meeting *m)
{
    bool is_free = true;
    for (uint32_t p = 0; p < group->places.processes; p++) {
        is_free = tn_message_cancel(&group->transport, &m->sends[p]) && is_free;
        is_free = tn_message_cancel(&group->transport, &m->receives[p]) && is_free;
    }
    if (is_free)
        free(m);
}

tenon_status tn_connect(tenon_group *group, uint32_t count)
{
    const size_t n = group->places.processes;
    if (n == 1) {
        group->places.starts[1] = count;
        group->is_uniform = hash_devices(group, count) != 0;
        return TENON_OK;
    }
    for (uint32_t p = 0; p <= n; p++) /* until the members are known, ranks are processes */
        group->places.starts[p] = p;
    meeting *m = calloc(1, sizeof *m + n * (sizeof(hello) + 2 * sizeof(tn_message)));
    if (m == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "no memory to connect the processes");
    m->received = (hello *)(m + 1);
    m->sends = (tn_message *)(m->received + n);
    m->receives = m->sends + n;
    const tenon_status status = connect_all(group, count, m);
    end(group, m);
    return status;
}
