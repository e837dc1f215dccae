/*
 * Writing built programs to the store.
 *
 * Most drivers hand out a binary at once, and it is written when it is built. PoCL compiles every
 * kernel anew for it; while it does so, no kernel of the process starts, and one that is running
 * may end the process (docs/drivers.md). So there it is asked for when nothing can be running: at
 * the end of the process's only context, for no longer than a second and a program, or when the
 * application asks (tenon_context_keep).
 */
#ifndef TN_RUNTIME_KEEPER_H
#define TN_RUNTIME_KEEPER_H

#include "runtime/context.h"

/* A context begins. Waits while another one's programs are being written. */
void tn_keeper_enter(void);

/* A context ends, whose streams have: writes what there is time for. */
void tn_keeper_leave(tenon_context *context);

/* A stream of a context begins, or ends; what was enqueued there may go on. The first waits as
 * above. */
void tn_keeper_stream_begins(tenon_context *context);
void tn_keeper_stream_ends(tenon_context *context, cl_command_queue queue);

#endif
