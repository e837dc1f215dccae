/*
 * Test support for operations: a device, tensors in guarded memory, and comparison with a
 * reference.
 *
 * The memory of a test_tensor is a host image that is uploaded as raw bytes. Guard zones before and
 * after the elements, and gaps between elements, hold a pattern that is NaN in every float type. If
 * a kernel reads a gap, its result shows it; if it writes there, comparing the memory with the
 * image shows it. The elements of outputs initially hold the same pattern, so elements that were
 * not written are detected too.
 */
#ifndef TENON_TESTS_OPS_SUPPORT_H
#define TENON_TESTS_OPS_SUPPORT_H

#include "common/testing.h"

#include <tenon/tenon.h>

#include "base/shape.h"
#include "check/case.h"
#include "objects.h"

/* Context and stream of the device under test. */
extern tenon_context *test_context;
extern tenon_stream *test_stream;

/* Runs the tests of the program on the default device, or on that of TENON_DEVICE. Returns the
 * value for main to return: TEST_SKIPPED if there is no device. A program without main of its own
 * links one that calls this function. */
int test_main(void);

/* Runs the tests without test_context: the process has only the contexts that its tests create. */
int test_main_alone(void);

bool test_has(tenon_capability capability);

/* Creates a queue, which the caller releases; returns NULL if `unordered` and the device has no
 * out-of-order queues. The tests' own stream uses either kind, selected by the seed or by
 * TENON_TEST_QUEUE: "ordered" or "unordered". */
cl_command_queue test_queue(tenon_context *context, bool unordered);

/* Runs a NULL-terminated list of calls in the syntax of `tenon check`, in a context whose device
 * has `bytes` of local memory. Each call must be correct, or refused by the solver that it names.
 * Returns the number of calls served. */
int test_with_local_memory(uint64_t bytes, const char *const *lines);

/* Launch function of a solver that does nothing: a mutant that every check must detect. */
tenon_status test_launch_nothing(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice);

/* Returns the types supported by operations and the device: f32, f16, bf16, f64, terminated by
 * TENON_DTYPE_INVALID. The quick set tests f32 and one other, which the seed selects. */
const tenon_dtype *test_float_types(void);
/* Returns one of all these types, cycling by number. */
tenon_dtype test_float_type(uint32_t number);

/* Returns the type after `type` that copies and similar operations support, from f64 on;
 * TENON_DTYPE_INVALID after the last. */
tenon_dtype test_next_moved_type(tenon_dtype type);

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        tenon_status test_status = (call);                                                         \
        if (test_status != TENON_OK)                                                               \
            fail_msg("%s returned %s: %s", #call, tenon_status_string(test_status),                \
                     tenon_last_error());                                                          \
    } while (0)

/* Checks that a call is refused with this status and a message that begins with the operation and
 * names the argument. */
