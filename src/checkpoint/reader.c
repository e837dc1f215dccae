/* Open checkpoints: their lists, comparing them with expected tensors, and reading. */
#include "base/checked.h"
#include "base/platform.h"
#include "base/shape.h"
#include "checkpoint/chunks.h"
#include "checkpoint/header.h"
#include "runtime/memory/transfer.h"

#include <errno.h>
#include <inttypes.h>

#define ERROR_TEXT_SIZE 128

struct tenon_checkpoint {
    tn_mutex *lock; /* of the file and its position */
    tn_mutex mutex;
    FILE *file;
    char *path;
    tn_header header;
    uint64_t data; /* place of the first tensor in the file */
};

static tenon_status file_fail(const char *caller, const char *path, int error)
{
    char text[ERROR_TEXT_SIZE];
    tn_error_text(error, text, sizeof text);
    return tn_fail(TENON_ERROR_FILE, "%s: %s: %s", caller, path, text);
}

/* Reads the number of bytes of the header. */
static tenon_status read_header_size(const char *caller, const char *path, FILE *file,
                                     uint64_t file_size, uint64_t *size)
{
    unsigned char bytes[TN_HEADER_SIZE];
    *size = 0;
    if (file_size < sizeof bytes)
        return tn_fail(TENON_ERROR_FILE,
                       "%s: %s has %" PRIu64 " bytes, a safetensors file at least %zu", caller,
                       path, file_size, sizeof bytes);
    if (fread(bytes, 1, sizeof bytes, file) != sizeof bytes)
        return file_fail(caller, path, errno != 0 ? errno : EIO);
    for (size_t i = sizeof bytes; i-- > 0;)
        *size = *size << 8 | bytes[i];
    if (*size > TN_HEADER_MOST)
        return tn_fail(TENON_ERROR_FILE,
                       "%s: %s: the header has %" PRIu64 " bytes, must be at most %u: this is not "
                       "a safetensors file",
                       caller, path, *size, TN_HEADER_MOST);
    if (*size > file_size - sizeof bytes)
        return tn_fail(TENON_ERROR_FILE,
                       "%s: %s: the header has %" PRIu64 " bytes, and the file only %" PRIu64
                       ": it is truncated",
                       caller, path, *size, file_size);
    return TENON_OK;
}

static tenon_status read_header(const char *caller, tenon_checkpoint *checkpoint,
                                uint64_t file_size)
{
    uint64_t size;
    const char *path = checkpoint->path;
    errno = 0;
    TN_TRY(read_header_size(caller, path, checkpoint->file, file_size, &size));
    char *text = malloc((size_t)size + 1);
    if (text == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: %s: no memory for the header", caller, path);
    if (fread(text, 1, (size_t)size, checkpoint->file) != size) {
        free(text);
        return file_fail(caller, path, errno != 0 ? errno : EIO);
    }
    TN_TRY(tn_header_read(caller, path, TENON_ERROR_FILE, text, (size_t)size, &checkpoint->header));
    checkpoint->data = TN_HEADER_SIZE + size;
    const uint64_t data = file_size - checkpoint->data, wanted = checkpoint->header.data_size;
    if (data != wanted)
        return tn_fail(TENON_ERROR_FILE,
                       "%s: %s: the tensors have %" PRIu64 " bytes, and the file has %" PRIu64
                       " after the header%s",
                       caller, path, wanted, data, data < wanted ? ": it is truncated" : "");
    return TENON_OK;
}

static tenon_status open_file(const char *caller, const char *path, tenon_checkpoint *checkpoint)
{
    tn_file_facts facts;
    checkpoint->path = tn_text_copy(path);
    if (checkpoint->path == NULL || !tn_mutex_init(&checkpoint->mutex))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    checkpoint->lock = &checkpoint->mutex;
    errno = 0;
    checkpoint->file = tn_file_open_linked(path, &facts);
    if (checkpoint->file == NULL)
        return file_fail(caller, path, errno != 0 ? errno : EIO);
    if (!facts.is_file)
        return tn_fail(TENON_ERROR_FILE, "%s: %s is not a regular file", caller, path);
    return read_header(caller, checkpoint, facts.size);
}

TENON_API tenon_status tenon_checkpoint_open(const char *path, tenon_checkpoint **out)
{
    static const char caller[] = "tenon_checkpoint_open";
    if (out != NULL)
        *out = NULL;
    if (path == NULL || out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       path == NULL ? "path" : "out");
    tenon_checkpoint *made = calloc(1, sizeof *made);
    if (made == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    const tenon_status status = open_file(caller, path, made);
    if (status == TENON_OK)
        *out = made;
    else
        tenon_checkpoint_close(made);
    return status;
}

TENON_API void tenon_checkpoint_close(tenon_checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    tn_header_free(&checkpoint->header);
    if (checkpoint->file != NULL)
        fclose(checkpoint->file);
    if (checkpoint->lock != NULL)
        tn_mutex_destroy(checkpoint->lock);
    free(checkpoint->path);
    free(checkpoint);
}

TENON_API uint32_t tenon_checkpoint_count(const tenon_checkpoint *checkpoint)
{
    return checkpoint != NULL ? checkpoint->header.count : 0;
}

TENON_API const char *tenon_checkpoint_name(const tenon_checkpoint *checkpoint, uint32_t index)
{
    return index < tenon_checkpoint_count(checkpoint) ? checkpoint->header.tensors[index].name
                                                      : NULL;
}

TENON_API uint32_t tenon_checkpoint_text_count(const tenon_checkpoint *checkpoint)
{
    return checkpoint != NULL ? checkpoint->header.text_count : 0;
}

TENON_API const char *tenon_checkpoint_text_name(const tenon_checkpoint *checkpoint, uint32_t index)
{
    return index < tenon_checkpoint_text_count(checkpoint) ? checkpoint->header.texts[index].name
                                                           : NULL;
}

TENON_API const char *tenon_checkpoint_text(const tenon_checkpoint *checkpoint, const char *name)
{
    for (uint32_t i = 0; name != NULL && i < tenon_checkpoint_text_count(checkpoint); i++)
        if (strcmp(checkpoint->header.texts[i].name, name) == 0)
            return checkpoint->header.texts[i].text;
    return NULL;
}

static tenon_status absent(const char *caller, const tenon_checkpoint *checkpoint, const char *name)
{
    return tn_fail(TENON_ERROR_FILE, "%s: %s has no tensor \"%.200s\"; it has %" PRIu32 " others",
                   caller, checkpoint->path, name, checkpoint->header.count);
}

/* Fails unless views support the tensor's type and rank. */
static tenon_status check_support(const char *caller, const tenon_checkpoint *checkpoint,
                                  const tn_file_tensor *tensor)
{
    if (tensor->rank > TENON_MAX_RANK)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: tensor \"%.200s\" has %" PRIu32 " dimensions, must be at most %d",
                       caller, checkpoint->path, tensor->name, tensor->rank, TENON_MAX_RANK);
    if (tensor->type == NULL || tensor->type->dtype == TENON_DTYPE_INVALID)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: tensor \"%.200s\" has the type %.40s, which tenon_dtype lacks",
                       caller, checkpoint->path, tensor->name, tensor->type_name);
    return TENON_OK;
}

