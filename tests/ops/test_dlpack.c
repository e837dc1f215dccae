/* Tests tensors shared by DLPack: descriptions, ownership, and refusals. If DLPack's own header is
 * installed, its structs are compared with Tenon's. */
#if defined __has_include
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#include "runtime.h"

#include "runtime/memory/dlpack.h"

#include <tenon/statistics.h>

#include <stddef.h>

/* A foreign tensor that counts the calls of its deleter. */
typedef struct producer {
    tn_dl_versioned versioned;
    tn_dl_unversioned unversioned;
    int64_t shape[TENON_MAX_RANK + 1], stride[TENON_MAX_RANK + 1];
    cl_mem buffer;
    int deleted;
} producer;

static void count_versioned(tn_dl_versioned *self)
{
    ((producer *)self->manager)->deleted++;
    if (tenon_tensor_check(NULL) ==
        TENON_OK) /* a deleter must not change the error message of the call */
        abort();
}

static void count_unversioned(tn_dl_unversioned *self)
{
    ((producer *)self->manager)->deleted++;
}

/* Creates 4 x 6 f32 elements at byte 16, with strides 13 and 2. */
static void produce(producer *p, cl_context cl)
{
    cl_int error;
    *p = (producer){.shape = {4, 6}, .stride = {13, 2}};
    p->buffer = clCreateBuffer(cl, CL_MEM_READ_WRITE, 16 + 50 * 4, NULL, &error);
    assert_int_equal(error, CL_SUCCESS);
    const tn_dl_tensor tensor = {.data = p->buffer,
                                 .device = {TN_DL_OPENCL, 0},
                                 .ndim = 2,
                                 .dtype = {TN_DL_FLOAT, 32, 1},
                                 .shape = p->shape,
                                 .strides = p->stride,
                                 .byte_offset = 16};
    p->versioned = (tn_dl_versioned){
        .version = {1, 3}, .manager = p, .deleter = count_versioned, .tensor = tensor};
    p->unversioned =
        (tn_dl_unversioned){.tensor = tensor, .manager = p, .deleter = count_unversioned};
}

static tenon_status take(producer *p, uint32_t *flags, tenon_tensor *tensor)
{
    return tenon_tensor_from_dlpack(test_context, (void *)&p->versioned, flags, tensor);
}

TEST(the_layout_is_dlpacks)
{
#if defined DLPACK_MAJOR_VERSION && DLPACK_MAJOR_VERSION >= 1
#define SAME(theirs, member, ours, mine)                                                           \
    assert_int_equal(offsetof(theirs, member), offsetof(ours, mine))
    assert_int_equal(sizeof(DLTensor), sizeof(tn_dl_tensor));
    SAME(DLTensor, data, tn_dl_tensor, data);
    SAME(DLTensor, device.device_type, tn_dl_tensor, device.type);
    SAME(DLTensor, device.device_id, tn_dl_tensor, device.id);
    SAME(DLTensor, ndim, tn_dl_tensor, ndim);
    SAME(DLTensor, dtype.code, tn_dl_tensor, dtype.code);
    SAME(DLTensor, dtype.bits, tn_dl_tensor, dtype.bits);
    SAME(DLTensor, dtype.lanes, tn_dl_tensor, dtype.lanes);
    SAME(DLTensor, shape, tn_dl_tensor, shape);
    SAME(DLTensor, strides, tn_dl_tensor, strides);
    SAME(DLTensor, byte_offset, tn_dl_tensor, byte_offset);
    assert_int_equal(sizeof(DLManagedTensor), sizeof(tn_dl_unversioned));
    SAME(DLManagedTensor, dl_tensor, tn_dl_unversioned, tensor);
    SAME(DLManagedTensor, manager_ctx, tn_dl_unversioned, manager);
    SAME(DLManagedTensor, deleter, tn_dl_unversioned, deleter);
    assert_int_equal(sizeof(DLManagedTensorVersioned), sizeof(tn_dl_versioned));
    SAME(DLManagedTensorVersioned, version.major, tn_dl_versioned, version.major);
    SAME(DLManagedTensorVersioned, version.minor, tn_dl_versioned, version.minor);
    SAME(DLManagedTensorVersioned, manager_ctx, tn_dl_versioned, manager);
    SAME(DLManagedTensorVersioned, deleter, tn_dl_versioned, deleter);
    SAME(DLManagedTensorVersioned, flags, tn_dl_versioned, flags);
    SAME(DLManagedTensorVersioned, dl_tensor, tn_dl_versioned, tensor);
    assert_int_equal(kDLCPU, TN_DL_CPU);
    assert_int_equal(kDLOpenCL, TN_DL_OPENCL);
    assert_int_equal(kDLInt, TN_DL_INT);
    assert_int_equal(kDLUInt, TN_DL_UINT);
    assert_int_equal(kDLFloat, TN_DL_FLOAT);
    assert_int_equal(kDLBfloat, TN_DL_BFLOAT);
    assert_int_equal(kDLBool, TN_DL_BOOL);
    assert_int_equal(DLPACK_FLAG_BITMASK_READ_ONLY, TN_DL_READ_ONLY);
#else
    print_message("dlpack/dlpack.h of version 1 is not installed\n");
    skip();
#endif
}

