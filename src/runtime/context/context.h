/* What a context holds, with the types of its parts, which the files of their names work on. Layers
 * above keep what is theirs in slots, whose destructors they give. */
#ifndef TN_RUNTIME_CONTEXT_CONTEXT_H
#define TN_RUNTIME_CONTEXT_CONTEXT_H

#include "base/log.h"
#include "base/store.h"
#include "device/host_times.h"
#include "runtime/opencl/device.h"
#include "runtime/queue/queue_tracker.h"
#include "runtime/opencl/listener.h"
#include "runtime/context/statistics.h"

#include <tenon/stream.h>

#include "base/platform.h"
#include <stdatomic.h>

/* One more than the last. */
enum { TN_CAPABILITY_COUNT = TENON_CAPABILITY_AMD_WMMA + 1 };

typedef struct tn_capability_result {
    bool known, available;
    bool told;           /* the compiler says what would else be measured */
    int way;             /* which of the trial's options passed */
    char types[8];       /* of a matrix unit: those of the trial's types that came out right */
    const char *options; /* what the trial was compiled with where it passed; static */
    char reason[256];
} tn_capability_result;

typedef struct tn_capabilities {
    tn_mutex lock;
    tn_capability_result results[TN_CAPABILITY_COUNT];
    atomic_uint unmade; /* how many trials could not be made */
} tn_capabilities;

/* Ways for a kernel to have local memory, as common/local.clh numbers them. */
typedef enum tn_local_way {
    TN_LOCAL_ARRAY,    /* an array in the kernel */
    TN_LOCAL_ARGUMENT, /* a __local argument, whose size the launch gives */
    TN_LOCAL_ENLARGED, /* an array that is enlarged in the program's PTX */
    TN_LOCAL_WAYS
} tn_local_way;

enum { TN_LOCAL_SIZES = 5 };

typedef struct tn_local_result {
    bool known, works;
    char reason[256];
} tn_local_result;

/* What trials found of each way and size (runtime/probe/local_memory.c); the lock is that of
 * capabilities. */
typedef struct tn_local_memory {
    tn_local_result results[TN_LOCAL_WAYS][TN_LOCAL_SIZES];
} tn_local_memory;

/* Takes a kernel that a plan needs: the embedded source, the options of its build, its name, and
 * the work-items of its work-group (0 where the driver may choose). */
typedef void (*tn_kernel_listener)(void *user, const char *source, const char *options,
                                   const char *kernel, size_t work_group);

typedef struct tn_program tn_program;

/* A kernel function of a built program. Its number is an index that streams keep their cl_kernel
 * objects under. */
typedef struct tn_kernel {
    tn_program *program;
    char name[32];
    size_t max_work_group; /* CL_KERNEL_WORK_GROUP_SIZE */
} tn_kernel;

typedef struct tn_program_cache {
    tn_mutex lock;
    tn_condition built;
    tn_program **programs;
    uint32_t program_count, program_capacity;
    tn_kernel *kernels;
    uint32_t kernel_count, kernel_capacity;
    tn_kernel_listener
        listener; /* where there is no device: told of kernels in place of building */
    void *listener_user;
} tn_program_cache;

/* What writes programs to the store knows of a context (runtime/program/binary_writer.c, whose lock
 * guards it). */
typedef struct tn_binary_writer {
    tenon_context *next; /* of all contexts of devices */
    tn_queue_tracker streams;
    cl_event *marks; /* of what was enqueued when the gate had seen so many entries; or NULL */
    uint32_t mark_count;
    uint64_t marked_entries;
    bool is_imported;
    atomic_bool is_shared; /* the application has had the OpenCL context, or a queue of it */
} tn_binary_writer;

/* A line of the log that waits until the validation context is left. */
typedef struct tn_late_line {
    struct tn_late_line *next;
    tenon_log_level level;
    char text[];
} tn_late_line;

/* Where trials and self-checks run: a private OpenCL context and queue on the same device, so that
 * they can neither wait behind the application's events nor spoil its context. Made at the first
 * need. */
