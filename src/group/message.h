/* Messages of a group through its transport. */
#ifndef TN_GROUP_MESSAGE_H
#define TN_GROUP_MESSAGE_H

#include "group/member.h"

/* Tags by the purpose of a message. Messages of one purpose are sent and received in the same
 * order. */
enum {
    TN_TAG_HELLO = 0,   /* when the group is created */
    TN_TAG_FAILURE = 1, /* a process tells that it has broken the group */
    TN_TAG_HEADER = 2,  /* headers of collectives */
    TN_TAG_DATA = 16,   /* of collectives: by phase and number of the range */
    TN_TAG_PAIR = 8192  /* of sends and receives: by sender, receiver and purpose */
};

/* Numbers of ranges with a tag of their own. More than are in flight at a time. */
#define TN_TAG_RANGES 16

static inline uint32_t tn_data_tag(uint64_t range, uint32_t phase)
{
    return TN_TAG_DATA + 2 * (uint32_t)(range % TN_TAG_RANGES) + phase;
}

typedef enum tn_pair_tag {
    TN_PAIR_SENDER,
    TN_PAIR_RECEIVER,
    TN_PAIR_DATA,
    TN_PAIR_TAGS
} tn_pair_tag;

static inline uint32_t tn_pair_tag_of(uint32_t from, uint32_t to, tn_pair_tag purpose)
{
    return TN_TAG_PAIR + (from * TENON_GROUP_MAX_MEMBERS + to) * TN_PAIR_TAGS + purpose;
}

/* A message. All zeros: not started. */
typedef struct tn_message {
    uint32_t peer; /* process */
    bool is_pending;
    void *request;
} tn_message;

/* Start a message. On failure the text names the rank of the peer's first member. */
tenon_status tn_message_send(const tenon_transport *transport, const tn_places *places,
                             uint32_t peer, uint32_t tag, const void *bytes, uint64_t size,
                             tn_message *message);
tenon_status tn_message_receive(const tenon_transport *transport, const tn_places *places,
                                uint32_t peer, uint32_t tag, void *bytes, uint64_t size,
                                tn_message *message);

/* Updates is_pending. Sets *moved if the message has ended. */
tenon_status tn_message_test(const tenon_transport *transport, const tn_places *places,
                             tn_message *message, bool *moved);

/* Ends a pending message. Returns false if its bytes may still be used. */
bool tn_message_cancel(const tenon_transport *transport, tn_message *message);

#endif
