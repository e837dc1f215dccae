/* Descriptions of operations, for code that treats all operations alike: the self-test, `tenon
 * check`, tests of invalid input. A tn_operation lists the fields of the parameters and the
 * operands by name, and has functions to call the operation and to compute its reference. */
#ifndef TN_DISPATCH_OPERATION_H
#define TN_DISPATCH_OPERATION_H

#include "base/sized.h"
#include "dispatch/plan.h"

#include <stddef.h>

/* A member of a parameter struct: a number or an array of numbers. */
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
    uint32_t count; /* number of elements; 1 if it is not an array */
    size_t offset;
    size_t step;              /* bytes between elements */
    const char *const *words; /* names of the values 0, 1, ..., terminated by NULL; or NULL */
    /* A floating-point or unsigned 64-bit number may be set for each run of a plan
     * (plan_scalars.h). These are the names of an array's elements, and a function that returns
     * true if a call with these parameters uses the element at `value`. NULL: the field's own
     * name; always used. */
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
#define TN_FIELD_FIXED(name, type, params, member)                                                 \
    TN_FIELD_IF(name, type, params, member, tn_field_is_fixed)
#define TN_FIELD_WORDS(name, type, params, member, words)                                          \
    {                                                                                              \
        name, type, 1, offsetof(params, member), 0, words, NULL, NULL                              \
    }
#define TN_FIELD_ARRAY(name, type, params, member)                                                 \
    {                                                                                              \
        name, type, sizeof(((params *)0)->member) / sizeof(((params *)0)->member[0]),              \
            offsetof(params, member), sizeof(((params *)0)->member[0]), NULL, NULL, NULL           \
    }

/* Fields that several parameter structs share. */
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

/* A reference value with its error bound: check/bounds.h. */
typedef struct tn_bounded tn_bounded;

/* Sets the type, rank and shape of an output, from the parameters and the inputs: well-formed
 * views, NULL for absent optional ones. Returns false if they do not fit together; it need not
 * check everything that the call checks. */
typedef bool tn_shape_function(const void *params, const tenon_tensor *const *views,
                               tenon_tensor *output);

typedef struct tn_operand_info {
    const char *name; /* as used in messages */
    bool optional;
    bool read;  /* an output that is also read */
    bool image; /* has dimensions N (or K), C and 1 to 3 spatial ones */
    tn_role role;
    tn_shape_function *shape; /* NULL for inputs, and if the caller chooses an output's shape */
} tn_operand_info;

/* An order of a tensor's dimensions in memory: as in the view; with the last two exchanged; or with
 * the second one last. */
typedef enum tn_memory_order {
    TN_ORDER_AS_VIEWED,
    TN_ORDER_TRANSPOSED,
    TN_ORDER_CHANNELS_LAST
} tn_memory_order;

/* A layout that operands of a call could have instead of their own (alternatives.h). */
typedef struct tn_alternative {
    const char *condition; /* ends a sentence: "the rows of a were contiguous" */
    uint32_t operands;     /* bit i: operand i is dense in `order` */
    tn_memory_order order;
    /* The description that then serves the call, with the same parameters; NULL: the same one. */
    const struct tn_operation *served_by;
} tn_alternative;

/* The first members of every parameter struct. */
typedef struct tn_params_head {
    uint32_t struct_size, flags;
    const char *solver;
} tn_params_head;

/* Types of the functions in a description, which documents them. */
typedef tenon_status tn_prepare_function(const void *params, tn_call *call, tn_problem *problem,
                                         bool *empty);
typedef bool tn_reference_function(const void *params, const tenon_tensor *const *views,
                                   tn_bounded *expected);
typedef void tn_fill_function(const void *params, const tenon_tensor *const *views, uint64_t *seed);