typedef struct tn_validation {
    tn_recursive_mutex lock; /* a self-check may ask for a capability, which may need a trial */
    _Atomic(tenon_context *) context;
    tenon_stream *stream;
    int depth;              /* how often the lock is held */
    tenon_context *retired; /* those that a kernel has spoilt, linked by their own `retired` */
    tn_late_line *lines, **last_line;
} tn_validation;

/* Who hears what a driver reports of an OpenCL context. */
typedef struct tn_driver_listener {
    tenon_failure_callback failure;
    void *user;
    tn_listener *listener;
} tn_driver_listener;

/* Who keeps something in a context. */
typedef enum tn_slot_id { TN_SLOT_DISPATCH, TN_SLOT_COUNT } tn_slot_id;

typedef struct tn_slot {
    void *data;
    void (*destroy)(void *data);
} tn_slot;

struct tenon_context {
    atomic_uint references;
    cl_context cl; /* NULL where there is no device */
    tn_device device;
    tn_log log;
    bool is_verbose; /* says what it does (TENON_VERBOSE); `told` is then the application's log */
    tn_log told;
    tenon_progress_callback progress; /* or NULL */
    void *progress_user;
    tenon_failure_callback failure; /* or NULL */
    void *failure_user;
    /* What the driver of an OpenCL context of our own is told to report to; or NULL. */
    tn_driver_listener *driver;
    tn_statistics statistics;
    tn_log store_log;
    tn_store *store; /* of a validation context: its owner's; NULL where nothing is kept */
    char *identity;  /* what entries of the store are for */
    tn_binary_writer keeping;
    struct tn_heap *heap; /* NULL: buffers are OpenCL's */
    uint64_t workspace_limit;
    bool profiling;
    bool unchecked; /* no self-checks */
    tenon_measurements measurements;
    char *record; /* the file that calls are written down in; NULL: none */
    atomic_bool record_failed;
    bool only_chosen; /* a forced solver is refused where it would not be chosen */
    struct {
        tenon_context *next;
        tenon_stream *stream;
    } retired;            /* of a validation context that has been replaced */
    tenon_context *owner; /* of a validation context: the context that it serves, not retained; NULL
                             for any other */
    /* Part of every kernel's options: another value makes a driver compile again in place of taking
     * what it has kept. The validation context's is ahead while a self-check tries
     * (dispatch/self_check.c). */
    atomic_uint rebuild_salt;
    struct {
        atomic_bool are_settled;
        /* tn_host_times_take, or a test's; of a context without a device NULL, or a test's. */
        tn_host_timer *take;
        const struct tn_copy_probe *probe; /* a test's imaginary GPU; NULL: the device */
        tn_device_kind kind;               /* the device's, with its own numbers */
    } constants;
    tn_capabilities capabilities;
    tn_local_memory local;
    tn_validation validation;
    tn_program_cache programs;
    tn_mutex slot_lock;
    tn_slot slots[TN_SLOT_COUNT];
};

/* What is kept in a slot, made by `create` at the first call (NULL when that fails). */
void *tn_context_slot(tenon_context *context, tn_slot_id id, void *(*create)(void),
                      void (*destroy)(void *));

/* Tells the application of something that takes its time: begun (milliseconds below 0), or done,
 * which the log is told as well. */
void tn_progress_send(tenon_context *context, tenon_progress_stage stage, const char *name,
                      const char *details, double milliseconds);

/* The log of a context, or of the owner of a validation context, for whoever may be within the
 * validation context: there lines wait until it is left, since no callback runs under a lock. */
tn_log tn_context_log(tenon_context *context);

/* Sends lines that have waited (to nobody, where `log` is NULL), and frees them. */
void tn_late_lines_send(const tn_log *log, tn_late_line *lines);

/* The validation context where it has been made, or NULL. */
tenon_context *tn_validation_if_made(tenon_context *context);

#endif
