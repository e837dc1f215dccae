/*
 * The end of the process. All orderly ends take the same path: stop background work before the
 * driver's compiler is torn down, withdraw the crash guard's records, write programs to the store,
 * and refuse every later call of the driver.
 *
 * A driver registers exit handlers when it is loaded and whenever it uses a part of its compiler
 * for the first time: during builds, launches, and queries of a program's binary. Exit handlers run
 * in reverse order of registration, so Tenon registers its own again after these. If the process
 * ends in the middle of one, the thread that ends it registers the handler before any handler runs,
 * provided that the thread has used Tenon and the C library allows it (glibc does). For other
 * threads, a watch thread registers the handler every millisecond while the first builds and
 * launches are in progress.
 */
#ifndef TN_RUNTIME_CONTEXT_PROCESS_END_H
#define TN_RUNTIME_CONTEXT_PROCESS_END_H

/* To be called once the drivers are loaded. Installs the exit handler and the fork handler. */
void tn_process_begin(void);

/* Notes that kernels are enqueued in a stream. Cheap. */
void tn_process_note_launch(const void *stream);

/* Notes that the driver has built a program or returned its binary (NULL), or that all work of a
 * stream has completed. The driver may have registered exit handlers meanwhile, so Tenon's is
 * registered again. Cheap. */
void tn_process_reregister(const void *stream);

/* Like tn_process_reregister, when nothing is being built or running in the whole process. */
void tn_process_is_idle(void);

/* Notes that this thread uses the driver, directly or through another thread. Cheap after the
 * first call. */
void tn_process_register_thread(void);

/* Notes that a program is about to be built. Cheap after the first call. */
void tn_process_watch_builds(void);

/* Ends the library's last thread after the last context was released. */
void tn_process_stop_watch(void);

/* Registers a hook that stops the background work of a higher layer when the process ends. `hook`
 * must not wait for the driver. Call once per hook. */
void tn_process_on_end(void (*hook)(void));

#endif