#define assert_refused(call, status, operation, argument)                                          \
    test_assert_refused((call), (status), (operation), (argument), #call, __FILE__, __LINE__)
void test_assert_refused(tenon_status got, tenon_status status, const char *operation,
                         const char *argument, const char *call, const char *file, int line);

/* Checks that a call is refused with TENON_ERROR_INVALID_ARGUMENT. The operation is the function
 * called. */
#define assert_invalid(call, argument)                                                             \
    test_assert_invalid((call), (argument), #call, __FILE__, __LINE__)
void test_assert_invalid(tenon_status got, const char *argument, const char *call, const char *file,
                         int line);

/* Layout of a tensor's last two dimensions. */
typedef enum test_layout {
    TEST_ROW,   /* row-major */
    TEST_COL,   /* the last two dimensions swapped */
    TEST_PITCH, /* row-major with gaps between the rows */
    TEST_COL_PITCH,
    TEST_STRIDED, /* also gaps between elements */
    TEST_LAYOUTS
} test_layout;
const char *test_layout_string(test_layout layout);

/* Fills in the strides of a layout. With `gap`, the dimensions before the last two have gaps as
 * well, and none of them can be merged. */
void test_strides(test_layout layout, bool gap, uint32_t rank, const int64_t *shape,
                  int64_t *stride);

typedef struct test_tensor {
    tenon_tensor view;    /* on the device */
    tenon_tensor host;    /* the same view of the image, for references */
    unsigned char *image; /* the whole memory, as it is uploaded */
    uint64_t bytes;
} test_tensor;

/* Creates a tensor with the given strides, whose first element is `offset` elements after the guard
 * zone. Nothing is uploaded yet; all elements are poison. */
void test_tensor_create(test_tensor *tensor, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                        const int64_t *stride, int64_t offset);
void test_tensor_destroy(test_tensor *tensor);

/* Read and write an element of the image by its row-major number. */
double test_get(const test_tensor *tensor, int64_t number);
void test_set(test_tensor *tensor, int64_t number, double value);
/* The same for an element of an integer type or of bool: the lowest bits of the value. */
void test_set_whole(test_tensor *tensor, int64_t number, int64_t value);
/* Fills with reals in [-1, 1]. */
void test_fill_reals(test_tensor *tensor, test_random *random);
/* Fills with integers from -most to most. */
void test_fill_integers(test_tensor *tensor, test_random *random, int64_t most);
void test_fill_value(test_tensor *tensor, double value);
void test_fill_poison(test_tensor *tensor);

void test_upload(const test_tensor *tensor);

/* Returns true if the device's memory is still as uploaded. */
bool test_untouched(const test_tensor *tensor);
#define assert_untouched(tensor)                                                                   \
    do {                                                                                           \
        if (!test_untouched(tensor))                                                               \
            fail_msg("%s was written to", #tensor);                                                \
    } while (0)

/* Returns the device's elements in row-major order; the caller frees them. */
double *test_download(const test_tensor *tensor);

/* Returns the raw bits of the elements without gaps, to compare two runs; the caller frees them. */
unsigned char *test_download_bits(const test_tensor *tensor);

/* Calls an operation on the tests' stream, and keeps the call to print how to repeat a failure.
 * Views follow in the operation's order, NULL if absent. */
#define test_call(operation, params, ...)                                                          \
    test_call_views(operation, params, (const tenon_tensor *const[TN_MAX_OPERANDS]){__VA_ARGS__})
tenon_status test_call_views(const tn_operation *operation, const void *params,
                             const tenon_tensor *const *views);

/* Returns true if the last call was left to the full run (quick.h) and has no results. */
bool test_left_out(void);

/* Returns the `tenon check …` line of the last such call, valid until the next one. */
const char *test_repeat(bool integers);

/* Criterion for a correct result. */
typedef enum test_judge {
    TEST_BOUND, /* within the reference's bound */
    TEST_EXACT  /* sums are exact, so the result must be too */
} test_judge;

/* Returns true if a value matches the reference: within its bound, NaN for NaN, and the same
 * infinity for an infinity. */
bool test_agrees(double got, tn_bounded expected, tenon_dtype dtype, test_judge judge);

/* Compares values with a reference's. Returns false with the first difference in `why`. */
bool test_compare(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype,
                  test_judge judge, char why[256]);

/* Compares a tensor on the device with a reference; guard zones and gaps are compared with the
 * image. */
bool test_result(const test_tensor *tensor, const tn_bounded *expected, test_judge judge,
                 char why[256]);

/* Returns the number of the first output. */
uint32_t test_first_output(const tn_operation *operation);

/* A prepared call of an operation and its expected results, to be run on every solver. */
typedef struct test_subject test_subject;
struct test_subject {
    const tn_family *family;
    tenon_status (*call)(const void *data, const char *solver);
    /* Returns a description of the problem for failure messages. */
    const char *(*describe)(const void *data);
    const void *data;
    const tn_operation *operation;
    const test_tensor *operands; /* of the operation; absent ones have no image */
    const tn_bounded *expected;  /* for all outputs, concatenated */
    test_judge judge;
    /* Returns the expected results of a solver (NULL: the automatic choice) if they depend on the
     * solver, valid until the next call. NULL selects `expected`. May make *judge more lenient. */
    const tn_bounded *(*expected_of)(const void *data, const char *solver, test_judge *judge);
    /* `plan` creates the call's plan, from views with the operands' offsets but without memory;
     * `operand_named` maps names of the plan's operands to tensors. NULL: there is no plan. */
    tenon_plan *(*plan)(const void *data, const char *solver);
    const test_tensor *(*operand_named)(const void *data, const char *name);
    /* Tries solvers on emulated matrix units (emulation.h); NULL if the family has none. */
    void (*emulate)(const test_subject *subject);
};

/* Runs one solver (NULL: the automatic choice) twice, which must give the same bits, and compares
 * with the expected results. Returns false if the solver cannot serve. */
bool test_run(const test_subject *subject, const char *solver);

/* Uploads the operands and runs the automatic choice, every solver of the family and, on CPUs, an
 * emulated matrix unit; if TENON_TEST_PROBLEMS asks for many problems, only one of these in turn.
 * Checks that the inputs are unchanged. */
void test_run_all(const test_subject *subject);

/* Uploads the operands and tries only emulated units. */
void test_emulate(const test_subject *subject);

/* Uploads the operands and runs only the automatic choice, for random problems. */
void test_run_once(const test_subject *subject);

/* Returns the number of random problems to try: TENON_TEST_PROBLEMS, or `usual`. */
int test_problems(int usual);

/* Fills an input as the judge requires: reals in [-1, 1], or small integers. */
void test_fill(test_tensor *tensor, test_judge judge, test_random *random);

#endif
