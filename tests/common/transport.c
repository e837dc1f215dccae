#include "common/transport.h"

#include "base/platform.h"
#include "common/testing.h"

typedef struct request {
    struct request *next;
    bool is_send, is_received, is_cancelled;
    uint32_t process, peer, tag; /* of the process that made the request */
    uint64_t size;
    void *bytes; /* a copy, of a send */
    unsigned delay;
    bool is_lost, waits_for_receive;
} request;

typedef struct node {
    test_net *net;
    uint32_t process, flags;
    uint64_t messages;
} node;

struct test_net {
    tn_mutex lock;
    uint32_t processes;
    test_net_faults faults;
    test_random random;
    node nodes[TENON_TRANSPORT_MAX_PROCESSES];
    bool is_dead[TENON_TRANSPORT_MAX_PROCESSES];
    request *first, **last; /* of all processes, in the order of their calls */
    uint64_t sends;
    unsigned errors;
    test_net *smaller;
};

/* Counts a message; the process may die by it. Returns true if it is dead. */
static bool count_message(node *n)
{
    test_net *net = n->net;
    n->messages++;
    if (net->faults.kill_at > 0 && n->process == net->faults.killed &&
        n->messages >= net->faults.kill_at)
        net->is_dead[n->process] = true;
    return net->is_dead[n->process];
}

static tenon_status add(node *n, request **out, bool is_send, uint32_t peer, uint32_t tag,
                        void *bytes, uint64_t size)
{
    test_net *net = n->net;
    if (peer >= net->processes || peer == n->process || tag >= TENON_TRANSPORT_TAGS || size == 0 ||
        size > TENON_TRANSPORT_MESSAGE_MAX)
        net->errors++;
    request *r = calloc(1, sizeof *r);
    if (r != NULL && is_send)
        r->bytes = malloc((size_t)size);
    if (r == NULL || (is_send && r->bytes == NULL)) {
        free(r);
        return TENON_ERROR_OUT_OF_MEMORY;
    }
    if (is_send)
        memcpy(r->bytes, bytes, (size_t)size);
    else
        r->bytes = bytes;
    r->is_send = is_send;
    r->process = n->process;
    r->peer = peer;
    r->tag = tag;
    r->size = size;
    r->delay = (unsigned)test_between(&net->random, 0, net->faults.delay);
    r->waits_for_receive = net->faults.waits_for_receive && test_one_in(&net->random, 2);
    r->is_lost = is_send && ++net->sends == net->faults.drop_at;
    *net->last = r;
    net->last = &r->next;
    *out = r;
    return TENON_OK;
}

static tenon_status begin(void *state, bool is_send, uint32_t peer, uint32_t tag, void *bytes,
                          uint64_t size, void **out)
{
    node *n = state;
    request *r = NULL;
    tenon_status status = TENON_OK;
    tn_mutex_lock(&n->net->lock);
    if (count_message(n))
        status = TENON_ERROR_INCOMPLETE;
    else if (n->net->faults.is_told && peer < n->net->processes && n->net->is_dead[peer])
        status = TENON_ERROR_PEER_LOST;
    else
        status = add(n, &r, is_send, peer, tag, bytes, size);
    tn_mutex_unlock(&n->net->lock);
    if (status == TENON_OK)
        *out = r;
    return status;
}

static tenon_status net_send(void *state, uint32_t to, uint32_t tag, const void *bytes,
                             uint64_t size, void **out)
{
    return begin(state, true, to, tag, (void *)(uintptr_t)bytes, size, out);
}

static tenon_status net_receive(void *state, uint32_t from, uint32_t tag, void *bytes,
                                uint64_t size, void **out)
{
    return begin(state, false, from, tag, bytes, size, out);
}

/* Frees a request, and a send that has been both tested and received or lost. */
static void drop(test_net *net, request *r)
{
    request **at = &net->first;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    if (net->last == &r->next)
        net->last = at;
    if (r->is_send)
        free(r->bytes);
    free(r);
}

/* Returns the first of the process's own receives of this kind: an earlier one is served first. */
static request *first_receive(test_net *net, const request *like)
{
    request *r = net->first;
    while (r != NULL && (r->is_send || r->process != like->process || r->peer != like->peer ||
                         r->tag != like->tag || r->is_received))
        r = r->next;
    return r;
}

/* Returns the first message for a receive that has not been received. */
static request *find_message(test_net *net, const request *receive)
{
    request *r = net->first;
    while (r != NULL && (!r->is_send || r->process != receive->peer ||
                         r->peer != receive->process || r->tag != receive->tag || r->is_received))
        r = r->next;
    return r;
}

/* Lets a message arrive at the receive that is first in line. */
static void deliver(test_net *net, const request *tested)
{
    request *receive = first_receive(net, tested);
    request *message = receive != NULL ? find_message(net, receive) : NULL;
    if (message == NULL || message->is_lost)
        return;
    if (message->delay > 0) {
        message->delay--;
        return;
    }
    if (message->size != receive->size)
        net->errors++;
    else
        memcpy(receive->bytes, message->bytes, (size_t)message->size);
    receive->is_received = message->is_received = true;
    if (message->is_cancelled)
        drop(net, message);
}

