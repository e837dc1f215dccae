/** @file
 * Checkpoints: named tensors and texts in a file, and requests to end.
 *
 * The format is safetensors (https://github.com/huggingface/safetensors, "Format"): a JSON header
 * with the name, type, shape and place of each tensor, then their elements in row-major order, low
 * bytes first. Other programs read these files, and these functions read theirs. A file does not
 * record the devices and the number of processes that wrote it. A checkpoint from which training
 * resumes with the same bits contains the parameters, the optimizer's state (velocities, moments,
 * masters) and, as texts, the numbers of which the random state consists: the step, the seed and
 * the sequence (random.h).
 *
 * One process saves a list of tensors by one call:
 *
 *     const tenon_named_tensor tensors[] = {{"w", w}, {"w.velocity", v}};
 *     const tenon_named_text texts[] = {{"step", "300"}};
 *     tenon_checkpoint_save(stream, "run.safetensors", tensors, 2, texts, 1);
 *
 * and continues from it:
 *
 *     tenon_checkpoint_open("run.safetensors", &checkpoint);
 *     tenon_checkpoint_load(stream, checkpoint, tensors, 2);
 *     step = strtoull(tenon_checkpoint_text(checkpoint, "step"), NULL, 10);
 *     tenon_checkpoint_close(checkpoint);
 *
 * Tensors that are divided among devices or processes are written to one file as well, slice by
 * slice, by a tenon_checkpoint_writer: each stream of a process writes its own slices, and one
 * process receives those of the others (for example by tenon_group_receive). Each of any
 * number of processes then reads its slices from the file (tenon_checkpoint_read).
 *
 * Saving never damages an earlier file. The new one is written beside it as `PATH.writing-…`,
 * forced to the disk, and renamed. A process that is killed before the rename leaves the temporary
 * file, which the next save to the same path on the same host removes. A program that has the old
 * file open can still read it; on Windows, the rename fails while another program has it open.
 *
 * Tensors pass through a staging buffer of at most TENON_CHECKPOINT_STAGING bytes of host memory;
 * those that are neither dense nor shared with the host through another of that size on the device.
 */
#ifndef TENON_CHECKPOINT_H
#define TENON_CHECKPOINT_H

#include <tenon/tensor.h>

TENON_BEGIN_C

/** The largest number of bytes of a tensor in host memory at a time: 4 MiB. */
#define TENON_CHECKPOINT_STAGING 4194304

/** A tensor with its name in the file. */
typedef struct tenon_named_tensor {
    const char *name;    /**< UTF-8; any text but "__metadata__" */
    tenon_tensor tensor; /**< the tensor; not owned */
} tenon_named_tensor;

/** A text with its name: an entry of the file's metadata. */
typedef struct tenon_named_text {
    const char *name; /**< UTF-8 */
    const char *text; /**< UTF-8 */
} tenon_named_text;

/** Saves tensors to a file, which is replaced as a whole or not at all. Returns when the file is
 * on the disk. Waits for the stream's earlier work on the tensors.
 *  @param path        the file; a symbolic link is replaced by the file
 *  @param tensors     `count` tensors with different names, of any strides, in memory of the
 *                     stream's context
 *  @param count       may be 0
 *  @param texts       `text_count` texts with different names; NULL if there are none
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a name or text that is not UTF-8 or is
 *          used twice; a tensor; a header above 100 MB) · TENON_ERROR_FILE (the file cannot be
 *          written: the message has the system's reason; the earlier file is unchanged) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_DEVICE_LOST · for strided
 *          tensors of devices with their own memory also the statuses of tenon_copy.
 *          Callable from any thread */
TENON_CALL tenon_status tenon_checkpoint_save(tenon_stream *stream, const char *path,
                                              const tenon_named_tensor *tensors, uint32_t count,
                                              const tenon_named_text *texts, uint32_t text_count);

/** Writes a file slice by slice. Opaque. Several threads may write at the same time, each with its
 * own stream; the other calls on a writer must not overlap with any. */
typedef struct tenon_checkpoint_writer tenon_checkpoint_writer;

/** Begins a file.
 *  @param tensors  names, types and complete shapes; views without memory are sufficient
 *                  (tenon_tensor_view), and strides and memory are ignored. Read only during the
 *                  call
 *  @param texts    as tenon_checkpoint_save
 *  @param out      receives the writer, to be freed with tenon_checkpoint_writer_destroy; NULL on
 *                  failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_FILE ·
 *          TENON_ERROR_OUT_OF_MEMORY, as tenon_checkpoint_save */
TENON_CALL tenon_status tenon_checkpoint_writer_create(
    const char *path, const tenon_named_tensor *tensors, uint32_t count,
    const tenon_named_text *texts, uint32_t text_count, tenon_checkpoint_writer **out);

/** Writes a slice of a tensor: the entries of its first dimension from `start` on. Slices may be
 * written in any order, each once.
 *  @param stream  of any context; waits for its earlier work on the slice
 *  @param name    of one of the writer's tensors
 *  @param start   in entries of the first dimension; 0 for a scalar
 *  @param slice   of the tensor's type, and of its shape except for the first dimension; any
 *                 strides
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; an unknown name; another type or shape; a
 *          range outside of the tensor, or of which a part has been written; a writer that has been
 *          committed): the writer is unchanged · otherwise as tenon_checkpoint_save: the writer can
 *          then only be destroyed */
TENON_CALL tenon_status tenon_checkpoint_writer_write(tenon_stream *stream,
                                                      tenon_checkpoint_writer *writer,
                                                      const char *name, int64_t start,
                                                      const tenon_tensor *slice);

