/*
 * Tests every operation with every kind of invalid view: types, sizes, strides and memory. Each
 * must be refused with the correct status, a message that names operation and argument, and an
 * untouched output.
 */
#include "offer.h"

#include "base/dtype.h"
#include "ops/registry.h"

static void no_type(tenon_tensor *view)
{
    view->dtype = TENON_DTYPE_INVALID;
}

static void wrong_rank(tenon_tensor *view)
{
    view->rank = 9;
}

static void negative_size(tenon_tensor *view)
{
    view->shape[0] = -1;
}

static void negative_stride(tenon_tensor *view)
{
    view->stride[0] = -1;
}

static void overflowing_size(tenon_tensor *view)
{
    view->shape[0] = INT64_MAX;
}

/* A byte has no alignment; only an offset past its memory is invalid. */
static void odd_offset(tenon_tensor *view)
{
    const size_t size = tenon_dtype_size(view->dtype);
    view->offset += size > 1 ? size / 2 : 4096;
}

static void no_such_memory(tenon_tensor *view)
{
    view->memory.kind = 7;
}

static void reserved_memory(tenon_tensor *view)
{
    view->memory.reserved = 5;
}

TEST(malformed_views)
{
    static void (*const spoilers[])(tenon_tensor *) = {
        no_type,          wrong_rank, negative_size,  negative_stride,
        overflowing_size, odd_offset, no_such_memory, reserved_memory};
    for (size_t i = 0; i < sizeof spoilers / sizeof *spoilers; i++)
        spoil_views(spoilers[i], TENON_ERROR_INVALID_ARGUMENT, true);
    assert_contains(tenon_last_error(), "memory: reserved is 5, must be 0");
}

/* Gives the operands from `first` to `end` a type and checks the refusal. */
static void refuse_type(const tn_operation *op, tenon_dtype dtype, uint32_t first, uint32_t end,
                        const char *named)
{
    offer o;
    prepare(&o, op);
    bool spoiled = false;
    for (uint32_t a = first; a < end; a++) {
        spoiled |= o.arguments[a] != NULL && o.views[a].dtype != dtype;
        o.views[a].dtype = dtype;
    }
    if (spoiled)
        refuse(&o, TENON_ERROR_UNSUPPORTED, named);
    dismiss(&o);
}

static bool is_integer(tenon_dtype dtype)
{
    return tn_dtype_is_integer(dtype) || dtype == TENON_DTYPE_BOOL;
}

/* Returns true if an operation's output may have an integer type. */
static bool accepts_output(const tn_operation *op, tenon_dtype type)
{
    const bool is_index = type == TENON_DTYPE_I32 || type == TENON_DTYPE_I64;
    if (op == &tn_operation_bernoulli)
        return is_index || type == TENON_DTYPE_U8 || type == TENON_DTYPE_BOOL;
    if (op == &tn_operation_nonfinite)
        return type == TENON_DTYPE_I32;
    return is_index && (op == &tn_operation_categorical || op == &tn_operation_permutation);
}

/* An unsupported type, in one output or in all operands. */
/* Returns true for the integer types of scans. */
static bool is_scanned(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I32 || dtype == TENON_DTYPE_U32 || dtype == TENON_DTYPE_I64;
}

TEST(unsupported_types)
{
    static const tenon_dtype types[] = {TENON_DTYPE_I8,     TENON_DTYPE_U8,   TENON_DTYPE_I16,
                                        TENON_DTYPE_U16,    TENON_DTYPE_I32,  TENON_DTYPE_U32,
                                        TENON_DTYPE_I64,    TENON_DTYPE_BOOL, TENON_DTYPE_F8_E4M3,
                                        TENON_DTYPE_F8_E5M2};
    for (size_t i = 0; i < tn_operation_count; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const tn_operation *op = tn_operations[i];
            if (op->converts && is_integer(types[t]))
                continue;
            for (uint32_t a = 0; a < op->operand_count; a++)
                if (tn_operation_writes(op, a) && !accepts_output(op, types[t]))
                    refuse_type(op, types[t], a, a + 1, op->operands[a].name);
            if ((op->operand_count > 1 || !accepts_output(op, types[t])) &&
                !(op == &tn_operation_scan && is_scanned(types[t])))
                refuse_type(op, types[t], 0, op->operand_count, tenon_dtype_string(types[t]));
        }
}

static void past_the_buffer(tenon_tensor *view)
{
    view->offset += 4096;
}

static void one_row_too_long(tenon_tensor *view)
{
    view->stride[0] += 1000;
}

static void null_buffer(tenon_tensor *view)
{
    view->memory.u.buffer = NULL;
}

TEST(views_past_their_buffer)
{
    spoil_views(past_the_buffer, TENON_ERROR_INVALID_ARGUMENT, true);
    spoil_views(one_row_too_long, TENON_ERROR_INVALID_ARGUMENT, true);
    spoil_views(null_buffer, TENON_ERROR_INVALID_ARGUMENT, true);
}

/* A plan may omit memory; a call may not. */
TEST(missing_memory)
{
    for (size_t i = 0; i < tn_operation_count; i++)
        for (uint32_t a = 0; a < tn_operations[i]->operand_count; a++) {
            offer o;
            prepare(&o, tn_operations[i]);
            memset(&o.views[a].memory, 0, sizeof o.views[a].memory);
            if (o.arguments[a] != NULL)
                assert_refused(
                    tn_operation_call(tn_operations[i], test_stream, &o.params, o.arguments, NULL),
                    TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->name,
                    tn_operations[i]->operands[a].name);
            dismiss(&o);
        }
}

