#include "group/message.h"

#include "base/status.h"

/* A transport sets no message of its own: its status is described here. */
static tenon_status fail_at_peer(const tn_places *places, uint32_t peer, const char *what,
                                 tenon_status status)
{
    return tn_fail(status, "rank %u: %s: %s", (unsigned)places->starts[peer], what,
                   tenon_status_string(status));
}

tenon_status tn_message_send(const tenon_transport *t, const tn_places *places, uint32_t peer,
                             uint32_t tag, const void *bytes, uint64_t size, tn_message *message)
{
    const tenon_status status = t->send(t->state, peer, tag, bytes, size, &message->request);
    if (status != TENON_OK)
        return fail_at_peer(places, peer, "the transport cannot send to its process", status);
    message->peer = peer;
    message->is_pending = true;
    return TENON_OK;
}

tenon_status tn_message_receive(const tenon_transport *t, const tn_places *places, uint32_t peer,
                                uint32_t tag, void *bytes, uint64_t size, tn_message *message)
{
    const tenon_status status = t->receive(t->state, peer, tag, bytes, size, &message->request);
    if (status != TENON_OK)
        return fail_at_peer(places, peer, "the transport cannot receive from its process", status);
    message->peer = peer;
    message->is_pending = true;
    return TENON_OK;
}

tenon_status tn_message_test(const tenon_transport *t, const tn_places *places, tn_message *message,
                             bool *moved)
{
    int done = 0;
    if (!message->is_pending)
        return TENON_OK;
    const tenon_status status = t->test(t->state, message->request, &done);
    if (status != TENON_OK) {
        message->is_pending = false;
        return fail_at_peer(places, message->peer, "a message to or from its process has failed",
                            status);
    }
    if (done) {
        message->is_pending = false;
        *moved = true;
    }
    return TENON_OK;
}

bool tn_message_cancel(const tenon_transport *t, tn_message *message)
{
    if (!message->is_pending)
        return true;
    message->is_pending = false;
    return t->cancel(t->state, message->request) == TENON_OK;
}
