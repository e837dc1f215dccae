/* Reading and validating the header of a safetensors file. */
#include "base/checked.h"
#include "base/grow.h"
#include "checkpoint/header.h"

#include <inttypes.h>
#include <string.h>

/* The members of a tensor's description. */
enum { HAS_TYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

static tenon_status no_memory(const tn_json *json)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: %s: no memory for the header", json->caller,
                   json->path);
}

/* Fails because of a tensor: "CALLER: PATH: tensor "NAME" …". */
static tenon_status tensor_fail(const tn_json *json, const char *name, const char *what)
{
    return tn_fail(json->invalid, "%s: %s: tensor \"%.200s\" %s", json->caller, json->path, name,
                   what);
}

static tenon_status read_shape(tn_json *json, tn_file_tensor *tensor)
{
    TN_TRY(tn_json_want(json, '['));
    tensor->rank = 0;
    tensor->elements = 1;
    if (tn_json_take(json, ']'))
        return TENON_OK;
    do {
        uint64_t size;
        TN_TRY(tn_json_integer(json, &size));
        if (size > INT64_MAX || !tn_mul_u64(tensor->elements, size, &tensor->elements) ||
            tensor->elements > INT64_MAX)
            return tensor_fail(json, tensor->name, "has a shape whose size overflows");
        if (tensor->rank < TENON_MAX_RANK)
            tensor->shape[tensor->rank] = (int64_t)size;
        tensor->rank++;
    } while (tn_json_take(json, ','));
    return tn_json_want(json, ']');
}

static tenon_status read_offsets(tn_json *json, tn_file_tensor *tensor)
{
    TN_TRY(tn_json_want(json, '['));
    TN_TRY(tn_json_integer(json, &tensor->begin));
    TN_TRY(tn_json_want(json, ','));
    TN_TRY(tn_json_integer(json, &tensor->end));
    return tn_json_want(json, ']');
}

/* Reads one member of a tensor's description. `*has` collects the members that were read. */
static tenon_status read_member(tn_json *json, tn_file_tensor *tensor, unsigned *has)
{
    const char *key;
    TN_TRY(tn_json_string(json, &key));
    TN_TRY(tn_json_want(json, ':'));
    const unsigned member = strcmp(key, "dtype") == 0          ? HAS_TYPE
                            : strcmp(key, "shape") == 0        ? HAS_SHAPE
                            : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                                               : 0;
    if (member == 0 || (*has & member) != 0)
        return tn_fail(json->invalid,
                       "%s: %s: tensor \"%.200s\" has a second or unknown member \"%.200s\"",
                       json->caller, json->path, tensor->name, key);
    *has |= member;
    if (member == HAS_TYPE)
        return tn_json_string(json, &tensor->type_name);
    return (member == HAS_SHAPE ? read_shape : read_offsets)(json, tensor);
}

/* Fails unless shape and type give the number of bytes. The size of unknown types is unknown. */
static tenon_status check_size(const tn_json *json, tn_file_tensor *tensor)
{
    tensor->type = tn_file_type_named(tensor->type_name);
    uint64_t bits;
    if (tensor->end < tensor->begin)
        return tn_fail(json->invalid,
                       "%s: %s: tensor \"%.200s\" ends at byte %" PRIu64
                       ", before its beginning, %" PRIu64,
                       json->caller, json->path, tensor->name, tensor->end, tensor->begin);
    if (tensor->type == NULL)
        return TENON_OK;
    if (!tn_mul_u64(tensor->elements, tensor->type->bits, &bits))
        return tensor_fail(json, tensor->name, "has a shape whose size overflows");
    if (bits % 8 != 0 || bits / 8 != tensor->end - tensor->begin)
        return tn_fail(json->invalid,
                       "%s: %s: tensor \"%.200s\" has %" PRIu64 " elements of %s in %" PRIu64
                       " bytes, must be %" PRIu64 " bits",
                       json->caller, json->path, tensor->name, tensor->elements, tensor->type->name,
                       tensor->end - tensor->begin, bits);
    return TENON_OK;
}

static tenon_status read_tensor(tn_json *json, const char *name, tn_header *header)
{
    unsigned has = 0;
    if (!tn_grow(&header->tensors, header->count, &header->capacity, sizeof *header->tensors))
        return no_memory(json);
    tn_file_tensor *tensor = &header->tensors[header->count];
    *tensor = (tn_file_tensor){.name = name};
    TN_TRY(tn_json_want(json, '{'));
    if (!tn_json_take(json, '}')) {
        do
            TN_TRY(read_member(json, tensor, &has));
        while (tn_json_take(json, ','));
        TN_TRY(tn_json_want(json, '}'));
    }
    if (has != HAS_ALL)
        return tensor_fail(json, name, "lacks its dtype, shape or data_offsets");
    header->count++;
    return check_size(json, tensor);
}