typedef struct tn_operation tn_operation;
struct tn_operation {
    const char *name, *plan_name; /* "tenon_gemm", "tenon_gemm_plan" */
    /* The dispatch family whose solvers serve it. Several operations may share a family. An
     * operation with several families (by type) has one tn_operation for each. */
    const tn_family *family;
    tn_operand_info operands[TN_MAX_OPERANDS]; /* as runs of a plan take them */
    uint32_t operand_count;
    const tn_field *fields;
    uint32_t field_count;
    size_t params_size;
    const void *defaults;    /* default parameters */
    const char *initializer; /* name of the initializer macro; NULL for internal parameters */
    uint32_t flags;          /* known flags of the parameters */
    size_t epilogue_at;      /* offset of their tenon_epilogue; 0 if they have none */
    /* Returns the description that serves a call with these views, and adds the views of its
     * additional operands. NULL if it is always this description. `params` may be NULL. */
    const tn_operation *(*served_as)(const void *params, const tenon_tensor **views);
    /* Validates the parameters and views, which are well-formed, and fills in the problem, which
     * has room for problem_size bytes and whose head is set, and the call's scalars. A solver named
     * in the parameters is forced afterwards. */
    tn_prepare_function *prepare;
    size_t problem_size;
    /* Call the public functions if those take their operands in another form; otherwise NULL.
     * Views are in the order of `operands`, NULL if absent. */
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    /* Computes the expected values of the outputs that are present, one output after the other, in
     * row-major order. Memory is host memory of kind SVM. Returns false if memory is short. */
    tn_reference_function *reference;
    /* Writes valid values to operands for which random ones are not allowed (labels, indices,
     * variances); NULL if any values are allowed. */
    tn_fill_function *fill_valid;
    bool is_measurable; /* despite fill_valid: the time does not depend on the values */
    /* Example calls as arguments of `tenon check` (grammar in case.h), terminated by NULL. A type
     * T stands for f32, f16, bf16 and f64 in turn, and S for the type of T's sums: f64 for f64,
     * otherwise f32. Together they use every solver that can be selected. The first is small and
     * has all operands except those that exclude others. */
    const char *const *examples;
    /* Makes the case that repeats a call (check/case.h); NULL: the call itself. */
    void (*repeat)(const tn_call *call, struct tn_case *c);
    bool converts; /* each operand may have a type of its own */
    /* For a call that fails regardless of images being read as N H W C: returns, as bits, the
     * images whose last size equals the number of channels that the other operands imply and whose
     * second size does not. NULL if this cannot be determined. */
    uint32_t (*channels_last)(const void *params, const tn_call *call);
    /* Layouts that may be much faster than the caller's, those of fewer operands first, terminated
     * by one without a condition; or NULL. */
    const tn_alternative *alternatives;
};

/* For TN_FIELD_FIXED: returns false, because a run cannot set a number that belongs to the problem.
 */
bool tn_field_is_fixed(const void *params, const void *value);

/* Returns whether an operand is an output, from its role. */
bool tn_operation_writes(const tn_operation *operation, uint32_t operand);

/* Return the size of a field's element in bytes, and the name of a value (NULL if it has none). */
size_t tn_field_size(tn_field_type type);
const char *tn_field_word(const tn_field *field, uint32_t value);

/* Entry points of higher layers for dispatch and check. This is constant data that every family
 * points to, so nothing is registered at run time. */
struct tn_registry {
    const tn_operation *const *operations;
    uint32_t operation_count;
    /* Runs a choice on the awkward cases of its family in the validation context of `validation`.
     * If a result is wrong, `why` describes the difference. */
    tenon_status (*check)(tenon_stream *validation, const tn_family *family,
                          const tn_problem *problem, const tn_choice *choice, bool *right,
                          char why[256]);
    /* Writes a call as arguments of `tenon check`, with seed 1 and only the name of its family. */
    void (*call_text)(const tn_call *call, char text[TN_REPEAT_SIZE]);
    /* tenon_nonfinite, which sets an i32 to 1 if an element of a tensor is NaN or infinite. */
    const tn_operation *nonfinite;
};

/* Returns the first operation that the family serves, or NULL. */
const tn_operation *tn_operation_of_family(const tn_family *family);

/* Fills in the problem of a call of its description, after checking the flags and the views. NULL
 * parameters are the defaults. tn_operation_try neither forces a solver nor explains a failure. */
tenon_status tn_operation_try(const void *params, tn_call *call, tn_problem *problem, bool *empty);
tenon_status tn_operation_prepare(const void *params, tn_call *call, tn_problem *problem,
                                  bool *empty);

