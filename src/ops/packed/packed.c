/* The packed object: its layouts, allocation and reference count. */
#include "ops/packed/internal.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "dispatch/plan.h"
#include "ops/gemm/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum columns of a matrix that is stored as rows by default: the solvers for few columns need
 * no padding. */
#define NARROW_COLUMNS 8

TENON_API void tenon_pack_params_default(tenon_pack_params *params, uint32_t size)
{
    static const tenon_pack_params defaults = TENON_PACK_PARAMS_INIT;
    tn_params_give(params, size, &defaults, sizeof defaults);
}

static const char *const kind_names[] = {[PACKED_GEMM] = "gemm", [PACKED_FILTER] = "conv"};

static const struct {
    const char *name;
    packed_kind kind;
} layouts[] = {[PACKED_ROWS] = {"rows", PACKED_GEMM},
               [PACKED_PANELS] = {"panels", PACKED_GEMM},
               [PACKED_FILTERS] = {"filters", PACKED_FILTER},
               [PACKED_FILTER_PANELS] = {"filter_panels", PACKED_FILTER}};

tenon_status tn_packed_check(const char *caller, const tenon_context *context,
                             const tenon_packed *packed, packed_kind kind)
{
    if (packed == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed is NULL", caller);
    if (packed->context != context)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed: belongs to another context",
                       caller);
    if (packed->kind != kind)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: packed: was packed for %s, not for %s",
                       caller, kind_names[packed->kind], kind_names[kind]);
    return TENON_OK;
}

int64_t tn_packed_panel(tenon_context *context, tenon_dtype dtype)
{
    return PACKED_PANEL_VECTORS * tn_gemm_lanes(context, dtype);
}

int64_t tn_packed_padded(int64_t columns, int64_t panel)
{
    return panel > 0 ? tn_round_up(columns, panel) : columns;
}

bool tn_packed_is_bytes(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

tenon_status tn_packed_check_types(const char *caller, const tenon_packed *packed,
                                   const char *input, const tenon_tensor *x, const char *output,
                                   const tenon_tensor *y)
{
    const tenon_dtype dtype = packed->view.dtype;
    const struct {
        const char *name;
        const tenon_tensor *view;
    } checked[] = {{input, x}, {output, y}};
    for (int i = 0; i < 2; i++) /* malformed views are refused later */
        if (!tn_packed_is_bytes(dtype) && checked[i].view != NULL &&
            tn_dtype_valid(checked[i].view->dtype))
            TN_TRY(tn_same_dtype_check(caller, checked[i].name, checked[i].view, "packed", dtype));
    return TENON_OK;
}

static packed_layout suitable(const tenon_context *context, packed_kind kind,
                              const tenon_tensor *view)
{
    if (kind == PACKED_FILTER)
        return context->device.is_cpu ? PACKED_FILTER_PANELS : PACKED_FILTERS;
    bool narrow = view->shape[view->rank - 1] <= NARROW_COLUMNS;
    return context->device.is_cpu && !narrow && !tn_packed_is_bytes(view->dtype) ? PACKED_PANELS
                                                                                 : PACKED_ROWS;
}

static bool has_panels(packed_layout layout)
{
    return layout == PACKED_PANELS || layout == PACKED_FILTER_PANELS;
}

/* Fails if the forced layout does not support the weights. */
static tenon_status check_layout(const char *caller, const tenon_packed *packed)
{
    const tenon_tensor *view = &packed->view;
    if (packed->layout == PACKED_PANELS && tn_packed_is_bytes(view->dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: params: layout \"panels\" does not support type %s; use \"rows\"",
                       caller, tenon_dtype_string(view->dtype));
    return TENON_OK;
}

static tenon_status choose_layout(const char *caller, const char *name, tenon_packed *packed)
{
    if (name == NULL) {
        packed->layout = suitable(packed->context, packed->kind, &packed->view);
        return TENON_OK;
    }
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].kind == packed->kind && strcmp(layouts[i].name, name) == 0) {
            packed->layout = (packed_layout)i;
            return check_layout(caller, packed);
        }
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: layout is \"%s\", must be %s", caller,
                   name,
                   packed->kind == PACKED_FILTER ? "\"filters\" or \"filter_panels\""
                                                 : "\"rows\" or \"panels\"");
}

/* Counts the elements of all matrices, each padded to whole panels. Returns false if the number
 * overflows. */
static bool count_elements(const tenon_packed *packed, int64_t *elements)
{
    const tenon_tensor matrix = tn_packed_matrix(packed, &packed->view);
    bool fits = true;
    *elements = 1;
    for (uint32_t d = 0; d < matrix.rank; d++) {
        int64_t size = matrix.shape[d];
        if (d == matrix.rank - 1 && packed->panel > 0)
            fits = fits && size <= INT64_MAX - packed->panel;
        if (d == matrix.rank - 1 && fits && size > 0)
            size = tn_packed_padded(size, packed->panel);
        fits = fits && tn_mul_i64(*elements, size, elements);
    }
    return fits;
}

/* Adds the transformed filters, if there are any and the device computes them correctly. */
static tenon_status add_transformed(const char *caller, tenon_packed *packed, int64_t *elements)
{
    const int64_t used = *elements;
    bool passes = true;
    tn_filters_place_transformed(packed, elements);
    TN_TRY(tn_filters_check_transform(caller, packed, &passes));
    if (passes)
        return TENON_OK;
    packed->transformed = (packed_transformed){0};
    *elements = used;
    return TENON_OK;
}