static void repeated(tenon_tensor *view)
{
    view->stride[0] = 0;
}

static void interleaved(tenon_tensor *view)
{
    view->stride[0] = view->rank > 1 ? 1 : 0;
    view->stride[1] = 1;
}

TEST(outputs_that_overlap_themselves)
{
    spoil_views(repeated, TENON_ERROR_INVALID_ARGUMENT, false);
    spoil_views(interleaved, TENON_ERROR_INVALID_ARGUMENT, false);
}

/* Every input is moved into the output's memory, one element off, directly and through a
 * sub-buffer. */
TEST(outputs_that_overlap_inputs)
{
    for (size_t i = 0; i < tn_operation_count; i++)
        for (uint32_t a = 0; a < tn_operations[i]->operand_count; a++) {
            offer o;
            uint32_t output = test_first_output(tn_operations[i]);
            prepare(&o, tn_operations[i]);
            if (a == output || o.arguments[a] == NULL) {
                dismiss(&o);
                continue;
            }
            /* Large enough for both, so that only the overlap is invalid. */
            tenon_memory memory;
            assert_ok(tenon_memory_create(test_context, 16384, &memory));
            o.views[output].memory = o.views[a].memory = memory;
            o.views[a].offset = o.views[output].offset + (o.views[output].rank > 0 ? 4 : 0);
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->operands[a].name);
            assert_contains(tenon_last_error(), "overlap");
            const cl_buffer_region region = {0, 8192};
            cl_int error;
            o.views[a].memory.u.buffer = clCreateSubBuffer(
                memory.u.buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
            assert_int_equal(error, CL_SUCCESS);
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->operands[a].name);
            assert_contains(tenon_last_error(), "overlap");
            clReleaseMemObject(o.views[a].memory.u.buffer);
            tenon_memory_destroy(&memory);
            dismiss(&o);
        }
}

/* Returns false for operations without sizes to match: the bias gradient accepts images of any
 * size, a draw and one-hot rows any number of classes, resizing, RoI align, grid sampling and
 * rearrangement images or results of any size, top-k any number of elements, a search any number of
 * values; the others have only one operand with sizes. */
static bool has_sizes_to_match(const tn_operation *op)
{
    static const tn_operation *const without[] = {&tn_operation_conv_backward_bias,
                                                  &tn_operation_square_sum,
                                                  &tn_operation_clip,
                                                  &tn_operation_clip_guarded,
                                                  &tn_operation_nonfinite,
                                                  &tn_operation_categorical,
                                                  &tn_operation_resize,
                                                  &tn_operation_resize_backward,
                                                  &tn_operation_roi_align,
                                                  &tn_operation_roi_align_backward,
                                                  &tn_operation_grid_sample,
                                                  &tn_operation_grid_sample_backward,
                                                  &tn_operation_top_k,
                                                  &tn_operation_search_sorted,
                                                  &tn_operation_rearrange,
                                                  &tn_operation_compact,
                                                  &tn_operation_masked_put,
                                                  &tn_operation_unique,
                                                  &tn_operation_histogram,
                                                  &tn_operation_one_hot};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (op == without[i])
            return false;
    return op->operand_count > 1;
}

/* Another size in the last dimension of each operand, if another operand must match it. */
TEST(sizes_that_do_not_match)
{
    for (size_t i = 0; i < tn_operation_count; i++)
        for (uint32_t a = 0;
             has_sizes_to_match(tn_operations[i]) && a < tn_operations[i]->operand_count; a++) {
            offer o;
            prepare(&o, tn_operations[i]);
            if (o.arguments[a] == NULL || o.views[a].rank == 0) {
                dismiss(&o);
                continue;
            }
            o.views[a].shape[o.views[a].rank - 1] -= 1;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
            o.views[a] = o.tensors[a].view;
            o.views[a].rank -= 1;
            o.views[a].shape[0] = 3;
            if (o.views[a].rank == 0) /* a scalar may broadcast */
                o.views[a].rank = 9;
            tenon_plan *plan;
            tenon_status status = tn_operation_call_plan(tn_operations[i], test_context, &o.params,
                                                         o.arguments, &plan);
            assert_true(status == TENON_ERROR_INVALID_ARGUMENT ||
                        status == TENON_ERROR_UNSUPPORTED);
            dismiss(&o);
        }
}

TEST(buffers_of_another_context)
{
    tenon_memory memory;
    tenon_context *other = test_new_context(NULL);
    assert_ok(tenon_memory_create(other, 16384, &memory));
    for (size_t i = 0; i < tn_operation_count; i++)
        for (uint32_t a = 0; a < tn_operations[i]->operand_count; a++) {
            offer o;
            prepare(&o, tn_operations[i]);
            o.views[a].memory = memory;
            if (o.arguments[a] != NULL)
                refuse(&o, TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->operands[a].name);
            dismiss(&o);
        }
    tenon_memory_destroy(&memory);
    tenon_context_release(other);
}

/* A batch-invariant product requires contiguous rows of d. */
TEST(batch_invariance_wants_rows)
{
    offer o;
    prepare(&o, &tn_operation_gemm);
    o.params.gemm.flags = TENON_GEMM_BATCH_INVARIANT;
    o.views[4].stride[0] = 1;
    o.views[4].stride[1] = 4;
    refuse(&o, TENON_ERROR_UNSUPPORTED, "d");
    dismiss(&o);
}
