/* Writing checkpoints: a temporary file, slices, and the rename. */
#include "base/checked.h"
#include "base/grow.h"
#include "base/platform.h"
#include "base/process.h"
#include "base/shape.h"
#include "checkpoint/chunks.h"
#include "checkpoint/header.h"
#include "runtime/memory/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#define ERROR_TEXT_SIZE 128
#define TEMPORARY       ".writing-"
#define DAY             (24 * 60 * 60)

/* The entries [begin, end) of a tensor's first dimension. */
typedef struct entry_range {
    int64_t begin, end;
} entry_range;

/* The ranges of a tensor that have been written, sorted, with a gap between each two. */
typedef struct written_part {
    entry_range *ranges;
    uint32_t count, capacity;
} written_part;

struct tenon_checkpoint_writer {
    tn_mutex *lock; /* of all that follows the header */
    tn_mutex mutex;
    char *path, *temporary;
    tn_header header;
    uint64_t data;       /* place of the first tensor in the file */
    FILE *file;          /* NULL after the commit */
    bool has_failed;     /* a slice was begun and not written */
    written_part *parts; /* one per tensor of the header */
};

static tenon_status file_fail(const char *caller, const char *path, int error)
{
    char text[ERROR_TEXT_SIZE];
    tn_error_text(error, text, sizeof text);
    return tn_fail(TENON_ERROR_FILE, "%s: cannot write %s: %s", caller, path, text);
}

/* Returns the length of the path's folder with its last separator; 0 if the path has none. */
static size_t folder_length(const char *path)
{
    size_t length = strlen(path);
    while (length > 0 && strchr(TN_SEPARATORS, path[length - 1]) == NULL)
        length--;
    return length;
}

/* Returns the path's folder, which the caller frees; NULL if memory is short. */
static char *folder_of(const char *path)
{
    const size_t length = folder_length(path);
    char *folder = tn_text_copy(length > 0 ? path : ".");
    if (folder != NULL && length > 0)
        folder[length] = '\0';
    return folder;
}

static bool is_temporary(const char *name)
{
    return strstr(name, TEMPORARY) != NULL;
}

/* A folder, and the file whose temporary files are removed from it. */
typedef struct sweep {
    const char *path; /* of the file */
    size_t folder;    /* length of its folder */
} sweep;

/* Removes a temporary file of this path if its writer has ended, or may have ended a day ago. */
static bool sweep_one(void *user, const char *name, const tn_file_facts *facts)
{
    const sweep *s = user;
    const char *own = s->path + s->folder;
    const size_t length = strlen(own), mark = sizeof TEMPORARY - 1;
    char writer[TN_PROCESS_SIZE];
    if (strncmp(name, own, length) != 0 || strncmp(name + length, TEMPORARY, mark) != 0)
        return true;
    snprintf(writer, sizeof writer, "%s", name + length + mark);
    char *end = strrchr(writer, '-'); /* before the random letters */
    if (end != NULL)
        *end = '\0';
    const tn_process_state state = tn_process_look(writer);
    if (state == TN_PROCESS_ENDED ||
        (state == TN_PROCESS_ELSEWHERE && (int64_t)time(NULL) - facts->modified > DAY)) {
        const size_t size = s->folder + strlen(name) + 1;
        char *path = malloc(size);
        if (path != NULL) {
            snprintf(path, size, "%.*s%s", (int)s->folder, s->path, name);
            remove(path);
        }
        free(path);
    }
    return true;
}

static tenon_status begin_file(const char *caller, tenon_checkpoint_writer *writer)
{
    tn_file_facts facts;
    char process[TN_PROCESS_SIZE];
    if (tn_file_look(writer->path, &facts) == 0 && !facts.is_file)
        return tn_fail(TENON_ERROR_FILE, "%s: cannot write %s: it exists and is not a regular file",
                       caller, writer->path);
    char *folder = folder_of(writer->path);
    tn_process_name(process);
    const size_t size =
        strlen(writer->path) + sizeof TEMPORARY + strlen(process) + sizeof "-XXXXXX";
    writer->temporary = malloc(size);
    if (folder == NULL || writer->temporary == NULL) {
        free(folder);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    }
    sweep s = {writer->path, folder_length(writer->path)};
    tn_folder_visit(folder, is_temporary, sweep_one, &s);
    free(folder);
    snprintf(writer->temporary, size, "%s%s%s-XXXXXX", writer->path, TEMPORARY, process);
    errno = 0;
    writer->file = tn_file_begin(writer->temporary);
    return writer->file != NULL ? TENON_OK
                                : file_fail(caller, writer->path, errno != 0 ? errno : ENOMEM);
}

