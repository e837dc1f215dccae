/* DLPack's structs in the memory layout of version 1.0, which every version 1 keeps. DLPack's own
 * header is not needed; tests/ops/test_dlpack.c compares these structs with it. */
#ifndef TN_RUNTIME_MEMORY_DLPACK_H
#define TN_RUNTIME_MEMORY_DLPACK_H

#include <stdint.h>

/* Values of DLPack's enumerations that Tenon supports. */
enum { TN_DL_CPU = 1, TN_DL_OPENCL = 4 };
enum { TN_DL_INT = 0, TN_DL_UINT = 1, TN_DL_FLOAT = 2, TN_DL_BFLOAT = 4, TN_DL_BOOL = 6 };
#define TN_DL_READ_ONLY UINT64_C(1)

typedef struct tn_dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} tn_dl_tensor;

/* DLManagedTensor */
typedef struct tn_dl_unversioned {
    tn_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct tn_dl_unversioned *self);
} tn_dl_unversioned;

/* DLManagedTensorVersioned */
typedef struct tn_dl_versioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager;
    void (*deleter)(struct tn_dl_versioned *self);
    uint64_t flags;
    tn_dl_tensor tensor;
} tn_dl_versioned;

#endif
