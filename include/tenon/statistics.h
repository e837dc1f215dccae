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
 * at once, and nothing is left to write. PoCL compiles every kernel once more for them, and its
 * kernels must not run meanwhile: there it is done at the end of the process's only context, for a
 * second or so, and here, whatever it takes: for a process that lives long, or prepares a store for
 * others. Waits for work that the context's streams have left; other threads that make a context or
 * a stream meanwhile wait for this.
 *  @return TENON_OK, also where nothing is kept · TENON_ERROR_INVALID_ARGUMENT (NULL) ·
 *          TENON_ERROR_UNSUPPORTED (on PoCL: the context has a stream, or the process has another
 *          context; nothing is written) */
TENON_CALL tenon_status tenon_context_keep(tenon_context *context);

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
