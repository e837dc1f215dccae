/*
 * What an operation is to those who call all of them alike: the self-test, the repetition of a
 * failure, the tests of refused calls. A tn_operation has its parameters' fields and its operands
 * by name, calls it, and knows its reference.
 */
#ifndef TN_DISPATCH_OPERATION_H
#define TN_DISPATCH_OPERATION_H

#include "base/sized.h"
#include "dispatch/plan.h"

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
    /* A number in floating point or of 64 bits without a sign may be set for each run of a plan
     * (plan_scalars.h): the names of an array's elements, and whether a call with these parameters
     * uses the element at `value`. NULL: the field's own name; it always does. */
    const char *const *element_names;
    bool (*is_used)(const void *params, const void *value);
} tn_field;

#define TN_FIELD(name, type, params, member)                                                       \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, NULL, NULL, NULL                               \
    }
#define TN_FIELD_IF(name, type, params, member, is_used)                                           \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, NULL, NULL, is_used                            \
    }
#define TN_FIELD_WORDS(name, type, params, member, words)                                          \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, words, NULL, NULL                              \
    }
#define TN_FIELD_ARRAY(name, type, params, member)                                                 \
    {                                                                                              \
        name, type, sizeof(((params *)0)->member) / sizeof(((params *)0)->member[0]),              \
            offsetof(params, member), sizeof(((params *)0)->member[0]), NULL, NULL, NULL           \
    }

/* What several parameter structs have. */
#define TN_FLAGS_FIELD(params) TN_FIELD("flags", TN_FIELD_U32, params, flags)
#define TN_ACTIVATION_FIELDS(params, member)                                                       \
    TN_FIELD_WORDS("activation", TN_FIELD_U32, params, member.kind, tn_activation_words),          \
        TN_FIELD_IF("activation.alpha", TN_FIELD_F64, params, member.alpha,                        \
                    tn_activation_uses_alpha),                                                     \
        TN_FIELD_IF("activation.beta", TN_FIELD_F64, params, member.beta, tn_activation_uses_beta)
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

/* What a reference says of an element: check/bounds.h. */
typedef struct tn_bounded tn_bounded;

typedef struct tn_operand_info {
    const char *name; /* as messages have it */
    bool optional;
    bool read;  /* an output that is read, too */
    bool image; /* N (or K), C and 1 to 3 spatial dimensions */
    tn_role role;
} tn_operand_info;

/* What every parameter struct begins with. */
typedef struct tn_params_head {
    uint32_t struct_size, flags;
    const char *solver;
} tn_params_head;

/* The functions of a description, as it explains them. */
typedef tenon_status tn_prepare_function(const void *params, tn_call *call, tn_problem *problem,
                                         bool *empty);
typedef bool tn_reference_function(const void *params, const tenon_tensor *const *views,
                                   tn_bounded *expected);
typedef void tn_fill_function(const void *params, const tenon_tensor *const *views, uint64_t *seed);

typedef struct tn_operation tn_operation;
struct tn_operation {
    const char *name, *plan_name; /* "tenon_gemm", "tenon_gemm_plan" */
    /* The dispatch family whose solvers serve it. One that serves several operations is theirs all;
     * one operation of several families (by types) has a tn_operation for each. */
    const tn_family *family;
    tn_operand_info operands[TN_MAX_OPERANDS]; /* the outputs are the last ones */
    uint32_t operand_count, output_count;
    const tn_field *fields;
    uint32_t field_count;
    size_t params_size;
    const void *defaults;    /* of the parameters */
    const char *initialiser; /* the macro that has them; NULL where callers have none */
    size_t epilogue_at;      /* where they have their tenon_epilogue; 0 where they have none */
    /* The description that serves a call with these views, to which it adds those of the further
     * operands that it has; NULL where it is always this one. Parameters may be NULL. */
    const tn_operation *(*served_as)(const void *params, const tenon_tensor **views);
    /* Refuses what is wrong with the parameters and the views, and fills in the problem, which has
     * room for problem_size bytes and of which the head is set, and the call's scalars. The solver
     * that the parameters name is forced afterwards. */
    tn_prepare_function *prepare;
    size_t problem_size;
    /* Call the public functions where those take the operands in another form; NULL elsewhere.
     * Views are in the order of `operands`, NULL where absent. */
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    /* What is expected of the outputs that are present, one after the other, in row-major order;
     * memory is host memory of kind SVM. False without memory. */
    tn_reference_function *reference;
    /* Puts values that the operation allows where random ones would not do (labels, indices,
     * variances); NULL where any will. */
    tn_fill_function *fill_valid;
    /*
     * Calls in the words of `tenon check` (case.h has the grammar), ended by NULL. A type T stands
     * for f32, f16, bf16 and f64 in turn, and S for the type of T's sums: f64 of f64, otherwise
     * f32. Between them every solver that may serve at all serves one. The first has all operands
     * but those that exclude others, and is small.
     */
    const char *const *examples;
    bool converts; /* each operand may be of a type of its own */
    /* Of a call that fails whatever images are read as N H W C: those, as bits, whose last size is
     * the number of channels that its others want, and whose second is not; NULL where that cannot
     * be told. */
    uint32_t (*channels_last)(const void *params, const tn_call *call);
};