static tenon_status write_header(const char *caller, const tenon_checkpoint_writer *writer,
                                 const char *text, size_t size)
{
    unsigned char bytes[TN_HEADER_SIZE];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((uint64_t)size >> 8 * i);
    errno = 0;
    if (fwrite(bytes, 1, sizeof bytes, writer->file) != sizeof bytes ||
        fwrite(text, 1, size, writer->file) != size)
        return file_fail(caller, writer->path, errno != 0 ? errno : EIO);
    return TENON_OK;
}

/* Reads the header back, whose strings then name the tensors. */
static tenon_status take_header(const char *caller, tenon_checkpoint_writer *writer,
                                const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    if (copy == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the header", caller);
    memcpy(copy, text, size);
    TN_TRY(tn_header_read(caller, writer->path, TENON_ERROR_INVALID_ARGUMENT, copy, size,
                          &writer->header));
    writer->data = TN_HEADER_SIZE + size;
    writer->parts = tn_array(writer->header.count, sizeof *writer->parts);
    return writer->parts != NULL ? TENON_OK
                                 : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
}

static tenon_status create(const char *caller, tenon_checkpoint_writer *writer, const char *path,
                           const char *text, size_t size)
{
    writer->path = tn_text_copy(path);
    if (writer->path == NULL || !tn_mutex_init(&writer->mutex))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    writer->lock = &writer->mutex;
    TN_TRY(take_header(caller, writer, text, size));
    TN_TRY(begin_file(caller, writer));
    return write_header(caller, writer, text, size);
}

/* Returns NULL and sets the status on failure. */
static tenon_checkpoint_writer *new_writer(const char *caller, const char *path,
                                           const tenon_named_tensor *tensors, uint32_t count,
                                           const tenon_named_text *texts, uint32_t text_count,
                                           tenon_status *status)
{
    char *text = NULL;
    size_t size = 0;
    if (path == NULL) {
        *status = tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: path is NULL", caller);
        return NULL;
    }
    *status = tn_header_write(caller, tensors, count, texts, text_count, &text, &size);
    if (*status != TENON_OK)
        return NULL;
    tenon_checkpoint_writer *made = calloc(1, sizeof *made);
    *status = made != NULL ? create(caller, made, path, text, size)
                           : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    free(text);
    if (*status == TENON_OK)
        return made;
    tenon_checkpoint_writer_destroy(made);
    return NULL;
}

TENON_API tenon_status tenon_checkpoint_writer_create(const char *path,
                                                      const tenon_named_tensor *tensors,
                                                      uint32_t count, const tenon_named_text *texts,
                                                      uint32_t text_count,
                                                      tenon_checkpoint_writer **out)
{
    static const char caller[] = "tenon_checkpoint_writer_create";
    tenon_status status;
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = new_writer(caller, path, tensors, count, texts, text_count, &status);
    return status;
}

TENON_API void tenon_checkpoint_writer_destroy(tenon_checkpoint_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->file != NULL)
        (void)tn_file_keep(writer->file, writer->temporary, writer->path, false, false);
    for (uint32_t i = 0; writer->parts != NULL && i < writer->header.count; i++)
        free(writer->parts[i].ranges);
    if (writer->lock != NULL)
        tn_mutex_destroy(writer->lock);
    tn_header_free(&writer->header);
    free(writer->parts);
    free(writer->temporary);
    free(writer->path);
    free(writer);
}

/* Adds a range to the written ones. Returns false if they have an entry in common; *no_memory tells
 * that memory is short instead. */
