/* Support for tests of collectives: groups in one or several processes, which are threads, tensors
 * of all members, and the expected results, bit by bit, in the order of the ranks. */
#ifndef TENON_TESTS_OPS_GROUP_CASE_H
#define TENON_TESTS_OPS_GROUP_CASE_H

#include "support.h"

#include "common/transport.h"

#define GROUP_MOST 8 /* members */

/* The members: rank m uses context m % context_count. Process p has the members of ranks first[p]
 * to first[p + 1] - 1. */
typedef struct group_world {
    tenon_context *contexts[GROUP_MOST];
    uint32_t context_count, count, processes;
    uint32_t first[GROUP_MOST + 1];
    tenon_stream *streams[GROUP_MOST];
    tenon_group *groups[GROUP_MOST]; /* one per process */
    test_net *net;                   /* between several processes */
    bool polls;                      /* one thread makes all groups progress by polling */
} group_world;

/* How a world is divided. */
typedef struct group_division {
    uint32_t processes; /* 0 or 1: no transport */
    bool has_threads;   /* TENON_TRANSPORT_THREADS */
    bool polls;
    bool is_plain;                /* all members use test_context */
    const char *const *selectors; /* of the members' devices; NULL: the device of test_context */
    uint32_t selector_count;
    uint64_t chunk_bytes;
    double deadline_s; /* not for the creation of the groups; 0: the default */
    test_net_faults faults;
} group_division;

/* Opens a world of `count` members, in one process or as `division` says. Members use one OpenCL
 * context twice, another one on the same device, and a part of the device; or, in turn, a context
 * on each device of `selectors`. */
void group_world_open(group_world *w, uint32_t count, const group_division *division);

/* Closes it. Fails the test if a process has broken a rule of transports. */
void group_world_close(group_world *w);

/* The part of a process in a collective: called in its thread, must not assert. */
typedef tenon_status (*group_part)(group_world *w, uint32_t process, void *data);

/* Result of a process. */
typedef struct group_result {
    tenon_status status;
    char message[1024];
    double seconds;
} group_result;

/* Runs a part in all processes at the same time. */
void group_in_processes(group_world *w, group_part part, void *data, group_result *results);

/* Tensors of one argument, one per member, in the members' contexts. */
typedef struct group_tensors {
    test_tensor image[GROUP_MOST];
    tenon_tensor view[GROUP_MOST];
    uint64_t base[GROUP_MOST]; /* offset of the image in the memory */
    uint32_t count;
    bool is_guest; /* in the memory of other tensors */
} group_tensors;

/* The places of the inputs and outputs of a member in memory. */
typedef enum group_places {
    GROUP_APART,
    GROUP_IN_PLACE, /* the output is the input, or contains it; as GROUP_ONE_MEMORY if a collective
                       has no such form */
    GROUP_ONE_MEMORY, /* one after the other in the same memory */
    GROUP_PLACES
} group_places;

typedef struct group_problem {
    tenon_dtype dtype;
    tenon_group_kind kind;
    uint32_t members, root, rank;
    int64_t shape[3]; /* of an input */
    test_layout x_layout, y_layout;
    group_places places;
} group_problem;

/* A collective, called in process `process` with the tensors of all members. */
typedef tenon_status group_function(const group_world *w, uint32_t process, const group_problem *p,
                                    const tenon_tensor *x, const tenon_tensor *y);
typedef group_function *group_collective;

/* group_reduce reduces to the member `root`; group_send sends from the last member to it. */
group_function group_all_reduce, group_reduce_scatter, group_all_gather, group_all_to_all,
    group_broadcast, group_reduce, group_send;

/* Creates the tensors of `shape`; outputs (no `random`) are poison. */
void group_make(const group_world *w, group_tensors *t, tenon_dtype dtype, uint32_t rank,
                const int64_t *shape, test_layout layout, test_random *random);
void group_destroy(group_tensors *t);
void group_upload(const group_world *w, const group_tensors *t);

/* Compares the memory of every member with its image, gaps and guard zones included. Elements may
 * differ by `ulps` units in the last place. */
void group_assert_image(const group_world *w, const group_tensors *t, int ulps);

/* Returns a problem. `divides`: the first dimension is a multiple of the members. */
group_problem group_random_problem(test_random *random, uint32_t members, bool divides);

/* Returns a problem that suits a collective. */
static inline group_problem random_problem_of(group_collective call, uint32_t members,
                                              test_random *random)
{
    const bool divides = call == group_reduce_scatter || call == group_all_to_all;
    return group_random_problem(random, members, divides);
}

/* Calls a collective in all processes and waits until it is done. */
void group_call_all(group_world *w, group_collective call, const group_problem *p,
                    const tenon_tensor *x, const tenon_tensor *y);

/* Runs random tensors through a collective, twice, and compares with the expected results. */
void group_check(group_world *w, group_collective call, group_problem p, test_random *random);

#endif