/* Bytes of an element of a field; the word for a value, NULL where it has none. */
size_t tn_field_size(tn_field_type type);
const char *tn_field_word(const tn_field *field, uint32_t value);

/* What dispatch and check call in the layers above them. It is constant data that every family
 * points to, so that nothing has to be registered at run time. */
struct tn_registry {
    const tn_operation *const *operations;
    uint32_t operation_count;
    /* Runs a choice on the awkward cases of its family in the validation context that `validation`
     * belongs to; where one is wrong, says in `why` what differed. */
    tenon_status (*check)(tenon_stream *validation, const tn_family *family,
                          const tn_problem *problem, const tn_choice *choice, bool *right,
                          char why[256]);
    /* Writes a call in the words of `tenon check`, with seed 1 and its family's name alone. */
    void (*call_text)(const tn_call *call, char text[TN_REPEAT_SIZE]);
};

/* The first operation that the family serves; NULL where none is listed. */
const tn_operation *tn_operation_of_family(const tn_family *family);

/* The problem of a call of its description: NULL params are the defaults. */
tenon_status tn_operation_prepare(const void *params, tn_call *call, tn_problem *problem,
                                  bool *empty);

/* The bodies of the public functions: preparation, then the plan. */
tenon_status tn_operation_run(const tn_operation *operation, tenon_stream *stream,
                              const void *params, const tenon_tensor *const *views,
                              const tenon_sync *sync);
tenon_status tn_operation_plan(const tn_operation *operation, tenon_context *context,
                               const void *params, const tenon_tensor *const *views,
                               tenon_plan **plan);

/* The public call of an operation by its description. */
tenon_status tn_operation_call(const tn_operation *operation, tenon_stream *stream,
                               const void *params, const tenon_tensor *const *views,
                               const tenon_sync *sync);
tenon_status tn_operation_call_plan(const tn_operation *operation, tenon_context *context,
                                    const void *params, const tenon_tensor *const *views,
                                    tenon_plan **plan);

/* The same under another name, for messages: of a public function that is not the operation's own.
 * A plan keeps it. */
tenon_status tn_operation_run_as(const char *name, const tn_operation *operation,
                                 tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *views, const tenon_sync *sync);
tenon_status tn_operation_plan_as(const char *name, const tn_operation *operation,
                                  tenon_context *context, const void *params,
                                  const tenon_tensor *const *views, tenon_plan **plan);

void tn_operation_defaults(const tn_operation *operation, void *params);

/* The caller's parameters as this version has them: `given` itself, the defaults, or what is made
 * in `room`, which has room for the operation's params_size. */
tenon_status tn_operation_take_params(const char *name, const tn_operation *operation,
                                      const void *given, void *room, const void **params);

/* The names of the two public functions of an operation. */
#define TN_NAMES(function) .name = function, .plan_name = function "_plan"

/* The parameters of a description: of which tn_operation_run has room for others' versions. */
#define TN_PARAMS_SIZE           1024
#define TN_PARAMS(values, macro) TN_OWN_PARAMS(values), .initialiser = #macro
/* The same where they are no public struct. */
#define TN_OWN_PARAMS(values)                                                                      \
    .defaults = &(values),                                                                         \
    .params_size = sizeof(values) + 0 * sizeof(char[sizeof(values) <= TN_PARAMS_SIZE ? 1 : -1])

/* The problem of a description: one that tn_operation_run has room for. */
#define TN_PROBLEM_SIZE 1536
#define TN_PROBLEM(type)                                                                           \
    .problem_size = sizeof(type) + 0 * sizeof(char[sizeof(type) <= TN_PROBLEM_SIZE ? 1 : -1])
#define TN_FIELDS(list) .fields = list, .field_count = TN_FIELD_COUNT(list)

/* Room for the problem of any family. */
typedef union tn_any_problem {
    tn_problem head;
    uint64_t words[TN_PROBLEM_SIZE / sizeof(uint64_t)];
} tn_any_problem;

/* Room for the parameters of any operation, as this version has them. */
typedef union tn_any_params {
    tn_params_head head;
    uint64_t words[TN_PARAMS_SIZE / sizeof(uint64_t)];
    unsigned char bytes[TN_PARAMS_SIZE];
} tn_any_params;

#endif