/* Returns NULL and sets the status if there is no such tensor, or views do not support it. */
static const tn_file_tensor *find(const char *caller, const tenon_checkpoint *checkpoint,
                                  const char *name, tenon_status *status)
{
    if (checkpoint == NULL || name == NULL) {
        *status = tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                          checkpoint == NULL ? "checkpoint" : "name");
        return NULL;
    }
    const tn_file_tensor *found = tn_header_find(&checkpoint->header, name);
    *status =
        found != NULL ? check_support(caller, checkpoint, found) : absent(caller, checkpoint, name);
    return *status == TENON_OK ? found : NULL;
}

TENON_API tenon_status tenon_checkpoint_view(const tenon_checkpoint *checkpoint, const char *name,
                                             tenon_tensor *view)
{
    static const char caller[] = "tenon_checkpoint_view";
    tenon_status status;
    const tn_file_tensor *found = find(caller, checkpoint, name, &status);
    if (found == NULL)
        return status;
    if (view == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: view is NULL", caller);
    const tenon_tensor made = tenon_tensor_view(found->type->dtype, found->rank, found->shape);
    /* The strides of an empty tensor can overflow although its elements do not. */
    if (tenon_tensor_check(&made) != TENON_OK)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: %s: tensor \"%.200s\" has no elements, but sizes whose strides overflow", caller,
            checkpoint->path, found->name);
    *view = made;
    return TENON_OK;
}

/* Fails because a tensor of the file has another type or shape than one of the caller. */
static tenon_status mismatch(const char *caller, const tenon_checkpoint *checkpoint,
                             const tn_file_tensor *found, const tenon_tensor *tensor)
{
    char shape[160], file_shape[160];
    const uint32_t rank = found->rank < TENON_MAX_RANK ? found->rank : TENON_MAX_RANK;
    const bool is_known = found->type != NULL && found->type->dtype != TENON_DTYPE_INVALID;
    return tn_fail(TENON_ERROR_FILE, "%s: %s: tensor \"%.200s\" is %s %s, in the file %.40s %s",
                   caller, checkpoint->path, found->name, tenon_dtype_string(tensor->dtype),
                   tn_shape_text(tensor->rank, tensor->shape, shape),
                   is_known ? tenon_dtype_string(found->type->dtype) : found->type_name,
                   tn_shape_text(rank, found->shape, file_shape));
}

