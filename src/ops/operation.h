/*
 * What an operation is to those who call all of them alike: the self-test, the repetition of a
 * failure, the tests of refused calls. A tn_operation has its parameters' fields and its operands
 * by name, calls it, and knows its reference.
 */
#ifndef TN_OPS_OPERATION_H
#define TN_OPS_OPERATION_H

#include "dispatch/plan.h"
#include "ops/common/epilogue.h"

#include <stddef.h>

/* A member of a parameter struct: a number or an array of them. */
typedef enum tn_field_type {
    TN_FIELD_I32,
    TN_FIELD_U32,
    TN_FIELD_I64,
    TN_FIELD_U64,
    TN_FIELD_F64
} tn_field_type;

typedef struct tn_field {
    const char *name;
    tn_field_type type;
    uint32_t count; /* elements: 1 if it is not an array */
    size_t offset;
    size_t step;              /* bytes from one element to the next */
    const char *const *words; /* names of the values 0, 1, …, ended by NULL; or NULL */
} tn_field;

#define TN_FIELD(name, type, params, member)                                                       \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, NULL                                           \
    }
#define TN_FIELD_WORDS(name, type, params, member, words)                                          \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, words                                          \
    }
#define TN_FIELD_ARRAY(name, type, params, member)                                                 \
    {                                                                                              \
        name, type, sizeof(((params *)0)->member) / sizeof(((params *)0)->member[0]),              \
            offsetof(params, member), sizeof(((params *)0)->member[0]), NULL                       \
    }

/* What several parameter structs have. */
#define TN_FLAGS_FIELD(params) TN_FIELD("flags", TN_FIELD_U32, params, flags)
#define TN_ACTIVATION_FIELDS(params, member)                                                       \
    TN_FIELD_WORDS("activation", TN_FIELD_U32, params, member.kind, tn_activation_words),          \
        TN_FIELD("activation.alpha", TN_FIELD_F64, params, member.alpha),                          \
        TN_FIELD("activation.beta", TN_FIELD_F64, params, member.beta)
#define TN_EPILOGUE_FIELDS(params, member)                                                         \
    TN_FIELD("alpha", TN_FIELD_F64, params, member.alpha),                                         \
        TN_FIELD("beta", TN_FIELD_F64, params, member.beta),                                       \
        TN_ACTIVATION_FIELDS(params, member.activation)
#define TN_GEOMETRY_FIELDS(params, member)                                                         \
    TN_FIELD_ARRAY("stride", TN_FIELD_I64, params, member.stride),                                 \
        TN_FIELD_ARRAY("dilation", TN_FIELD_I64, params, member.dilation),                         \
        TN_FIELD_ARRAY("pad_begin", TN_FIELD_I64, params, member.pad_begin),                       \
        TN_FIELD_ARRAY("pad_end", TN_FIELD_I64, params, member.pad_end)
#define TN_FIELD_COUNT(fields) (sizeof(fields) / sizeof *(fields))

typedef struct tn_operand_info {
    const char *name; /* as messages have it */
    bool optional;
    bool read; /* an output that is read, too */
} tn_operand_info;

/* What every parameter struct begins with. */
typedef struct tn_params_head {
    uint32_t struct_size, flags;
    const char *solver;
} tn_params_head;

typedef struct tn_operation {
    const char *name; /* "tenon_gemm"; that of its plan is the same with "_plan" */
    /* The dispatch family whose solvers serve it. One that serves several operations is theirs all;
     * one operation of several families (by types) has a tn_operation for each. */
    const tn_family *family;
    tn_operand_info operands[TN_MAX_OPERANDS]; /* the outputs are the last ones */
    uint32_t operand_count, output_count;
    const tn_field *fields;
    uint32_t field_count;
    size_t params_size;
    void (*defaults)(void *params);
    /* The public calls; views are in the order of `operands`, NULL where absent. */
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    /* What is expected of the outputs that are present, one after the other, in row-major order;
     * memory is host memory of kind SVM. False without memory. */
    bool (*reference)(const void *params, const tenon_tensor *const *views, tn_bounded *expected);
    /* Puts values that the operation allows where random ones would not do (labels, indices,
     * variances); NULL where any will. */
    void (*settle)(const void *params, const tenon_tensor *const *views, uint64_t *seed);
    /*
     * Calls in the words of `tenon check` (case.h has the grammar), ended by NULL. A type T stands
     * for f32, f16, bf16 and f64 in turn, and S for the type of T's sums: f64 of f64, otherwise
     * f32. Between them every solver that may serve at all serves one. The first has all operands
     * but those that exclude others, and is small.
     */
    const char *const *examples;
    bool converts; /* each operand may be of a type of its own */
} tn_operation;

/* Bytes of an element of a field; the word for a value, NULL where it has none. */
size_t tn_field_size(tn_field_type type);
const char *tn_field_word(const tn_field *field, uint32_t value);

/* The first operation that the family serves; NULL where none is listed. */
const tn_operation *tn_operation_of_family(const tn_family *family);

#define X(name) extern const tn_operation tn_operation_##name;
#include "ops/operation_list.h"
#undef X

/* Define the members `run`, `plan` and `defaults` of an operation: run_NAME, plan_NAME,
 * default_NAME. The arguments are the call's views, of `v`. */
#define TN_OPERATION_CALLS(name, function, ...)                                                    \
    static tenon_status run_##name(tenon_stream *stream, const void *params,                       \
                                   const tenon_tensor *const *v, const tenon_sync *sync)           \
    {                                                                                              \
        return function(stream, params, __VA_ARGS__, sync);                                        \
    }                                                                                              \
    static tenon_status plan_##name(tenon_context *context, const void *params,                    \
                                    const tenon_tensor *const *v, tenon_plan **plan)               \
    {                                                                                              \
        return function##_plan(context, params, __VA_ARGS__, plan);                                \
    }
#define TN_OPERATION_DEFAULTS(name, type)                                                          \
    static void default_##name(void *params)                                                       \
    {                                                                                              \
        *(type *)params = type##_default();                                                        \
    }

extern const tn_operation *const tn_operations[];
extern const uint32_t tn_operation_count;

#endif
