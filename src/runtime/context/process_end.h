/*
 * The end of the process, one path for all that end in order: background work is stopped before
 * the driver's compiler is torn down, marks of what was being tried are withdrawn, programs are
 * stored, and from then on nobody calls the driver.
 *
 * A driver's exit handlers are registered when it is loaded, and by its first builds and runs;
 * handlers run in reverse order. So ours is registered after each of these. Where the process ends
 * in the middle of one, the thread that ends it registers ours before all handlers run, if it has
 * used Tenon and the C library allows that (glibc). For other threads a watch registers it every
 * millisecond while the first builds and runs are on their way.
 */
#ifndef TN_RUNTIME_CONTEXT_PROCESS_END_H
#define TN_RUNTIME_CONTEXT_PROCESS_END_H

/* The drivers have been loaded: from now on the end of the process, and a fork, matter. */
void tn_process_begin(void);

/* Kernels are enqueued in a stream. Cheap. */
void tn_process_runs(const void *stream);

/* A build has ended (NULL), or all that a stream was given is done: the driver may have registered
 * exit handlers. Cheap. */
void tn_process_renew(const void *stream);

/* The same where nothing is built and nothing runs in the whole process. */
void tn_process_is_idle(void);

/* This thread uses the driver, or has others use it. Cheap after the first time. */
void tn_process_know_thread(void);

/* A program is about to be built. Cheap after the first time. */
void tn_process_watch_builds(void);

/* The last context has gone: no thread of the library's is left. */
void tn_process_rest(void);

/* Has layers above stop their background work when the process ends: `hook` must not wait for the
 * driver. Called once each. */
void tn_process_on_end(void (*hook)(void));

#endif
