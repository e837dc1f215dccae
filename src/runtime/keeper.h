/*
 * Writing built programs to the store.
 *
 * Most drivers hand out a binary at once. PoCL compiles every kernel anew for it, and the binary
 * has what it has compiled for launches so far: there a thread of the library's writes, when
 * nothing has been built for a while, what has been launched.
 */
#ifndef TN_RUNTIME_KEEPER_H
#define TN_RUNTIME_KEEPER_H

#include "runtime/context.h"

tenon_status tn_keeper_init(const char *operation, tn_keeper *keeper);

/* A program was built in the context or its validation context: it is to be kept. */
void tn_keeper_note(tenon_context *context);

/* Writes what is left, and ends the thread. No build may be under way. */
void tn_keeper_finish(tenon_context *context);

#endif