static bool add_range(written_part *part, entry_range range, bool *no_memory)
{
    uint32_t at = 0;
    while (at < part->count && part->ranges[at].end <= range.begin)
        at++;
    *no_memory = false;
    if (at < part->count && part->ranges[at].begin < range.end)
        return false;
    const bool joins_before = at > 0 && part->ranges[at - 1].end == range.begin,
               joins_after = at < part->count && part->ranges[at].begin == range.end;
    if (joins_before || joins_after) {
        if (joins_before && joins_after) {
            part->ranges[at - 1].end = part->ranges[at].end;
            part->count--;
            memmove(&part->ranges[at], &part->ranges[at + 1],
                    (part->count - at) * sizeof *part->ranges);
        } else if (joins_before) {
            part->ranges[at - 1].end = range.end;
        } else {
            part->ranges[at].begin = range.begin;
        }
        return true;
    }
    *no_memory = !tn_grow(&part->ranges, part->count, &part->capacity, sizeof *part->ranges);
    if (*no_memory)
        return false;
    memmove(&part->ranges[at + 1], &part->ranges[at], (part->count - at) * sizeof *part->ranges);
    part->ranges[at] = range;
    part->count++;
    return true;
}

/* Fails unless the slice is a part of the tensor. Sets *place as tn_file_tensor_has. */
static tenon_status check_slice(const char *caller, const tn_file_tensor *tensor, int64_t start,
                                const tenon_tensor *slice, uint64_t *place)
{
    char shape[160], whole[160];
    if (tn_file_tensor_matches(tensor, slice, 1) && tn_file_tensor_has(tensor, start, slice, place))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: slice is %s %s from entry %" PRId64 " on, not a part of \"%.200s\", %s %s",
                   caller, tenon_dtype_string(slice->dtype),
                   tn_shape_text(slice->rank, slice->shape, shape), start, tensor->name,
                   tenon_dtype_string(tensor->type->dtype),
                   tn_shape_text(tensor->rank, tensor->shape, whole));
}

/* Registers the slice as written. */
static tenon_status reserve(const char *caller, tenon_checkpoint_writer *writer,
                            const tn_file_tensor *tensor, entry_range range)
{
    tenon_status status = TENON_OK;
    bool no_memory = false;
    tn_mutex_lock(writer->lock);
    if (writer->file == NULL)
        status = tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is finished", caller, writer->path);
    else if (writer->has_failed)
        status = tn_fail(TENON_ERROR_FILE, "%s: an earlier write to %s has failed", caller,
                         writer->path);
    else if (range.begin < range.end &&
             !add_range(&writer->parts[tensor - writer->header.tensors], range, &no_memory))
        status = no_memory ? tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller)
                           : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                                     "%s: a part of entries %" PRId64 " to %" PRId64
                                     " of tensor \"%.200s\" has been written before",
                                     caller, range.begin, range.end - 1, tensor->name);
    tn_mutex_unlock(writer->lock);
    return status;
}

/* The place in the file of a slice. */
typedef struct file_place {
    const char *caller;
    tenon_checkpoint_writer *writer;
    uint64_t place;
} file_place;

static tenon_status store(void *user, void *buffer, uint64_t first, size_t size)
{
    const file_place *to = user;
    tenon_checkpoint_writer *writer = to->writer;
    tn_mutex_lock(writer->lock);
    int error = tn_file_seek(writer->file, to->place + first);
    if (error == 0) {
        errno = 0;
        if (fwrite(buffer, 1, size, writer->file) != size)
            error = errno != 0 ? errno : EIO;
    }
    tn_mutex_unlock(writer->lock);
    return error == 0 ? TENON_OK : file_fail(to->caller, writer->path, error);
}