/* Exports and imports tensors of all types with strides and an offset: the view and buffer must be
 * the same. */
TEST(there_and_back)
{
    static const struct {
        tenon_dtype dtype;
        int code, bits;
    } types[] = {
        {TENON_DTYPE_F64, 2, 64},  {TENON_DTYPE_F32, 2, 32}, {TENON_DTYPE_F16, 2, 16},
        {TENON_DTYPE_BF16, 4, 16}, {TENON_DTYPE_I8, 0, 8},   {TENON_DTYPE_U8, 1, 8},
        {TENON_DTYPE_I32, 0, 32},  {TENON_DTYPE_I64, 0, 64}, {TENON_DTYPE_I16, 0, 16},
        {TENON_DTYPE_U16, 1, 16},  {TENON_DTYPE_U32, 1, 32}, {TENON_DTYPE_BOOL, 6, 8},
    };
    const int64_t shape[] = {5, 7, 3};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        tenon_tensor back;
        struct DLManagedTensorVersioned *managed;
        struct DLManagedTensor *old;
        uint32_t flags = 7;
        tenon_tensor tensor = test_dense(types[i].dtype, 3, shape, NULL);
        const tenon_tensor view = tenon_tensor_transpose(tenon_tensor_slice(tensor, 1, 2, 4), 0, 2);
        const uint32_t given = i % 2 == 0 ? 0 : TENON_DLPACK_READ_ONLY;
        assert_ok(tenon_tensor_to_dlpack(test_context, &view, given, &managed));
        const tn_dl_versioned *dl = (void *)managed;
        assert_true(dl->version.major == 1 && dl->flags == given);
        assert_ptr_equal(dl->tensor.data, tensor.memory.u.buffer);
        assert_int_equal(dl->tensor.device.type, TN_DL_OPENCL);
        assert_int_equal(dl->tensor.dtype.code, types[i].code);
        assert_int_equal(dl->tensor.dtype.bits, types[i].bits);
        assert_int_equal(dl->tensor.dtype.lanes, 1);
        assert_int_equal(dl->tensor.byte_offset, view.offset);
        assert_true(view.offset > 0);
        assert_int_equal(dl->tensor.ndim, 3);
        assert_memory_equal(dl->tensor.shape, view.shape, 3 * sizeof *shape);
        assert_memory_equal(dl->tensor.strides, view.stride, 3 * sizeof *shape);
        assert_ok(tenon_tensor_from_dlpack(test_context, managed, &flags, &back));
        assert_int_equal(flags, given);
        assert_memory_equal(&back, &view, sizeof back);
        assert_ok(tenon_tensor_to_dlpack_unversioned(test_context, &back, &old));
        tenon_tensor_destroy(&tensor); /* the exported tensors keep the buffer */
        assert_ok(tenon_tensor_fill(test_stream, &back, 3, NULL));
        tenon_tensor_destroy(&back);
        assert_ok(tenon_tensor_from_dlpack_unversioned(test_context, old, &back));
        assert_memory_equal(&back, &view, sizeof back);
        char bytes[84 * 8];
        assert_ok(tenon_tensor_download(test_stream, &back, bytes,
                                        60 * tenon_dtype_size(types[i].dtype), NULL));
        tenon_tensor_destroy(&back);
    }
}

