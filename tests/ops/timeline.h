/* Records when the commands of some queues and the messages of transports run. */
#ifndef TENON_TESTS_OPS_TIMELINE_H
#define TENON_TESTS_OPS_TIMELINE_H

#include <tenon/tenon.h>

#include "base/platform.h"

#include <stdbool.h>

enum { TIMELINE_PROCESSES = 2, TIMELINE_MOST = 4096 };

typedef enum timeline_kind {
    TIMELINE_KERNEL,
    TIMELINE_REDUCTION,
    TIMELINE_COPY,
    TIMELINE_MESSAGE,
    TIMELINE_KINDS
} timeline_kind;

/* An interval of tn_now; of a command: to be read from its event. */
typedef struct timeline_span {
    timeline_kind kind;
    uint32_t process;
    char name[64];
    cl_event event; /* NULL: a message */
    uint64_t begin, end;
} timeline_span;

/* What is recorded, by several threads. */
typedef struct timeline_record {
    bool is_on;
    timeline_span spans[TIMELINE_MOST];
    uint32_t count;
    cl_command_queue compute[TIMELINE_PROCESSES], own[TIMELINE_PROCESSES]; /* of the step and of the
                                                                              group */
} timeline_record;
extern timeline_record timeline;

/* Starts to record the commands of the queues, and messages. */
void timeline_start(void);

/* Forgets what was recorded. */
void timeline_clear(void);

/* Ends it, and restores the driver's functions. */
void timeline_stop(void);

/* Makes a transport that records the messages of another one, which it uses. */
tenon_transport timeline_transport(tenon_transport *next);

#endif
