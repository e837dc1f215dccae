/*
 * Launches: recorded once, when a plan is made, and enqueued as often as it runs. The only place
 * that enqueues kernels.
 *
 * Every kernel of the library takes the same form of arguments: pointers to memory first, then one
 * struct by value with all that is not a pointer; a few, then, local memory. A recording keeps a
 * template of that struct and a list of patches: what a run fills in, which are the offsets of the
 * operands and the scalars that may differ from call to call. So a run is a copy, a few stores, and
 * one clSetKernelArg for the struct.
 */
#ifndef TN_RUNTIME_QUEUE_LAUNCH_H
#define TN_RUNTIME_QUEUE_LAUNCH_H

#include "runtime/program/build_list.h"
#include "runtime/queue/stream.h"

/* The operand number that stands for the stream's workspace. */
#define TN_WORKSPACE 255
/* Together within the 1024 bytes that every device takes. */
#define TN_MAX_POINTERS  12
#define TN_MAX_ARGS_SIZE 896
#define TN_MAX_PATCHES   32

typedef enum tn_patch_kind {
    TN_PATCH_OFFSET, /* adds the operand's offset in units of `unit` bytes to the 64-bit integer */
    TN_PATCH_SCALAR_F32, /* sets the 64-bit integer to the bits of the scalar as a float */
    TN_PATCH_SCALAR_F64, /* the same as a double */
    TN_PATCH_SCALAR_BITS /* sets it to the scalar's own 64 bits, which need not be a number's */
} tn_patch_kind;

typedef struct tn_patch {
    uint8_t kind;   /* tn_patch_kind */
    uint8_t source; /* which operand, or which scalar */
    uint16_t at;    /* where in the struct, bytes */
    uint32_t unit;
} tn_patch;

/* The bits that a patch of a scalar writes. */
int64_t tn_patch_scalar(uint8_t kind, const double *value);

/* A routine of another library, which enqueues kernels of its own: `buffers` are the operands,
 * `args` the struct with its patches applied. It is called between a barrier that waits for what
 * the call is to wait for, and a marker that gives the call's event. */
typedef tenon_status (*tn_foreign)(const char *caller, cl_command_queue queue,
                                   const cl_mem *buffers, const void *args);

/* What is launched. All that it points to is copied. */
typedef struct tn_launch {
    tn_foreign foreign;  /* instead of a kernel; `kernel` is then its name, which must last */
    const char *source;  /* as embedded: "gemm/plain" */
    const char *options; /* for the compiler */
    const char *kernel;
    uint32_t dimensions;
    size_t global[3];
    size_t local[3]; /* local[0] 0: the driver chooses */
    uint8_t operands[TN_MAX_POINTERS];
    uint32_t operand_count;
    size_t local_argument; /* bytes of a __local argument, which comes last; 0: there is none */
    const void *args;
    size_t args_size;
    const tn_patch *patches;
    uint32_t patch_count;
} tn_launch;

/* Members of a launch: the struct of its arguments, and an array of patches. */
#define TN_ARGS(value)   .args = &(value), .args_size = sizeof(value)
#define TN_PATCHES(list) .patches = list, .patch_count = sizeof(list) / sizeof *(list)

typedef struct tn_step tn_step;

typedef struct tn_recording {
    tenon_context *context;
    tn_step *steps;
    uint32_t step_count, step_capacity;
    bool has_foreign;             /* some step is a routine of another library */
    uint64_t workspace;           /* bytes that a run needs */
    const struct tn_frame *frame; /* of the child that is being recorded (frame.h); or NULL */
    /* Not NULL: launches are not recorded, only their programs listed. */
    tn_build_list *build_requests;
} tn_recording;

/* An operand of a run. */
typedef struct tn_operand {
    tenon_memory memory;
    uint64_t offset; /* bytes */
} tn_operand;

/* Appends a launch: builds its program and checks it against the device's limits. Empty launches (a
 * global size of 0) are left out. */
tenon_status tn_record(const char *caller, tn_recording *recording, const tn_launch *launch);

void tn_recording_destroy(tn_recording *recording);

/* Writes the kernels' names and sizes, as snprintf would. */
size_t tn_recording_describe(const tn_recording *recording, char *text, size_t size);

/* Enqueues the launches in order. `label` is what the trace callback is told. */
tenon_status tn_recording_run(const char *caller, const char *label, tenon_stream *stream,
                              const tn_recording *recording, const tn_operand *operands,
                              const double *scalars, const tenon_sync *sync);

#endif
