/*
 * What the tests of operations share: a device, tensors in guarded memory, and the comparison with
 * a reference.
 *
 * A test_tensor's memory is a host image that is uploaded whole, as raw bytes: guard zones before
 * and after the elements and the gaps between them hold a pattern that is a NaN in every float
 * type. A kernel that reads a gap shows it in its result; one that writes there is seen when the
 * memory is compared with the image. The elements of outputs start as the same pattern, so that
 * one which was not written shows too.
 */
#ifndef TENON_TESTS_OPS_SUPPORT_H
#define TENON_TESTS_OPS_SUPPORT_H

#include "common/testing.h"

#include <tenon/tenon.h>

#include "base/shape.h"
#include "check/case.h"

/* The device that the tests of this program run on. */
extern tenon_context *test_context;
extern tenon_stream *test_stream;

/* Runs the tests of the program on the default device, or on that of TENON_DEVICE, and returns what
 * main returns: TEST_SKIPPED where there is no device. A program without a function main has one
 * that calls this. */
int test_main(void);

/* The same without test_context: the process has the contexts that its tests make, and no other. */
int test_main_alone(void);

bool test_has(tenon_capability capability);

/* A queue of a context, which the caller releases; NULL where its device has none that is out of
 * order. The tests' own stream has the one or the other, as the seed says, or TENON_TEST_QUEUE:
 * "ordered" or "unordered". */
cl_command_queue test_queue(tenon_context *context, bool unordered);

/* Runs calls in the words of `tenon check`, ended by NULL, in a context whose device has so many
 * bytes of local memory: each must be right, or refused by the solver that it names. Returns how
 * many were served. */
int test_with_local_memory(uint64_t bytes, const char *const *lines);

/* The launch of a solver that does nothing: a mutant that every check must find out. */
tenon_status test_launch_nothing(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice);

/* The types that operations take, as far as the device has them: f32, f16, bf16, f64. Ends with
 * TENON_DTYPE_INVALID. */
const tenon_dtype *test_float_types(void);
/* The same in turn, by a number. */
tenon_dtype test_float_type(uint32_t number);

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        tenon_status test_status = (call);                                                         \
        if (test_status != TENON_OK)                                                               \
            fail_msg("%s gave %s: %s", #call, tenon_status_string(test_status),                    \
                     tenon_last_error());                                                          \
    } while (0)