/* Bodies of the public functions: prepare the call, then run it or create its plan. */
tenon_status tn_operation_run(const tn_operation *operation, tenon_stream *stream,
                              const void *params, const tenon_tensor *const *views,
                              const tenon_sync *sync);
tenon_status tn_operation_plan(const tn_operation *operation, tenon_context *context,
                               const void *params, const tenon_tensor *const *views,
                               tenon_plan **plan);

/* Finds out if a call is supported: prepares it and configures solvers, without building kernels.
 */
tenon_status tn_operation_supported(const tn_operation *operation, tenon_context *context,
                                    const void *params, const tenon_tensor *const *views);

/* The same from a public function whose other parameters are named as in the headers. The tensors
 * follow the operation, in the order of its operands. */
#define TN_VIEWS(...) ((const tenon_tensor *const[]){__VA_ARGS__})
#define TN_RUN(operation, ...)                                                                     \
    tn_operation_run(&(operation), stream, params, TN_VIEWS(__VA_ARGS__), sync)
#define TN_PLAN(operation, ...)                                                                    \
    tn_operation_plan(&(operation), context, params, TN_VIEWS(__VA_ARGS__), plan)

/* Computes the type and shape of an output, as a row-major view without memory. */
tenon_status tn_operation_output_shape(const tn_operation *operation, const void *params,
                                       const tenon_tensor *const *views, uint32_t index,
                                       tenon_tensor *output);

/* Call the public functions of an operation through its description. */
tenon_status tn_operation_call(const tn_operation *operation, tenon_stream *stream,
                               const void *params, const tenon_tensor *const *views,
                               const tenon_sync *sync);
tenon_status tn_operation_call_plan(const tn_operation *operation, tenon_context *context,
                                    const void *params, const tenon_tensor *const *views,
                                    tenon_plan **plan);

/* Like tn_operation_run and tn_operation_plan, with another name in messages: that of a public
 * function which is not the operation's own. A plan keeps the pointer. */
tenon_status tn_operation_run_as(const char *name, const tn_operation *operation,
                                 tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *views, const tenon_sync *sync);
tenon_status tn_operation_plan_as(const char *name, const tn_operation *operation,
                                  tenon_context *context, const void *params,
                                  const tenon_tensor *const *views, tenon_plan **plan);

void tn_operation_defaults(const tn_operation *operation, void *params);

/* Converts the caller's parameters to this version's struct: returns `given` itself, the defaults,
 * or a struct made in `room`, which has params_size bytes. */
tenon_status tn_operation_take_params(const char *name, const tn_operation *operation,
                                      const void *given, void *room, const void **params);

/* Names of the two public functions of an operation. */
#define TN_NAMES(function) .name = function, .plan_name = function "_plan"

/* Parameters of a description; tn_operation_run has room for TN_PARAMS_SIZE bytes to convert other
 * versions. */
#define TN_PARAMS_SIZE           1024
#define TN_PARAMS(values, macro) TN_OWN_PARAMS(values), .initializer = #macro
/* The same for parameters that are not a public struct. */
#define TN_OWN_PARAMS(values)                                                                      \
    .defaults = &(values),                                                                         \
    .params_size = sizeof(values) + 0 * sizeof(char[sizeof(values) <= TN_PARAMS_SIZE ? 1 : -1])

/* The problem type of a description; tn_operation_run has room for TN_PROBLEM_SIZE bytes. */
#define TN_PROBLEM_SIZE 1536
#define TN_PROBLEM(type)                                                                           \
    .problem_size = sizeof(type) + 0 * sizeof(char[sizeof(type) <= TN_PROBLEM_SIZE ? 1 : -1])
#define TN_FIELDS(list) .fields = list, .field_count = TN_FIELD_COUNT(list)

/* Holds the problem of any family. */
typedef union tn_any_problem {
    tn_problem head;
    uint64_t words[TN_PROBLEM_SIZE / sizeof(uint64_t)];
} tn_any_problem;

/* Holds the parameters of any operation in this version. */
typedef union tn_any_params {
    tn_params_head head;
    uint64_t words[TN_PARAMS_SIZE / sizeof(uint64_t)];
    unsigned char bytes[TN_PARAMS_SIZE];
} tn_any_params;

#endif
