/* Work of the processes of a group for tests of failures. */
#ifndef TENON_TESTS_OPS_GROUP_WORK_H
#define TENON_TESTS_OPS_GROUP_WORK_H

#include "group_case.h"

/* Longer than a wait should last: the machine may be busy. */
#define GROUP_PATIENCE_S 20.0

/* Elements of a tensor, and rounds of calls. */
enum { GROUP_WORK_COUNT = 3000, GROUP_WORK_ROUNDS = 2 };

/* Three processes in one context. */
extern const group_division group_work_base;

/* Tensors of all members. */
typedef struct group_work {
    tenon_tensor x[GROUP_MOST], y[GROUP_MOST], all[GROUP_MOST];
} group_work;

void group_open_work(const group_world *w, group_work *k);
void group_close_work(const group_world *w, group_work *k);

/* A group_part with a group_work: the same calls in every process, until one fails. */
tenon_status group_do_work(group_world *w, uint32_t process, void *data);

/* Asserts that every process has ended in time, with the right results or, except for `killed`,
 * with the status `expected` and a message that names a rank. Returns the number that failed. */
uint32_t group_assert_ends(const group_world *w, const group_work *k, const group_result *results,
                           tenon_status expected, uint32_t killed, double deadline_s);

#endif
