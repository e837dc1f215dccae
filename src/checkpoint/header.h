/* The header of a safetensors file: the list of its tensors and texts, read from JSON and written
 * as JSON. */
#ifndef TN_CHECKPOINT_HEADER_H
#define TN_CHECKPOINT_HEADER_H

#include "checkpoint/json.h"

#include <tenon/checkpoint.h>

/* The largest header that the format allows, and the size of the number before it. */
#define TN_HEADER_MOST 100000000u
#define TN_HEADER_SIZE 8u

/* An element type of the format. */
typedef struct tn_file_type {
    const char *name;
    uint32_t bits;
    tenon_dtype dtype; /* TENON_DTYPE_INVALID if there is none */
} tn_file_type;

/* Return NULL if there is none. */
const tn_file_type *tn_file_type_named(const char *name);
const tn_file_type *tn_file_type_of(tenon_dtype dtype);

/* A tensor of a file. Its bytes are [begin, end) after the header. */
typedef struct tn_file_tensor {
    const char *name;
    const char *type_name;
    const tn_file_type *type; /* NULL if unknown */
    uint32_t rank;            /* may exceed TENON_MAX_RANK */
    int64_t shape[TENON_MAX_RANK];
    uint64_t elements;
    uint64_t begin, end;
} tn_file_tensor;

/* Returns true if type, rank and the sizes from dimension `first` on are equal. */
bool tn_file_tensor_matches(const tn_file_tensor *tensor, const tenon_tensor *view, uint32_t first);

/* Returns the number of entries of the first dimension; 1 for a scalar. */
int64_t tn_entries(uint32_t rank, const int64_t *shape);

/* Returns true if the tensor has the entries of `slice` from `start` on. Sets *place to the first
 * byte of the slice after the header. Requires that they match from dimension 1 on. */
bool tn_file_tensor_has(const tn_file_tensor *tensor, int64_t start, const tenon_tensor *slice,
                        uint64_t *place);

typedef struct tn_header {
    char *text;              /* owns all strings */
    tn_file_tensor *tensors; /* in the order of their bytes */
    uint32_t count, capacity;
    const tn_file_tensor **by_name; /* sorted */
    tenon_named_text *texts;        /* in the order of the file */
    uint32_t text_count, text_capacity;
    uint64_t data_size; /* bytes of all tensors */
} tn_header;

/* Reads the `size` characters of the header's JSON, which has room for one more. Takes ownership of
 * `text`. Invalid text gives the status `invalid`. Without success the header is empty. */
tenon_status tn_header_read(const char *caller, const char *path, tenon_status invalid, char *text,
                            size_t size, tn_header *header);

void tn_header_free(tn_header *header);

/* Returns NULL if there is no such tensor. */
const tn_file_tensor *tn_header_find(const tn_header *header, const char *name);

/* Writes the JSON of a file with these tensors, padded to a multiple of 8 characters, and one spare
 * byte after it, to memory that the caller frees. Larger elements come first, so that each tensor
 * is aligned. Fails for an invalid argument; tn_header_read of the text finds those that are left:
 * names that are used twice. */
tenon_status tn_header_write(const char *caller, const tenon_named_tensor *tensors, uint32_t count,
                             const tenon_named_text *texts, uint32_t text_count, char **out,
                             size_t *size);

#endif
