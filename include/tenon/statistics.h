/** @file
 * What a context has done so far. */
#ifndef TENON_STATISTICS_H
#define TENON_STATISTICS_H

#include <tenon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Counts since the context was made, and the seconds that went into them. Times of threads that
 * work at once add up; those of a self-check have in them what it builds. Start from
 * TENON_STATISTICS_INIT. */
typedef struct tenon_statistics {
    uint32_t struct_size;     /**< sizeof(tenon_statistics) */
    uint32_t reserved;        /**< 0 */
    uint64_t programs_built;  /**< compiled from source, for trials and self-checks too */
    uint64_t programs_loaded; /**< from the store (tenon/store.h) */
    uint64_t programs_kept;   /**< written to the store */
    uint64_t trials;          /**< of capabilities, made */
    uint64_t trials_recalled; /**< found in the store */
    uint64_t checks;          /**< self-checks of kernel variants, made */
    uint64_t checks_wrong;    /**< of these, those after which a variant is barred */
    uint64_t checks_recalled; /**< outcomes found in the store */
    uint64_t plans;           /**< made, for immediate calls too */
    uint64_t plans_found;     /**< immediate calls whose plan was there */
    uint64_t workspace_bytes; /**< of device memory that streams hold for workspace now */
    double build_seconds;     /**< compiling programs */
    double load_seconds;      /**< taking programs from the store */
    double keep_seconds;      /**< writing programs to the store */
    double trial_seconds;     /**< trials of capabilities */
    double check_seconds;     /**< self-checks */
    double plan_seconds;      /**< making plans: choosing, checking and building included */
    uint64_t pool_bytes;      /**< of device memory that the pool keeps now (pool_limit) */
    uint64_t pool_served;     /**< buffers that were handed out again */
} tenon_statistics;

/** Initialises a tenon_statistics for tenon_context_statistics. */
#define TENON_STATISTICS_INIT                                                                      \
    {                                                                                              \
        sizeof(tenon_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0       \
    }

/** Reads the counts.
 *  @param out  its struct_size must be set; receives the rest
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer, a struct_size that cannot be)
 */
TENON_CALL tenon_status tenon_context_statistics(const tenon_context *context,
                                                 tenon_statistics *out);

/** Writes to the store what has been built and is not there yet. Most drivers give their binaries
 * at once, and nothing is left to write. PoCL compiles every kernel once more for them, which takes
 * from a tenth of a second to a second each, and no kernel of the process may run meanwhile. There
 * programs are written in the background once the process has been idle for a tenth of a second
 * (a call that comes then waits until the program at hand is written), and for a second or so when
 * the only context is released or the process ends; this call writes all of them now. Nothing is
 * written in the background, nor when the process ends, while there is a second context or an
 * imported one, nor once the application has asked for the OpenCL context or a queue
 * (tenon_context_cl, tenon_stream_cl, a queue given to tenon_stream_create), since its own kernels
 * are not known: then this call is for a moment at which none of them runs.
 *
 * Waits for calls of other threads and for work that the context's streams have been given; work
 * that waits for an event which is never set is waited for without end. Calls of other threads that
 * enqueue a kernel wait while a program is written. From any thread.
 *  @return TENON_OK, also where nothing is kept · TENON_ERROR_INVALID_ARGUMENT (NULL) ·
 *          TENON_ERROR_UNSUPPORTED (on PoCL: the process has another context, or it is called from
 *          a callback of a call that has not ended; nothing more is written) ·
 *          TENON_ERROR_PROCESS */
TENON_CALL tenon_status tenon_context_keep(tenon_context *context);

/** Brings the library to rest, for a process that is about to end without its exit handlers: before
 * quick_exit, exec, or a signal that the process sends itself again. A process that returns from
 * main or calls exit does the same by itself. Plans that are queued to be made in the background
 * are dropped (they fail with TENON_ERROR_PROCESS), the build at hand is waited for, then the work
 * of streams on processors for 10 seconds at most, and programs are written to the store for a
 * second or so, under the conditions of tenon_context_keep. Later calls work as before, except that
 * a kernel that crashes the process while it is checked is no longer remembered. Not from the
 * handler of a signal. From any thread. */
TENON_API void tenon_settle(void);

/** Told of a kernel variant that is not used on the device.
 *  @param solver  its solver and the compiler's options, in a line; or the capability's name
 *  @param why     what was found wrong */
typedef void (*tenon_barred_callback)(void *user, const char *solver, const char *why);

/** Calls for every kernel variant that a self-check found wrong on the context's device, in this
 * context or, as the store has it, in any process before; and for what was running when a process
 * died, which is not tried again for a while.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL context or callback) ·
 *          TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_context_barred(tenon_context *context, tenon_barred_callback barred,
                                             void *user);

#ifdef __cplusplus
}
#endif

#endif
