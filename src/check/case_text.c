/* Formatting of cases, and construction of a case from a call. */
#include "base/platform.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text buffer; text that does not fit is truncated. */
typedef struct writer {
    char *text;
    size_t size, used;
} writer;

TN_PRINTF(2, 3) static void put(writer *w, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    if (length > 0)
        w->used += (size_t)length < w->size - w->used ? (size_t)length : w->size - w->used - 1;
}

static void put_sizes(writer *w, uint32_t rank, const int64_t *sizes, char between)
{
    for (uint32_t d = 0; d < rank; d++) {
        if (d > 0)
            put(w, "%c", between);
        put(w, "%" PRId64, sizes[d]);
    }
}

/* Writes an operand's name with underscores for blanks. */
static void put_name(writer *w, const char *name)
{
    for (; *name != '\0'; name++)
        put(w, "%c", *name == ' ' ? '_' : *name);
}

static void put_view(writer *w, const tenon_tensor *view)
{
    const tenon_tensor plain = tenon_tensor_view(view->dtype, view->rank, view->shape);
    put(w, "%s:", tenon_dtype_string(view->dtype));
    put_sizes(w, view->rank, view->shape, 'x');
    if (memcmp(plain.stride, view->stride, view->rank * sizeof *plain.stride) != 0) {
        put(w, "/");
        put_sizes(w, view->rank, view->stride, ',');
    }
    if (view->offset > 0)
        put(w, "+%" PRIu64, view->offset / tenon_dtype_size(view->dtype));
}

/* Writes a number with 6, 15 or 17 digits, the fewest that read back exactly. */
static void put_double(writer *w, double value)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits += digits == 6 ? 9 : 2) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    put(w, "%s", text);
}

static void put_element(writer *w, const tn_field *field, const unsigned char *at)
{
    union {
        int32_t i32;
        uint32_t u32;
        int64_t i64;
        uint64_t u64;
        double f64;
    } value;
    memcpy(&value, at, tn_field_size(field->type));
    switch (field->type) {
    case TN_FIELD_I32:
        put(w, "%" PRId32, value.i32);
        break;
    case TN_FIELD_U32:
        if (tn_field_word(field, value.u32) != NULL)
            put(w, "%s", tn_field_word(field, value.u32));
        else
            put(w, "%" PRIu32, value.u32);
        break;
    case TN_FIELD_I64:
        put(w, "%" PRId64, value.i64);
        break;
    case TN_FIELD_U64:
        put(w, "%" PRIu64, value.u64);
        break;
    case TN_FIELD_F64:
        put_double(w, value.f64);
        break;
    }
}

/* Writes the elements up to the last one that differs from the initializer. */
static void put_field(writer *w, const tn_field *field, const unsigned char *params,
                      const unsigned char *defaults)
{
    uint32_t count = field->count;
    for (; count > 0; count--) {
        const size_t at = field->offset + (count - 1) * field->step;
        if (memcmp(params + at, defaults + at, tn_field_size(field->type)) != 0)
            break;
    }
    for (uint32_t i = 0; i < count; i++) {
        put(w, i == 0 ? " %s=" : ",", field->name);
        put_element(w, field, params + field->offset + i * field->step);
    }
}

char *tn_case_text(const tn_case *c, char text[TN_CASE_TEXT_SIZE])
{
    const tn_operation *operation = c->operation,
                       *first = tn_operation_of_family(operation->family);
    tn_case_params defaults = {.bytes = {0}};
    writer w = {text, TN_CASE_TEXT_SIZE, 0};
    tn_operation_defaults(operation, defaults.bytes);
    put(&w, "tenon check %s", c->solver[0] != '\0' ? c->solver : operation->family->name);
    if (first == NULL || strcmp(first->name, operation->name) != 0)
        put(&w, " %s", operation->name);
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (c->views[i].dtype == TENON_DTYPE_INVALID)
            continue;
        put(&w, " ");
        put_name(&w, operation->operands[i].name);
        put(&w, c->same[i] != 0 ? "=@" : "=");
        if (c->same[i] != 0)
            put_name(&w, operation->operands[c->same[i] - 1].name);
        else
            put_view(&w, &c->views[i]);
    }
    for (uint32_t i = 0; i < operation->field_count; i++)
        put_field(&w, &operation->fields[i], c->params.bytes, defaults.bytes);
    put(&w, " --seed %" PRIu64 "%s", c->seed, c->integers ? " --integers" : "");
    return text;
}

void tn_case_text_of_call(const tn_call *call, char text[TN_REPEAT_SIZE])
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    tn_case c;
    for (uint32_t i = 0; i < call->operand_count; i++)
        views[i] = call->operands[i].view;
    if (call->operation->repeat != NULL)
        call->operation->repeat(call, &c);
    else
        tn_case_make(call->operation, call->params, views, NULL, 1, &c);
    tn_case_text(&c, text);
}

static bool same_place(const tenon_tensor *a, const tenon_tensor *b)
{
    return a->memory.kind != TENON_MEMORY_NONE && tn_same_memory(&a->memory, &b->memory) &&
           tn_tensor_same_view(a, b);
}

void tn_case_make(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views, const char *solver, uint64_t seed, tn_case *out)
{
    memset(out, 0, sizeof *out);
    out->operation = operation;
    out->seed = seed;
    tn_operation_defaults(operation, out->params.bytes);
    if (params != NULL)
        memcpy(out->params.bytes, params, operation->params_size);
    out->params.head.solver = NULL;
    snprintf(out->solver, sizeof out->solver, "%s",
             solver != NULL ? solver : operation->family->name);
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (views[i] == NULL || views[i]->dtype == TENON_DTYPE_INVALID)
            continue;
        for (uint32_t j = 0; j < operation->operand_count && out->same[i] == 0; j++)
            if (j != i && views[j] != NULL && out->same[j] == 0 &&
                (j > i || views[j] == views[i]) && same_place(views[i], views[j]))
                out->same[i] = j + 1;
        out->views[i] = *views[i];
        out->views[i].memory = (tenon_memory){0};
    }
}

tenon_status tn_case_plan(tenon_context *context, const tn_case *c, const char *solver,
                          tenon_plan **plan)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    tn_case_params params = c->params;
    params.head.solver = solver;
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID)
            views[i] = &c->views[c->same[i] != 0 ? c->same[i] - 1 : i];
    return tn_operation_call_plan(c->operation, context, params.bytes, views, plan);
}