static tenon_status read_texts(tn_json *json, tn_header *header)
{
    if (header->text_capacity > 0)
        return tn_fail(json->invalid, "%s: %s: the header has a second \"__metadata__\"",
                       json->caller, json->path);
    /* Also without texts, to detect a second list. */
    if (!tn_grow(&header->texts, 0, &header->text_capacity, sizeof *header->texts))
        return no_memory(json);
    TN_TRY(tn_json_want(json, '{'));
    if (tn_json_take(json, '}'))
        return TENON_OK;
    do {
        tenon_named_text text;
        TN_TRY(tn_json_string(json, &text.name));
        TN_TRY(tn_json_want(json, ':'));
        TN_TRY(tn_json_string(json, &text.text));
        if (!tn_grow(&header->texts, header->text_count, &header->text_capacity,
                     sizeof *header->texts))
            return no_memory(json);
        header->texts[header->text_count++] = text;
    } while (tn_json_take(json, ','));
    return tn_json_want(json, '}');
}

static tenon_status read_all(tn_json *json, tn_header *header)
{
    if (json->at == json->end || *json->at != '{') /* white space is not allowed before it */
        return tn_json_fail(json, "'{'");
    TN_TRY(tn_json_want(json, '{'));
    if (!tn_json_take(json, '}')) {
        do {
            const char *name;
            TN_TRY(tn_json_string(json, &name));
            TN_TRY(tn_json_want(json, ':'));
            if (strcmp(name, "__metadata__") == 0)
                TN_TRY(read_texts(json, header));
            else
                TN_TRY(read_tensor(json, name, header));
        } while (tn_json_take(json, ','));
        TN_TRY(tn_json_want(json, '}'));
    }
    return tn_json_finish(json);
}

static int compare_place(const void *a, const void *b)
{
    const tn_file_tensor *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const tn_file_tensor *const *)a)->name,
                  (*(const tn_file_tensor *const *)b)->name);
}

static int compare_text_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Fails unless the tensors follow each other without gaps. */
static tenon_status check_places(const tn_json *json, tn_header *header)
{
    if (header->count > 0)
        qsort(header->tensors, header->count, sizeof *header->tensors, compare_place);
    for (uint32_t i = 0; i < header->count; i++) {
        const tn_file_tensor *tensor = &header->tensors[i];
        if (tensor->begin != header->data_size)
            return tn_fail(json->invalid,
                           "%s: %s: tensor \"%.200s\" begins at byte %" PRIu64
                           ", and the one before it ends at %" PRIu64,
                           json->caller, json->path, tensor->name, tensor->begin,
                           header->data_size);
        header->data_size = tensor->end;
    }
    return TENON_OK;
}

/* Sorts the names and fails if two tensors share one. */
static tenon_status sort_names(const tn_json *json, tn_header *header)
{
    header->by_name = tn_array(header->count, sizeof *header->by_name);
    if (header->by_name == NULL)
        return no_memory(json);
    for (uint32_t i = 0; i < header->count; i++)
        header->by_name[i] = &header->tensors[i];
    qsort(header->by_name, header->count, sizeof *header->by_name, compare_names);
    for (uint32_t i = 1; i < header->count; i++)
        if (compare_names(&header->by_name[i - 1], &header->by_name[i]) == 0)
            return tn_fail(json->invalid, "%s: %s: two tensors are named \"%.200s\"", json->caller,
                           json->path, header->by_name[i]->name);
    return TENON_OK;
}

static tenon_status check_texts(const tn_json *json, const tn_header *header)
{
    tenon_status status = TENON_OK;
    const char **names = tn_array(header->text_count, sizeof *names);
    if (names == NULL)
        return no_memory(json);
    for (uint32_t i = 0; i < header->text_count; i++)
        names[i] = header->texts[i].name;
    qsort(names, header->text_count, sizeof *names, compare_text_names);
    for (uint32_t i = 1; i < header->text_count && status == TENON_OK; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = tn_fail(json->invalid, "%s: %s: two texts are named \"%.200s\"", json->caller,
                             json->path, names[i]);
    free(names);
    return status;
}

tenon_status tn_header_read(const char *caller, const char *path, tenon_status invalid, char *text,
                            size_t size, tn_header *header)
{
    tn_json json = {caller, path, invalid, text, text, text + size};
    *header = (tn_header){.text = text};
    tenon_status status = read_all(&json, header);
    if (status == TENON_OK)
        status = check_places(&json, header);
    if (status == TENON_OK)
        status = sort_names(&json, header);
    if (status == TENON_OK)
        status = check_texts(&json, header);
    if (status != TENON_OK)
        tn_header_free(header);
    return status;
}

void tn_header_free(tn_header *header)
{
    free(header->by_name);
    free(header->tensors);
    free(header->texts);
    free(header->text);
    *header = (tn_header){0};
}

static int compare_with_name(const void *name, const void *element)
{
    return strcmp(name, (*(const tn_file_tensor *const *)element)->name);
}

const tn_file_tensor *tn_header_find(const tn_header *header, const char *name)
{
    const tn_file_tensor *const *found = header->count > 0
                                             ? bsearch(name, header->by_name, header->count,
                                                       sizeof *header->by_name, compare_with_name)
                                             : NULL;
    return found != NULL ? *found : NULL;
}
