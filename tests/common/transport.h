/*
 * A transport between "processes" that are threads or groups of one process. It delivers messages
 * as late and in as different an order as the rules of tenon/transport.h allow, and can drop a
 * message or kill a process at any of its calls.
 */
#ifndef TENON_TESTS_TRANSPORT_H
#define TENON_TESTS_TRANSPORT_H

#include <tenon/transport.h>

#include <stdbool.h>

typedef struct test_net test_net;

/* The faults of a network. All zeros: none. */
typedef struct test_net_faults {
    uint64_t seed;
    unsigned delay;         /* a message arrives after up to this many tests of its receiver */
    bool waits_for_receive; /* half of the sends complete only when they are received */
    uint64_t
        kill_at;     /* number of the message, sent or received, at which a process dies; 0: none */
    uint32_t killed; /* the process */
    bool is_told;    /* the others are told: as ULFM does; otherwise they hear no more of it */
    uint64_t drop_at; /* number of the send, of all processes, that is lost; 0: none */
} test_net_faults;

/* Creates a network. */
test_net *test_net_create(uint32_t processes, const test_net_faults *faults);

/* Fills the table of a process. `flags` as in tenon_transport. */
void test_net_transport(test_net *net, uint32_t process, uint32_t flags,
                        tenon_transport *transport);

/* Changes the faults; messages are numbered from 0 again. */
void test_net_set_faults(test_net *net, const test_net_faults *faults);

/* Kills a process. The others are told. */
void test_net_kill(test_net *net, uint32_t process);

/* Returns the number of messages of a process, sent and received, and of sends of all processes,
 * since the faults were set. */
uint64_t test_net_messages(test_net *net, uint32_t process);
uint64_t test_net_sends(test_net *net);

/* Returns the number of broken rules: sizes that differ, invalid tags and peers, requests that are
 * left. */
unsigned test_net_errors(test_net *net);

/* Frees the network and those that it was shrunk to. */
void test_net_destroy(test_net *net);

#endif