/** Forces the file to the disk and gives it its name.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a tensor that is not complete, whose
 *          missing range the message names: it can still be written; a second commit) ·
 *          TENON_ERROR_FILE (also if a write has failed): the earlier file is unchanged */
TENON_CALL tenon_status tenon_checkpoint_writer_commit(tenon_checkpoint_writer *writer);

/** Frees a writer. Without a commit, removes its temporary file. NULL is allowed. */
TENON_API void tenon_checkpoint_writer_destroy(tenon_checkpoint_writer *writer);

/** An open file. Opaque. Any number of threads may use it at the same time, each with its own
 * stream. It stays readable if the file is replaced or removed. */
typedef struct tenon_checkpoint tenon_checkpoint;

/** Opens a file and reads and validates its header. Every byte after the header must belong to one
 * tensor.
 *  @param out  receives the open file, to be freed with tenon_checkpoint_close; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_FILE (it cannot be read, is
 *          truncated or is not valid; the message has the tensor's name and the value, or the
 *          byte) · TENON_ERROR_OUT_OF_MEMORY */
TENON_CALL tenon_status tenon_checkpoint_open(const char *path, tenon_checkpoint **out);

/** Closes a file. NULL is allowed. */
TENON_API void tenon_checkpoint_close(tenon_checkpoint *checkpoint);

/** Returns the number of tensors; 0 for NULL. */
TENON_API uint32_t tenon_checkpoint_count(const tenon_checkpoint *checkpoint);

/** Returns the name of a tensor, in the order of their elements in the file; NULL if `index` is not
 * below the count. The string is valid until the file is closed. */
TENON_API const char *tenon_checkpoint_name(const tenon_checkpoint *checkpoint, uint32_t index);

/** Returns the type and shape of a tensor as a row-major view without memory.
 *  @param view  receives the view; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL) · TENON_ERROR_FILE (the file has no such
 *          tensor) · TENON_ERROR_UNSUPPORTED (a type that tenon_dtype lacks, for example "U64"; a
 *          rank above TENON_MAX_RANK; no elements, but sizes whose strides overflow) */
TENON_CALL tenon_status tenon_checkpoint_view(const tenon_checkpoint *checkpoint, const char *name,
                                              tenon_tensor *view);

/** Returns the number of texts; 0 for NULL. */
TENON_API uint32_t tenon_checkpoint_text_count(const tenon_checkpoint *checkpoint);

/** Returns the name of a text, in the order of the file; NULL if `index` is not below the count.
 * The string is valid until the file is closed. */
TENON_API const char *tenon_checkpoint_text_name(const tenon_checkpoint *checkpoint,
                                                 uint32_t index);

/** Returns a text by its name; NULL if there is none. The string is valid until the file is
 * closed. */
TENON_API const char *tenon_checkpoint_text(const tenon_checkpoint *checkpoint, const char *name);

/** Checks that the file has exactly these tensors: names, types and shapes, for example before
 * weights of another model are loaded.
 *  @param tensors  as tenon_checkpoint_writer_create
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_FILE (the message names a tensor
 *          that is missing, one that is in the file only, or one of another type or shape, with
 *          both types and shapes) */
TENON_CALL tenon_status tenon_checkpoint_check(const tenon_checkpoint *checkpoint,
                                               const tenon_named_tensor *tensors, uint32_t count);

/** Reads a tensor, or a slice of it: the entries of its first dimension from `start` on. Returns
 * when the elements are in the tensor.
 *  @param name    of a tensor of the file
 *  @param start   in entries of the first dimension; 0 for a scalar
 *  @param tensor  receives the elements; of the type of the tensor in the file, and of its shape,
 *                 except that the first dimension may be smaller; any strides, but its elements
 *                 must not overlap
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a tensor; a range outside of the tensor
 *          in the file) · TENON_ERROR_FILE (no such tensor; another type or shape; the file cannot
 *          be read any more, the tensor is then undefined) · TENON_ERROR_UNSUPPORTED (as
 *          tenon_checkpoint_view) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_DEVICE_LOST · for strided tensors of devices with their own memory also the
 *          statuses of tenon_copy */
TENON_CALL tenon_status tenon_checkpoint_read(tenon_stream *stream,
                                              const tenon_checkpoint *checkpoint, const char *name,
                                              int64_t start, const tenon_tensor *tensor);

/** Reads all tensors: tenon_checkpoint_check, and tenon_checkpoint_read for each. Nothing is read
 * if the check fails.
 *  @return as these two */
TENON_CALL tenon_status tenon_checkpoint_load(tenon_stream *stream,
                                              const tenon_checkpoint *checkpoint,
                                              const tenon_named_tensor *tensors, uint32_t count);

/* Requests to end: batch systems and container managers send SIGTERM some time before they kill a
 * process. A training loop watches for it, and saves a checkpoint and ends at the next step. */

/** Installs a handler of SIGTERM that only records the signal: the process continues. The handler
 * that was installed before is not called. On Windows also records that the console is closed, or
 * the session ends; the system then ends the process after a few seconds. Each call needs a
 * tenon_termination_unwatch; calls nest.
 *  @return TENON_OK · TENON_ERROR_UNSUPPORTED (the system rejects the handler).
 *          Callable from any thread */
TENON_CALL tenon_status tenon_termination_watch(void);

/** Returns 1 if a request to end has arrived since the first tenon_termination_watch, otherwise 0.
 * Callable from any thread, and from signal handlers. */
TENON_API int tenon_termination_requested(void);

/** Ends a tenon_termination_watch. The last one restores the handler that was installed before,
 * unless the application has installed another one since. Does nothing without a watch. */
TENON_API void tenon_termination_unwatch(void);

TENON_END_C

#endif