/* Allocates memory for the panels or dense weights, or for both. */
static tenon_status allocate(const char *caller, tenon_packed *packed)
{
    const tenon_tensor *view = &packed->view;
    int64_t elements;
    bool fits = count_elements(packed, &elements);
    if (packed->layout == PACKED_FILTER_PANELS) {
        packed->dense_at = elements;
        fits = fits && tn_add_i64(elements, tenon_tensor_elements(view), &elements);
    }
    if (fits)
        TN_TRY(add_transformed(caller, packed, &elements));
    packed->memory = tenon_tensor_view(view->dtype, 1, &elements);
    if (!fits || packed->memory.dtype == TENON_DTYPE_INVALID)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: the packed size overflows", caller);
    if (packed->context->cl == NULL) /* a target, whose plans cannot be run */
        return TENON_OK;
    return tn_memory_allocate(caller, packed->context,
                              (uint64_t)elements * tenon_dtype_size(view->dtype),
                              &packed->memory.memory);
}

tenon_status tn_packed_create(const char *caller, tenon_context *context, packed_kind kind,
                              const char *name, const tenon_tensor *view, tenon_packed **out)
{
    tenon_packed *packed = calloc(1, sizeof *packed);
    if (packed == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    atomic_init(&packed->references, 1);
    tenon_context_retain(context);
    packed->context = context;
    packed->kind = kind;
    packed->view = tenon_tensor_view(view->dtype, view->rank, view->shape);
    tenon_status status = choose_layout(caller, name, packed);
    packed->panel = has_panels(packed->layout) ? tn_packed_panel(context, view->dtype) : 0;
    if (status == TENON_OK)
        status = allocate(caller, packed);
    if (status != TENON_OK) {
        tenon_packed_release(packed);
        return status;
    }
    *out = packed;
    return TENON_OK;
}

tenon_tensor tn_packed_dense(const tenon_packed *packed)
{
    tenon_tensor dense = packed->view;
    dense.memory = packed->memory.memory;
    dense.offset = (uint64_t)packed->dense_at * tenon_dtype_size(dense.dtype);
    return dense;
}

tenon_tensor tn_packed_matrix(const tenon_packed *packed, const tenon_tensor *tensor)
{
    tenon_tensor matrix = *tensor;
    const uint32_t rank = tensor->rank;
    for (uint32_t d = 0; d < rank && packed->layout == PACKED_FILTER_PANELS; d++) {
        const uint32_t from = d + 2 < rank ? d + 2 : rank - 1 - d; /* the taps, C and K */
        matrix.shape[d] = tensor->shape[from];
        matrix.stride[d] = tensor->stride[from];
    }
    return matrix;
}

uint32_t tn_packed_first_row(const tenon_packed *packed, const tenon_tensor *matrix)
{
    return packed->layout == PACKED_FILTER_PANELS ? 0 : matrix->rank - 2;
}

bool tn_packed_is_pointwise(const tenon_packed *packed)
{
    const tenon_tensor *filters = &packed->view;
    for (uint32_t d = 2; d < filters->rank; d++)
        if (filters->shape[d] != 1)
            return false;
    return true;
}

tenon_tensor tn_packed_padded_view(const tenon_packed *packed)
{
    tenon_tensor matrix = packed->view;
    if (packed->layout == PACKED_FILTER_PANELS)
        matrix = (tenon_tensor){.dtype = matrix.dtype,
                                .rank = 2,
                                .shape = {packed->view.shape[1], packed->view.shape[0]}};
    const uint32_t columns = matrix.rank - 1;
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, matrix.shape, sizeof shape);
    shape[columns] = tn_packed_padded(shape[columns], packed->panel);
    tenon_tensor padded = tenon_tensor_view(matrix.dtype, matrix.rank, shape);
    padded.shape[columns] = matrix.shape[columns];
    return padded;
}

TENON_API void tenon_packed_retain(tenon_packed *packed)
{
    if (packed != NULL)
        atomic_fetch_add(&packed->references, 1);
}

TENON_API void tenon_packed_release(tenon_packed *packed)
{
    if (packed == NULL || atomic_fetch_sub(&packed->references, 1) != 1)
        return;
    tenon_memory_destroy(&packed->memory.memory);
    tenon_context_release(packed->context);
    free(packed);
}

static void release(void *object)
{
    tenon_packed_release(object);
}

void tn_packed_keep(tenon_plan *plan, uint32_t operand, const tenon_packed *packed)
{
    /* Casts away const: only the reference count of the object changes. */
    tenon_packed *kept = (tenon_packed *)(uintptr_t)packed;
    tenon_packed_retain(kept);
    tn_plan_bind(plan, operand, packed->memory.memory, kept, release);
}

TENON_API tenon_tensor tenon_packed_view(const tenon_packed *packed)
{
    return packed != NULL ? packed->view : (tenon_tensor){.dtype = TENON_DTYPE_INVALID};
}

TENON_API uint64_t tenon_packed_bytes(const tenon_packed *packed)
{
    return packed != NULL
               ? (uint64_t)packed->memory.shape[0] * tenon_dtype_size(packed->memory.dtype)
               : 0;
}

TENON_API size_t tenon_packed_describe(const tenon_packed *packed, char *text, size_t size)
{
    char shape[160], width[32] = "";
    if (packed == NULL) {
        if (text != NULL && size > 0)
            text[0] = '\0';
        return 0;
    }
    if (packed->panel > 0)
        snprintf(width, sizeof width, " of %" PRId64, packed->panel);
    return (size_t)snprintf(text, size, "%s %s %s %s%s, %" PRIu64 " bytes",
                            kind_names[packed->kind], tenon_dtype_string(packed->view.dtype),
                            tn_shape_text(packed->view.rank, packed->view.shape, shape),
                            layouts[packed->layout].name, width, tenon_packed_bytes(packed));
}
