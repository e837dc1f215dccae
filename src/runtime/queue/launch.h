/*
 * Kernel launches: recorded once when a plan is created, and enqueued each time it runs. This is
 * the only place that enqueues kernels.
 *
 * All kernels have the same form of arguments: pointers to memory, then one struct by value with
 * everything else, then in some kernels a __local argument. A recording holds a template of that
 * struct and a list of patches for the values that a run sets: operand offsets and scalars. A run
 * thus copies the template, patches it, and calls clSetKernelArg once for the struct.
 */
#ifndef TN_RUNTIME_QUEUE_LAUNCH_H
#define TN_RUNTIME_QUEUE_LAUNCH_H

#include "runtime/program/build_list.h"
#include "runtime/queue/stream.h"

/* Operand numbers below this one are those of a call, except for the stream's workspace. Numbers
 * from TN_BOUND on are memory that is bound to the recording. */
#define TN_WORKSPACE 255
#define TN_BOUND     256
/* Limits of a launch. Together within the 1024 bytes of arguments that every device supports. */
#define TN_MAX_POINTERS  12
#define TN_MAX_ARGS_SIZE 896
#define TN_MAX_PATCHES   32

typedef enum tn_patch_kind {
    TN_PATCH_OFFSET, /* adds the operand's offset in units of `unit` bytes to the 64-bit integer */
    TN_PATCH_SCALAR_F32, /* sets the 64-bit integer to the bits of the scalar as a float */
    TN_PATCH_SCALAR_F64, /* the same as a double */
    TN_PATCH_SCALAR_BITS /* sets it to the scalar's 64 bits, which may be an integer */
} tn_patch_kind;

typedef struct tn_patch {
    uint8_t kind;    /* tn_patch_kind */
    uint16_t source; /* index of the operand or scalar */
    uint16_t at;     /* byte offset in the struct */
    uint32_t unit;
} tn_patch;

/* Returns the bits that a patch of a scalar writes. */
int64_t tn_patch_scalar(uint8_t kind, const double *value);

/* A routine of another library that enqueues kernels of its own. `buffers` are the operands, `args`
 * the struct with its patches applied. Tenon enqueues a barrier with the call's wait list before
 * the routine, and a marker for the call's event after it. */
typedef tenon_status (*tn_foreign)(const char *caller, cl_command_queue queue,
                                   const cl_mem *buffers, const void *args);

/* Description of a launch. tn_record copies everything that it points to. */
typedef struct tn_launch {
    tn_foreign foreign;  /* replaces the kernel; `kernel` is then its name, a static text */
    const char *source;  /* name of the embedded source: "gemm/plain" */
    const char *options; /* build options */
    const char *kernel;
    uint32_t dimensions;
    size_t global[3];
    size_t local[3]; /* local[0] is 0 if the driver chooses */
    uint16_t operands[TN_MAX_POINTERS];
    uint32_t operand_count;
    size_t local_argument; /* bytes of the __local argument, the last one; 0: none */
    const void *args;
    size_t args_size;
    const tn_patch *patches;
    uint32_t patch_count;
} tn_launch;

/* Members of a launch: the struct of its arguments, and an array of patches. */
#define TN_ARGS(value)   .args = &(value), .args_size = sizeof(value)
#define TN_PATCHES(list) .patches = list, .patch_count = sizeof(list) / sizeof *(list)

/* An operand of a run. */
typedef struct tn_operand {
    tenon_memory memory;
    uint64_t offset; /* in bytes */
} tn_operand;

typedef struct tn_step tn_step;

typedef struct tn_recording {
    tenon_context *context;
    tn_step *steps;
    uint32_t step_count, step_capacity;
    tn_operand *bound;  /* memory with the numbers from TN_BOUND on; owned, allocated by malloc */
    bool has_foreign;   /* a step is a routine of another library */
    uint64_t workspace; /* bytes */
    const struct tn_frame *frame; /* frame of the child being recorded (frame.h), or NULL */
    /* If not NULL, launches are not recorded; their programs are added to this list. */
    tn_build_list *build_requests;
} tn_recording;

/* Builds the program of a launch, checks it against the device's limits and appends it. Skips
 * launches with a global size of 0. */
tenon_status tn_record(const char *caller, tn_recording *recording, const tn_launch *launch);

/* Appends the launches of a complete recording, as a child of the frame that has been entered
 * (frame.h). `label`, which must outlive the recording, is passed to the trace callback for them.
 * The child's bound memory is not appended. */
tenon_status tn_recording_append(const char *caller, const char *label, tn_recording *recording,
                                 const tn_recording *child);

void tn_recording_destroy(tn_recording *recording);

/* Writes the kernels' names and sizes; truncates and returns the length like snprintf. */
size_t tn_recording_describe(const tn_recording *recording, char *text, size_t size);

/* Enqueues the launches in order. The trace callback receives `label`, except for launches that
 * were appended with their own. */
tenon_status tn_recording_run(const char *caller, const char *label, tenon_stream *stream,
                              const tn_recording *recording, const tn_operand *operands,
                              const double *scalars, const tenon_sync *sync);

#endif