static bool is_done(const request *r)
{
    return r->is_received || (r->is_send && !r->waits_for_receive);
}

/* A send that is over for its process stays until it is received. */
static void end(test_net *net, request *r)
{
    r->is_cancelled = true;
    if (!r->is_send || r->is_received)
        drop(net, r);
}

static tenon_status net_test(void *state, void *data, int *done)
{
    node *n = state;
    test_net *net = n->net;
    request *r = data;
    tenon_status status = TENON_OK;
    *done = 0;
    tn_mutex_lock(&net->lock);
    if (net->is_dead[n->process]) {
        status = TENON_ERROR_INCOMPLETE;
    } else {
        if (!r->is_send)
            deliver(net, r);
        if (is_done(r))
            *done = 1;
        else if (net->faults.is_told && net->is_dead[r->peer])
            status = TENON_ERROR_PEER_LOST;
    }
    if (*done || status != TENON_OK)
        end(net, r);
    tn_mutex_unlock(&net->lock);
    return status;
}

static tenon_status net_cancel(void *state, void *data)
{
    node *n = state;
    tn_mutex_lock(&n->net->lock);
    end(n->net, data);
    tn_mutex_unlock(&n->net->lock);
    return TENON_OK;
}

static void net_end(void *state)
{
    (void)state;
}

static tenon_status net_shrink(void *state, tenon_transport *survivors, uint32_t *old_ranks)
{
    node *n = state;
    test_net *net = n->net;
    uint32_t count = 0, rank = 0;
    tn_mutex_lock(&net->lock);
    for (uint32_t p = 0; p < net->processes; p++) {
        if (p == n->process)
            rank = count;
        if (!net->is_dead[p])
            old_ranks[count++] = p;
    }
    if (net->smaller == NULL)
        net->smaller = test_net_create(count, &(test_net_faults){.seed = net->faults.seed + 1});
    tn_mutex_unlock(&net->lock);
    test_net_transport(net->smaller, rank, n->flags, survivors);
    return TENON_OK;
}

test_net *test_net_create(uint32_t processes, const test_net_faults *faults)
{
    test_net *net = calloc(1, sizeof *net);
    assert_non_null(net);
    assert_true(tn_mutex_init(&net->lock));
    net->processes = processes;
    net->last = &net->first;
    for (uint32_t p = 0; p < processes; p++)
        net->nodes[p] = (node){.net = net, .process = p};
    test_net_set_faults(net, faults);
    return net;
}

void test_net_transport(test_net *net, uint32_t process, uint32_t flags, tenon_transport *transport)
{
    *transport = (tenon_transport)TENON_TRANSPORT_INIT;
    transport->size = net->processes;
    transport->rank = process;
    transport->flags = net->nodes[process].flags = flags;
    transport->state = &net->nodes[process];
    transport->send = net_send;
    transport->receive = net_receive;
    transport->test = net_test;
    transport->cancel = net_cancel;
    transport->shrink = net_shrink;
    transport->destroy = net_end;
}

void test_net_set_faults(test_net *net, const test_net_faults *faults)
{
    tn_mutex_lock(&net->lock);
    net->faults = *faults;
    net->random = test_random_for(faults->seed);
    net->sends = 0;
    for (uint32_t p = 0; p < net->processes; p++)
        net->nodes[p].messages = 0;
    tn_mutex_unlock(&net->lock);
}

void test_net_kill(test_net *net, uint32_t process)
{
    tn_mutex_lock(&net->lock);
    net->is_dead[process] = true;
    net->faults.is_told = true;
    tn_mutex_unlock(&net->lock);
}

uint64_t test_net_messages(test_net *net, uint32_t process)
{
    tn_mutex_lock(&net->lock);
    const uint64_t messages = net->nodes[process].messages;
    tn_mutex_unlock(&net->lock);
    return messages;
}

uint64_t test_net_sends(test_net *net)
{
    tn_mutex_lock(&net->lock);
    const uint64_t sends = net->sends;
    tn_mutex_unlock(&net->lock);
    return sends;
}

unsigned test_net_errors(test_net *net)
{
    unsigned errors;
    tn_mutex_lock(&net->lock);
    errors = net->errors;
    for (const request *r = net->first; r != NULL; r = r->next)
        errors += !r->is_cancelled;
    tn_mutex_unlock(&net->lock);
    return errors + (net->smaller != NULL ? test_net_errors(net->smaller) : 0);
}

void test_net_destroy(test_net *net)
{
    if (net == NULL)
        return;
    test_net_destroy(net->smaller);
    while (net->first != NULL)
        drop(net, net->first);
    tn_mutex_destroy(&net->lock);
    free(net);
}