/* Fails because the file has a tensor that is not in the list, or the list has one twice. */
static tenon_status unexpected(const char *caller, const tenon_checkpoint *checkpoint,
                               const tenon_named_tensor *tensors, uint32_t count)
{
    const tn_header *header = &checkpoint->header;
    bool *is_expected = tn_array(header->count, sizeof *is_expected);
    if (is_expected == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < count && status == TENON_OK; i++) {
        const ptrdiff_t place = tn_header_find(header, tensors[i].name) - header->tensors;
        if (is_expected[place])
            status = tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                             "%s: two tensors of the list are named \"%.200s\"", caller,
                             tensors[i].name);
        is_expected[place] = true;
    }
    for (uint32_t i = 0; i < header->count && status == TENON_OK; i++)
        if (!is_expected[i])
            status = tn_fail(
                TENON_ERROR_FILE, "%s: %s has a tensor \"%.200s\" (%.40s), which is not expected",
                caller, checkpoint->path, header->tensors[i].name, header->tensors[i].type_name);
    free(is_expected);
    return status;
}

static tenon_status check(const char *caller, const tenon_checkpoint *checkpoint,
                          const tenon_named_tensor *tensors, uint32_t count)
{
    if (checkpoint == NULL || (tensors == NULL && count > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       checkpoint == NULL ? "checkpoint" : "tensors");
    for (uint32_t i = 0; i < count; i++) {
        char argument[48];
        snprintf(argument, sizeof argument, "tensors[%" PRIu32 "]", i);
        TN_TRY(tn_tensor_check(caller, argument, &tensors[i].tensor));
        if (tensors[i].name == NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s.name is NULL", caller, argument);
        const tn_file_tensor *found = tn_header_find(&checkpoint->header, tensors[i].name);
        if (found == NULL)
            return absent(caller, checkpoint, tensors[i].name);
        if (!tn_file_tensor_matches(found, &tensors[i].tensor, 0))
            return mismatch(caller, checkpoint, found, &tensors[i].tensor);
    }
    return unexpected(caller, checkpoint, tensors, count);
}

TENON_API tenon_status tenon_checkpoint_check(const tenon_checkpoint *checkpoint,
                                              const tenon_named_tensor *tensors, uint32_t count)
{
    return check("tenon_checkpoint_check", checkpoint, tensors, count);
}

/* The part of a file that a tensor is read from. */
typedef struct file_range {
    const char *caller;
    const tenon_checkpoint *checkpoint;
    uint64_t place; /* of the first byte in the file */
} file_range;

static tenon_status fetch(void *user, void *buffer, uint64_t first, size_t size)
{
    const file_range *range = user;
    const tenon_checkpoint *checkpoint = range->checkpoint;
    tn_mutex_lock(checkpoint->lock);
    int error = tn_file_seek(checkpoint->file, range->place + first);
    if (error == 0) {
        errno = 0;
        /* The file's size was checked, but another program may have shortened it since. */
        if (fread(buffer, 1, size, checkpoint->file) != size)
            error = errno != 0 ? errno : EIO;
    }
    tn_mutex_unlock(checkpoint->lock);
    return error == 0 ? TENON_OK : file_fail(range->caller, checkpoint->path, error);
}

static tenon_status read_tensor(const char *caller, tenon_stream *stream,
                                const tenon_checkpoint *checkpoint, const char *name, int64_t start,
                                const tenon_tensor *tensor)
{
    tenon_status status;
    const tn_file_tensor *found = find(caller, checkpoint, name, &status);
    if (found == NULL)
        return status;
    TN_TRY(tn_transfer_check(caller, stream, tensor, NULL));
    TN_TRY(tn_output_check(caller, "tensor", tensor));
    if (!tn_file_tensor_matches(found, tensor, 1))
        return mismatch(caller, checkpoint, found, tensor);
    file_range range = {.caller = caller, .checkpoint = checkpoint};
    if (!tn_file_tensor_has(found, start, tensor, &range.place))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: tensor \"%.200s\" has %" PRId64 " entries, not %" PRId64
                       " from %" PRId64 " on",
                       caller, checkpoint->path, name, tn_entries(found->rank, found->shape),
                       tn_entries(tensor->rank, tensor->shape), start);
    range.place += checkpoint->data;
    status = tn_chunks_upload(caller, stream, tensor, fetch, &range);
    return status == TENON_OK || status == TENON_ERROR_FILE
               ? status
               : tn_fail_because(status, "%s: tensor \"%.200s\"", caller, name);
}

TENON_API tenon_status tenon_checkpoint_read(tenon_stream *stream,
                                             const tenon_checkpoint *checkpoint, const char *name,
                                             int64_t start, const tenon_tensor *tensor)
{
    return read_tensor("tenon_checkpoint_read", stream, checkpoint, name, start, tensor);
}

TENON_API tenon_status tenon_checkpoint_load(tenon_stream *stream,
                                             const tenon_checkpoint *checkpoint,
                                             const tenon_named_tensor *tensors, uint32_t count)
{
    static const char caller[] = "tenon_checkpoint_load";
    TN_TRY(check(caller, checkpoint, tensors, count));
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(tn_transfer_check(caller, stream, &tensors[i].tensor, NULL));
        TN_TRY(tn_output_check(caller, tensors[i].name, &tensors[i].tensor));
    }
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(read_tensor(caller, stream, checkpoint, tensors[i].name, 0, &tensors[i].tensor));
    return TENON_OK;
}