static tenon_status write_slice(const char *caller, tenon_stream *stream,
                                tenon_checkpoint_writer *writer, const char *name, int64_t start,
                                const tenon_tensor *slice)
{
    TN_TRY(tn_transfer_check(caller, stream, slice, NULL));
    const tn_file_tensor *tensor = tn_header_find(&writer->header, name);
    if (tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is begun without a tensor \"%.200s\"",
                       caller, writer->path, name);
    file_place to = {.caller = caller, .writer = writer};
    TN_TRY(check_slice(caller, tensor, start, slice, &to.place));
    const int64_t size = tn_entries(slice->rank, slice->shape);
    TN_TRY(reserve(caller, writer, tensor, (entry_range){start, start + size}));
    if (size == 0)
        return TENON_OK;
    to.place += writer->data;
    const tenon_status status = tn_chunks_download(caller, stream, slice, store, &to);
    if (status != TENON_OK) {
        tn_mutex_lock(writer->lock);
        writer->has_failed = true;
        tn_mutex_unlock(writer->lock);
    }
    return status == TENON_OK || status == TENON_ERROR_FILE
               ? status
               : tn_fail_because(status, "%s: tensor \"%.200s\"", caller, name);
}

TENON_API tenon_status tenon_checkpoint_writer_write(tenon_stream *stream,
                                                     tenon_checkpoint_writer *writer,
                                                     const char *name, int64_t start,
                                                     const tenon_tensor *slice)
{
    static const char caller[] = "tenon_checkpoint_writer_write";
    if (writer == NULL || name == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       writer == NULL ? "writer" : "name");
    return write_slice(caller, stream, writer, name, start, slice);
}

/* Fails if entries of a tensor were not written. */
static tenon_status check_complete(const char *caller, const tenon_checkpoint_writer *writer)
{
    for (uint32_t i = 0; i < writer->header.count; i++) {
        const tn_file_tensor *tensor = &writer->header.tensors[i];
        const written_part *part = &writer->parts[i];
        const int64_t entries = tensor->elements > 0 ? tn_entries(tensor->rank, tensor->shape) : 0;
        const int64_t first =
            part->count > 0 && part->ranges[0].begin == 0 ? part->ranges[0].end : 0;
        const uint32_t next = first > 0 ? 1 : 0;
        if (first < entries)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: entries %" PRId64 " to %" PRId64
                           " of tensor \"%.200s\" have not been written",
                           caller, writer->path, first,
                           (next < part->count ? part->ranges[next].begin : entries) - 1,
                           tensor->name);
    }
    return TENON_OK;
}

static tenon_status commit(const char *caller, tenon_checkpoint_writer *writer)
{
    if (writer->file == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is finished", caller, writer->path);
    if (writer->has_failed)
        return tn_fail(TENON_ERROR_FILE, "%s: an earlier write to %s has failed", caller,
                       writer->path);
    TN_TRY(check_complete(caller, writer));
    char *folder = folder_of(writer->path);
    if (folder == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    errno = 0;
    int error = tn_file_sync(writer->file);
    errno = error;
    error = tn_file_keep(writer->file, writer->temporary, writer->path, error == 0, true);
    writer->file = NULL;
    if (error == 0)
        tn_folder_sync(folder);
    free(folder);
    return error == 0 ? TENON_OK : file_fail(caller, writer->path, error);
}

TENON_API tenon_status tenon_checkpoint_writer_commit(tenon_checkpoint_writer *writer)
{
    static const char caller[] = "tenon_checkpoint_writer_commit";
    return writer != NULL ? commit(caller, writer)
                          : tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: writer is NULL", caller);
}

TENON_API tenon_status tenon_checkpoint_save(tenon_stream *stream, const char *path,
                                             const tenon_named_tensor *tensors, uint32_t count,
                                             const tenon_named_text *texts, uint32_t text_count)
{
    static const char caller[] = "tenon_checkpoint_save";
    tenon_status status;
    TN_TRY(tn_stream_check(caller, stream));
    tenon_checkpoint_writer *writer =
        new_writer(caller, path, tensors, count, texts, text_count, &status);
    if (writer == NULL)
        return status;
    for (uint32_t i = 0; i < count && status == TENON_OK; i++)
        status = write_slice(caller, stream, writer, tensors[i].name, 0, &tensors[i].tensor);
    if (status == TENON_OK)
        status = commit(caller, writer);
    tenon_checkpoint_writer_destroy(writer);
    return status;
}
