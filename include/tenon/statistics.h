/** @file
 * Statistics of a context, and control of its persistent cache.
 */
#ifndef TENON_STATISTICS_H
#define TENON_STATISTICS_H

#include <tenon/context.h>

TENON_BEGIN_C

/** Counters since the context was created, and the time spent. Times of concurrent threads add up;
 * the time of a self-check includes its builds. Start from TENON_STATISTICS_INIT. */
typedef struct tenon_statistics {
    uint32_t struct_size;     /**< sizeof(tenon_statistics) */
    uint32_t reserved;        /**< 0 */
    uint64_t programs_built;  /**< programs compiled from source, including those of probes and
                                 self-checks */
    uint64_t programs_loaded; /**< programs loaded from the store (tenon/store.h) */
    uint64_t programs_kept;   /**< programs written to the store */
    uint64_t trials;          /**< capability probes run */
    uint64_t trials_recalled; /**< capability results found in the store */
    uint64_t checks;          /**< self-checks of kernel variants run */
    uint64_t checks_wrong;    /**< self-checks after which a variant was barred */
    uint64_t checks_recalled; /**< self-check results found in the store */
    uint64_t plans;           /**< plans made, including those of immediate calls */
    uint64_t plans_found;     /**< immediate calls whose plan was in the context's cache */
    uint64_t workspace_bytes; /**< bytes of device memory that streams hold as workspace now */
    double build_seconds;     /**< time compiling programs */
    double load_seconds;      /**< time loading programs from the store */
    double keep_seconds;      /**< time writing programs to the store */
    double trial_seconds;     /**< time of capability probes */
    double check_seconds;     /**< time of self-checks */
    double plan_seconds;  /**< time making plans, including solver choice, self-checks and builds */
    uint64_t pool_bytes;  /**< bytes of device memory in the pool now (pool_limit) */
    uint64_t pool_served; /**< buffers reused from the pool */
    uint64_t memory_peak; /**< the most bytes of device memory allocated at one time: buffers that
                             the context created and tenon_memory_destroy has not released,
                             including workspace and packed weights, without the pool's unused
                             buffers and without those of self-checks */
} tenon_statistics;

/** Initializes a tenon_statistics, to be passed to tenon_context_statistics. */
#define TENON_STATISTICS_INIT                                                                      \
    {                                                                                              \
        sizeof(tenon_statistics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0    \
    }

/** Reads the statistics of a context.
 *  @param out  its struct_size must be set; receives the rest
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer or an invalid struct_size) */
TENON_CALL tenon_status tenon_context_statistics(const tenon_context *context,
                                                 tenon_statistics *out);

/** Writes built programs that are not in the store yet to the store. Most drivers return their
 * binaries immediately, so nothing is left to write. PoCL compiles every kernel again for its
 * binary, which takes from a tenth of a second to a second each, and no kernel of the process may
 * run meanwhile. On PoCL, programs are therefore written in the background when the process has
 * been idle for a tenth of a second (a call made then waits until the current program is written),
 * and for about a second when the only context is released or the process ends. This call writes
 * all of them now. Programs are not written in the background or at the end of the process if there
 * is a second context or an imported one, or once the application has obtained the OpenCL context
 * or a queue (tenon_context_cl, tenon_stream_cl, a queue given to tenon_stream_create), because its
 * own kernels are not known to Tenon. In these cases, use this call when none of the application's
 * kernels is running.
 *
 * Waits for calls of other threads and for the work enqueued on the context's streams; work that
 * waits for an event that never completes blocks this call forever. Calls of other threads that
 * enqueue a kernel wait while a program is written. Callable from any thread.
 *  @return TENON_OK, also without a store · TENON_ERROR_INVALID_ARGUMENT (NULL) ·
 *          TENON_ERROR_UNSUPPORTED (on PoCL: the process has another context, or this is called
 *          from a callback of a call that has not ended; nothing more is written) ·
 *          TENON_ERROR_PROCESS */
TENON_CALL tenon_status tenon_context_keep(tenon_context *context);

/** Stops the library's background work, for a process that is about to end without running its exit
 * handlers: before quick_exit, exec, or re-raising a signal. A process that returns from main or
 * calls exit does this automatically. Plans queued for the background are dropped (they fail with
 * TENON_ERROR_PROCESS). The call waits for the current build, then for the work of streams on CPUs
 * for at most 10 seconds, and then writes programs to the store for about a second, under the
 * conditions of tenon_context_keep. Later calls work as before, except that a kernel that crashes
 * the process during its self-check is no longer remembered. Must not be called from a signal
 * handler. Callable from any thread. */
TENON_API void tenon_settle(void);

/** Called for a kernel variant that is not used on the device.
 *  @param solver  its solver and compiler options, in one line; or the capability's name
 *  @param why     the reason: the result of the self-check, or the crash */
typedef void (*tenon_barred_callback)(void *user, const char *solver, const char *why);

/** Calls `barred` for every kernel variant that failed its self-check on the context's device, in
 * this context or, according to the store, in any earlier process, and for each kernel variant or
 * capability that was running when a process crashed, which is not retried for some time.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL context or callback) ·
 *          TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_context_barred(tenon_context *context, tenon_barred_callback barred,
                                             void *user);

TENON_END_C

#endif
