/*
 * A call of an operation under test: the operands of a tn_case in guarded memory, the operation's
 * reference, and every solver of its family (test_subject). A test describes the case by views and
 * parameters, or in the syntax of `tenon check`, and fills in the values.
 *
 *   test_fixture f;
 *   test_begin(&f, &tn_operation_prelu);
 *   f.c.views[PRELU_X] = test_view(TENON_DTYPE_F16, TEST_PITCH, true, 2, shape, 1);
 *   …
 *   f.c.same[PRELU_X] = 1 + PRELU_Y;               in place
 *   test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
 */
#ifndef TENON_TESTS_OPS_FIXTURE_H
#define TENON_TESTS_OPS_FIXTURE_H

#include "support.h"

typedef struct test_fixture {
    tn_case c;
    test_judge judge;
    /* The bounds depend on the solver. */
    bool by_solver;
    /* Returns true if the bounds depend on the solver for this one (NULL: no solver ran), and may
     * make its judge more lenient. NULL: for none. */
    bool (*has_own_bounds)(const struct test_fixture *f, const tn_solver *solver,
                           test_judge *judge);
    /* Tries emulated matrix units (emulation.h); NULL if the family has none. The subject's data is
     * the fixture. */
    void (*emulate)(const test_subject *subject);
    /* Calls another function than the operation's own; NULL: its own. */
    tenon_status (*call)(const void *params, const tenon_tensor *const *views);
    /* Creates the plan of that function; NULL if it has none. */
    tenon_status (*plan)(const void *params, const tenon_tensor *const *views, tenon_plan **plan);
    const tn_family *family; /* family that serves the call; NULL: the operation's */
    /* Reduces some bounds of `expected` below the reference's; NULL: none. */
    void (*tighten)(struct test_fixture *f);
    /* Valid after test_make. An operand that is a view of another has no image of its own. */
    test_tensor operands[TN_MAX_OPERANDS];
    tn_bounded *expected; /* set by test_expect */
    tn_bounded *own;      /* expected results of a solver with its own bounds */
} test_fixture;

typedef enum test_extent {
    TEST_ONCE,    /* the automatic choice */
    TEST_ALL,     /* also every solver */
    TEST_EMULATED /* only emulated matrix units */
} test_extent;

/* Begins a call of an operation with default parameters and no operands. */
void test_begin(test_fixture *f, const tn_operation *operation);

/* Begins a call given in the syntax of `tenon check`; `type` replaces T. */
void test_begin_line(test_fixture *f, const char *line, tenon_dtype type);

/* Returns the parameters as the operation's struct. */
#define test_params(f, type) ((type *)(void *)(f)->c.params.bytes)

/* Returns a view without memory; `offset` is in elements. */
tenon_tensor test_view(tenon_dtype dtype, test_layout layout, bool gap, uint32_t rank,
                       const int64_t *shape, int64_t offset);

/* Draws a shape and returns its rank. Sides are short, or long if there are few dimensions. */
uint32_t test_random_shape(test_random *random, int64_t shape[TENON_MAX_RANK]);

/* Draws a view that begins up to nine elements after the start. */
tenon_tensor test_random_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape);

/* Allocates memory for all operands, filled with poison. */
void test_make(test_fixture *f);

/* Returns the tensor of an operand, or of the operand whose view it is; NULL if it is absent. */
test_tensor *test_operand(test_fixture *f, uint32_t number);

/* Fills the inputs with values that suit the judge and that the operation allows. */
void test_fill_inputs(test_fixture *f, test_judge judge, test_random *random);

/* Computes the reference's results from the current inputs, into f->expected. */
void test_expect(test_fixture *f);

/* Computes the results by the bounds of a solver, given by its full name. */
void test_expect_of(const test_fixture *f, const char *solver, tn_bounded *expected);

/* Stores the name of the solver that a call with the given solver (NULL: none is forced) runs; ""
 * if it runs none. */
void test_name_solver(const test_fixture *f, const char *solver, char name[TN_SOLVER_NAME_SIZE]);

/* Fills the inputs without regard to the operation; reals are in [-reach, reach]. */
void test_fill_plainly(test_fixture *f, test_judge judge, double reach, test_random *random);

/* Compare the results with the reference; test_finish also frees the memory. */
void test_finish(test_fixture *f, test_extent extent);
void test_check(test_fixture *f, test_extent extent);

/* Runs one solver by its full name (NULL: the automatic choice), compares, and keeps the memory.
 * Returns false if it cannot serve. */
bool test_solver(test_fixture *f, const char *solver);

/* Returns the call as a test_subject that expects the results of test_expect. */
test_subject test_subject_of(const test_fixture *f);

/* Runs each solver of a NULL-terminated list, named without their family, compares, and frees the
 * memory. Every solver must serve. */
void test_finish_by(test_fixture *f, const char *const *solvers);

/* Uploads all operands, for a call that the test makes itself. */
void test_upload_all(const test_fixture *f);

/* Uploads all operands and plans the call without memory. Stores the memories that its runs take,
 * and returns their number. */
uint32_t test_plan(test_fixture *f, tenon_plan **plan, tenon_memory memories[TN_MAX_OPERANDS]);

/* Poisons the outputs again, runs a plan and compares. */
void test_run_plan(test_fixture *f, tenon_plan *plan, const tenon_memory *memories, uint32_t count);

/* Frees the memory. */
void test_release(test_fixture *f);

/* Returns the dot product of expected values and a tensor's elements. */
double test_dot(const tn_bounded *a, const test_tensor *b);

/* Checks by finite differences that `gradient` is the derivative of the sum of `weights` times the
 * first output of f, as its reference computes it, with respect to each element of an input. The
 * tolerance is `absolute` plus `relative` times the derivative. All are f64. */
void test_slopes(test_fixture *f, uint32_t input, const test_tensor *weights,
                 const tn_bounded *gradient, double absolute, double relative);

/* Checks a backward call against finite differences of its forward call. Both have been begun in
 * f64, with parameters set in y. test_fill_gradients allocates and fills them, after which a test
 * may change inputs of y; test_check_gradients copies operands of the same name to dx, compares
 * each output such as "dx" with the slopes of the input "x", and releases both. */
void test_fill_gradients(test_fixture *y, test_fixture *dx, test_random *random);
void test_check_gradients(test_fixture *y, test_fixture *dx, double absolute, double relative);

/* Calls that must be refused with a message that contains `text`, leaving their outputs untouched.
 * A call is given as a line, which may name a solver, or as a fixture that has been begun, which is
 * released. */
typedef struct test_refusal {
    const char *line, *text;
    tenon_status status; /* TENON_OK, which is 0, means TENON_ERROR_INVALID_ARGUMENT */
} test_refusal;
#define TEST_REFUSE(refusals) test_refuse(refusals, sizeof(refusals) / sizeof *(refusals))
void test_refuse(const test_refusal *refusals, size_t count);
void test_refuse_fixture(test_fixture *f, tenon_status status, const char *text);

/* Makes calls use a stream whose workspace is limited to `bytes`, until test_usual_stream. */
void test_limit_workspace(uint64_t bytes);
void test_usual_stream(void);

/* Checks an f32 call against known values instead of the reference: its line, and the values of its
 * operands in order (NULL if absent). Outputs must be exactly as given. */
#define TEST_KNOWN(line, ...) test_known(line, (const float *const[]){__VA_ARGS__})
void test_known(const char *line, const float *const *values);

/* Does all steps of a call: allocate, fill, run, compare. */
void test_run_fixture(test_fixture *f, test_judge judge, test_extent extent, test_random *random);

#endif
