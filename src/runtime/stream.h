/* What a stream holds: its queue, its kernel objects, its workspace. */
#ifndef TN_RUNTIME_STREAM_H
#define TN_RUNTIME_STREAM_H

#include "runtime/context.h"

#include <tenon/tensor.h>

/* The memory that launches get as workspace. */
typedef struct tn_arena {
    tenon_memory memory;
    uint64_t offset, size; /* which bytes of it */
    uint64_t limit;        /* what size may grow to */
    bool borrowed;         /* the caller's: never grown, never freed */
} tn_arena;

struct tenon_stream {
    tenon_context *context;
    cl_command_queue queue;
    cl_kernel *kernels; /* by the number of the program cache; NULL until first used */
    uint32_t kernel_count;
    tn_arena arena;
    tenon_trace_callback trace;
    void *trace_user;
};

/* Refuses a NULL stream. */
tenon_status tn_stream_check(const char *operation, const tenon_stream *stream);

/* Refuses a wait list that is not one. */
tenon_status tn_sync_check(const char *operation, const tenon_sync *sync);

/* The stream's own object of a kernel, made at the first use. */
tenon_status tn_stream_kernel(const char *operation, tenon_stream *stream, uint32_t number,
                              cl_kernel *kernel);

/* Sees to it that the arena has `bytes`. */
tenon_status tn_arena_require(const char *operation, tenon_stream *stream, uint64_t bytes);

#endif