/* A refusal has its status, and a message that begins with the operation and names the argument. */
#define assert_refused(call, status, operation, argument)                                          \
    test_assert_refused((call), (status), (operation), (argument), #call, __FILE__, __LINE__)
void test_assert_refused(tenon_status got, tenon_status status, const char *operation,
                         const char *argument, const char *call, const char *file, int line);

/* A call that is refused with TENON_ERROR_INVALID_ARGUMENT. The operation is the function called.
 */
#define assert_invalid(call, argument)                                                             \
    test_assert_invalid((call), (argument), #call, __FILE__, __LINE__)
void test_assert_invalid(tenon_status got, const char *argument, const char *call, const char *file,
                         int line);

/* How a tensor's last two dimensions lie. */
typedef enum test_layout {
    TEST_ROW,   /* row-major */
    TEST_COL,   /* the last two dimensions exchanged */
    TEST_PITCH, /* row-major with gaps between the rows */
    TEST_COL_PITCH,
    TEST_STRIDED, /* gaps between elements, too */
    TEST_LAYOUTS
} test_layout;
const char *test_layout_string(test_layout layout);

/* Fills in row-major strides or what the layout says. With `gap`, the dimensions before the last
 * two have gaps as well, so that none of them collapses. */
void test_strides(test_layout layout, bool gap, uint32_t rank, const int64_t *shape,
                  int64_t *stride);

typedef struct test_tensor {
    tenon_tensor view;    /* on the device */
    tenon_tensor host;    /* the same view of the image, as references take it */
    unsigned char *image; /* all of the memory as it is to be uploaded */
    uint64_t bytes;
} test_tensor;

/* Makes a tensor of the strides given, its first element `offset` elements past the guard. Nothing
 * is uploaded yet; all elements are poison. */
void test_tensor_create(test_tensor *tensor, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                        const int64_t *stride, int64_t offset);
void test_tensor_destroy(test_tensor *tensor);

/* Elements of the image by their row-major number, and all of them. */
double test_get(const test_tensor *tensor, int64_t number);
void test_set(test_tensor *tensor, int64_t number, double value);
/* Reals in [-1, 1]. */
void test_fill_reals(test_tensor *tensor, test_random *random);
/* Integers from -most to most. */
void test_fill_integers(test_tensor *tensor, test_random *random, int64_t most);
void test_fill_value(test_tensor *tensor, double value);
void test_fill_poison(test_tensor *tensor);

void test_upload(const test_tensor *tensor);

/* Whether the device's memory is still what was uploaded. */
bool test_untouched(const test_tensor *tensor);
#define assert_untouched(tensor)                                                                   \
    do {                                                                                           \
        if (!test_untouched(tensor))                                                               \
            fail_msg("%s was written to", #tensor);                                                \
    } while (0)

/* The device's elements in row-major order; the caller frees them. */
double *test_download(const test_tensor *tensor);

/* The raw bits of the elements, densely, for comparing two runs; the caller frees them. */
unsigned char *test_download_bits(const test_tensor *tensor);

/* Calls an operation on the tests' stream, and keeps the call for the line that repeats a failure.
 * Views follow in the operation's order, NULL where absent. */
#define test_call(operation, params, ...)                                                          \
    test_call_views(operation, params, (const tenon_tensor *const[TN_MAX_OPERANDS]){__VA_ARGS__})
tenon_status test_call_views(const tn_operation *operation, const void *params,
                             const tenon_tensor *const *views);

/* Whether the last call was left to the full run (quick.h), so that there are no results. */
bool test_left_out(void);

/* "tenon check …" for the last such call; the text lasts until the next one. */
const char *test_repeat(bool integers);

/* How a result is judged. */
typedef enum test_judge {
    TEST_BOUND, /* within the reference's bound */
    TEST_EXACT  /* all that was summed was exact, and so must the result be */
} test_judge;

/* Whether one value may stand for a reference's: NaN for NaN, the same infinity for an infinity. */
bool test_agrees(double got, tn_bounded expected, tenon_dtype dtype, test_judge judge);

/* Compares values with a reference's. False with the first difference in `why`. */
bool test_compare(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype,
                  test_judge judge, char why[256]);

/* Compares a tensor on the device with a reference: elements, and guard zones and gaps with the
 * image. */
bool test_result(const test_tensor *tensor, const tn_bounded *expected, test_judge judge,
                 char why[256]);

/* A call of an operation, prepared, and what must come of it: what every solver is tried on. */
typedef struct test_subject test_subject;
struct test_subject {
    const tn_family *family;
    tenon_status (*call)(const void *data, const char *solver);
    /* The problem in words, for who has to repeat it. */
    const char *(*describe)(const void *data);
    const void *data;
    /* The last ones are the outputs; those that are absent have no image. */
    const test_tensor *operands;
    uint32_t operand_count;
    const tn_bounded *expected; /* of the outputs, one after the other */
    test_judge judge;
    uint32_t outputs; /* 0: one */
    /* What is expected of a solver (NULL: the automatic choice), where that is not the same for
     * all: NULL leaves it at `expected`; *judge may be made milder. It lasts until the next call.
     */
    const tn_bounded *(*expected_of)(const void *data, const char *solver, test_judge *judge);
    /* Makes the call's plan, of views with the offsets of the operands and without memory, and says
     * which operand each of the plan's is by its name; NULL: there is none. */
    tenon_plan *(*plan)(const void *data, const char *solver);
    const test_tensor *(*operand_named)(const void *data, const char *name);
    /* Tries solvers on emulated matrix units (emulation.h); NULL where the family has none. */
    void (*emulate)(const test_subject *subject);
};

/* Runs one solver (NULL: the automatic choice) twice, which must give the same bits, and compares
 * with what is expected. False where the solver cannot serve. */
bool test_run(const test_subject *subject, const char *solver);

/* Uploads the operands, runs the automatic choice, every solver of the family and on CPUs an
 * emulated matrix unit (where TENON_TEST_PROBLEMS asks for many problems, one of all these in
 * turn), and sees to it that the inputs come out as they went in. */
void test_run_all(const test_subject *subject);

/* Uploads the operands and tries emulated units alone. */
void test_emulate(const test_subject *subject);

/* Uploads the operands and runs the automatic choice alone, for random problems. */
void test_run_once(const test_subject *subject);

/* How many random problems a test of them tries: `usual`, or what TENON_TEST_PROBLEMS says. */
int test_problems(int usual);

/* Fills an input for the judge: reals in [-1, 1], or small integers. */
void test_fill(test_tensor *tensor, test_judge judge, test_random *random);

#endif