TEST(the_deleter_is_called_once)
{
    tenon_tensor x, again;
    uint32_t flags = 7;
    producer p;
    produce(&p, tenon_context_cl(test_context));
    assert_ok(take(&p, NULL, &x));
    assert_int_equal(p.deleted, 0);
    assert_int_equal(x.offset, 16);
    assert_int_equal(x.stride[0], 13);
    assert_ok(tenon_tensor_fill(test_stream, &x, 2, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    /* One buffer imported twice: each deleter is called once. */
    assert_ok(tenon_tensor_from_dlpack_unversioned(test_context, (void *)&p.unversioned, &again));
    tenon_tensor_destroy(&x);
    assert_int_equal(p.deleted, 1);
    tenon_tensor_destroy(&again);
    assert_int_equal(p.deleted, 2);
    /* The deleter may be NULL. */
    p.versioned.deleter = NULL;
    assert_ok(take(&p, &flags, &x));
    assert_int_equal(flags, 0);
    tenon_tensor_destroy(&x);
    /* An empty tensor has no memory, and its deleter is called immediately. */
    p.versioned.deleter = count_versioned;
    p.versioned.tensor.data = NULL;
    p.shape[1] = 0;
    assert_ok(take(&p, NULL, &x));
    assert_int_equal(p.deleted, 3);
    assert_int_equal(x.memory.kind, TENON_MEMORY_NONE);
    tenon_tensor_destroy(&x);
    assert_int_equal(p.deleted, 3);
    clReleaseMemObject(p.buffer);
}

TEST(strides_may_be_left_out)
{
    tenon_tensor x;
    producer p;
    produce(&p, tenon_context_cl(test_context));
    p.versioned.tensor.strides = NULL;
    assert_ok(take(&p, NULL, &x));
    assert_true(x.stride[0] == 6 && x.stride[1] == 1);
    tenon_tensor_destroy(&x);
    p.versioned.tensor.ndim = 0;
    assert_ok(take(&p, NULL, &x));
    assert_int_equal(x.rank, 0);
    tenon_tensor_destroy(&x);
    assert_int_equal(p.deleted, 2);
    clReleaseMemObject(p.buffer);
}

#define REFUSED(change, status, why)                                                               \
    do {                                                                                           \
        tenon_tensor x = {.rank = 77};                                                             \
        produce(&p, tenon_context_cl(test_context));                                               \
        change;                                                                                    \
        assert_refused(take(&p, NULL, &x), status, name, why);                                     \
        assert_int_equal(x.rank, 77);                                                              \
        assert_int_equal(p.deleted, 1);                                                            \
        clReleaseMemObject(p.buffer);                                                              \
    } while (0)

TEST(what_is_refused_is_given_back)
{
    static const char name[] = "tenon_tensor_from_dlpack";
    const tenon_status unsupported = TENON_ERROR_UNSUPPORTED,
                       invalid = TENON_ERROR_INVALID_ARGUMENT;
    producer p;
    tn_dl_tensor *const t = &p.versioned.tensor;
    /* The layout of an unknown version is unknown. */
    REFUSED((p.versioned.version.major = 2, memset(t, 0xee, sizeof *t)), unsupported,
            "version 2.3");
    REFUSED(p.versioned.version.major = 0, unsupported, "version 0.3");
    REFUSED(t->device.type = TN_DL_CPU, unsupported, "tenon_tensor_upload");
    REFUSED(t->device.type = 2, unsupported, "device_type is 2");
    REFUSED(t->dtype.lanes = 4, unsupported, "4 lanes");
    REFUSED(t->dtype.bits = 128, unsupported, "128 bits");
    REFUSED(t->dtype.code = 3, unsupported, "code 3");
    REFUSED(t->ndim = 9, unsupported, "ndim is 9");
    REFUSED(t->ndim = -1, unsupported, "ndim is -1");
    REFUSED(p.stride[0] = -13, unsupported, "stride 0 is -13");
    REFUSED(t->shape = NULL, invalid, "shape is NULL");
    REFUSED(p.shape[0] = -4, invalid, "shape -4x6");
    REFUSED(t->byte_offset = 18, invalid, "offset is 18");
    REFUSED(t->byte_offset = 20, invalid, "ends at byte");
    REFUSED(t->data = NULL, invalid, "NULL");
    REFUSED(p.versioned.flags = TN_DL_READ_ONLY, invalid, "read-only");
    REFUSED(p.shape[0] = INT64_MAX / 2, invalid, "refused shape");
    /* A tensor of another context, and NULL arguments. */
    tenon_tensor x = {.rank = 77};
    tenon_context *other = test_new_context(NULL);
    produce(&p, tenon_context_cl(other));
    assert_refused(take(&p, NULL, &x), TENON_ERROR_INVALID_ARGUMENT, name,
                   "another OpenCL context");
    assert_refused(take(&p, NULL, NULL), TENON_ERROR_INVALID_ARGUMENT, name, "tensor");
    assert_invalid(tenon_tensor_from_dlpack(NULL, (void *)&p.versioned, NULL, &x), "context");
    assert_invalid(tenon_tensor_from_dlpack_unversioned(NULL, (void *)&p.unversioned, &x),
                   "context");
    assert_int_equal(p.deleted, 4);
    clReleaseMemObject(p.buffer);
    tenon_context_release(other);
    assert_invalid(tenon_tensor_from_dlpack(test_context, NULL, NULL, &x), "managed");
    assert_invalid(tenon_tensor_from_dlpack_unversioned(test_context, NULL, &x), "managed");
}

TEST(what_cannot_be_handed_out)
{
    static const char name[] = "tenon_tensor_to_dlpack";
    float host[4];
    struct DLManagedTensorVersioned *managed = (void *)host;
    struct DLManagedTensor *old = (void *)host;
    tenon_tensor x = make_tensor(test_context, 4), pointer = x, f8 = x, nowhere = x,
                 none = make_tensor(test_context, 0);
    pointer.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = host};
    f8.dtype = TENON_DTYPE_F8_E4M3;
    nowhere.memory.kind = TENON_MEMORY_NONE;
    assert_invalid(tenon_tensor_to_dlpack(NULL, &x, 0, &managed), "context");
    assert_null(managed);
    assert_invalid(tenon_tensor_to_dlpack(test_context, &x, 0, NULL), "out");
    assert_invalid(tenon_tensor_to_dlpack(test_context, NULL, 0, &managed), "tensor");
    assert_invalid(tenon_tensor_to_dlpack(test_context, &x, 2, &managed), "flags is 2");
    assert_refused(tenon_tensor_to_dlpack(test_context, &pointer, 0, &managed),
                   TENON_ERROR_UNSUPPORTED, name, "pointers");
    assert_invalid(tenon_tensor_to_dlpack(test_context, &nowhere, 0, &managed), "no memory");
    assert_refused(tenon_tensor_to_dlpack(test_context, &f8, 0, &managed), TENON_ERROR_UNSUPPORTED,
                   name, "f8");
    assert_invalid(tenon_tensor_to_dlpack_unversioned(test_context, NULL, &old), "tensor");
    assert_null(old);
    assert_ok(tenon_tensor_to_dlpack(test_context, &none, 0, &managed));
    tn_dl_versioned *dl = (void *)managed;
    assert_null(dl->tensor.data);
    dl->deleter(dl);
    tenon_tensor_destroy(&x);
}

/* Exported memory of a pool is not reused by the pool, and may outlive the context. */
TEST(a_pool_does_not_keep_it)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_context *context;
    struct DLManagedTensorVersioned *managed;
    params.pool_limit = TENON_POOL_DEFAULT;
    assert_ok(tenon_context_create(&params, &context));
    for (int order = 0; order < 2; order++) {
        tenon_tensor x = make_tensor(context, 1000);
        const cl_mem buffer = x.memory.u.buffer;
        assert_ok(tenon_tensor_to_dlpack(context, &x, 0, &managed));
        tn_dl_versioned *dl = (void *)managed;
        if (order == 0)
            tenon_tensor_destroy(&x);
        else
            dl->deleter(dl);
        cl_uint count = 0;
        assert_int_equal(
            clGetMemObjectInfo(buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count, NULL),
            CL_SUCCESS);
        assert_true(count >= 1);
        if (order == 0)
            dl->deleter(dl);
        else
            tenon_tensor_destroy(&x);
        assert_int_equal(test_statistics(context).pool_bytes, 0);
    }
    tenon_tensor x = make_tensor(context, 1000);
    assert_ok(tenon_tensor_to_dlpack(context, &x, 0, &managed));
    tenon_tensor_destroy(&x);
    tenon_context_release(context);
    tn_dl_versioned *dl = (void *)managed;
    dl->deleter(dl);
}
