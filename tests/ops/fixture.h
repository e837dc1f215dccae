/*
 * A call of an operation for tests: the operands of a tn_case in guarded memory, the operation's
 * own reference, and every solver of its family (test_subject). A test says the case in views and
 * parameters, or in the words of `tenon check`, and fills in the values.
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
    /* The reference's bounds are those of the solver at hand. */
    bool by_solver;
    /* The same where it is so for some solvers alone: whether it is for this one (NULL: none that
     * ran), whose judge may be made milder. */
    bool (*has_own_bounds)(const struct test_fixture *f, const tn_solver *solver,
                           test_judge *judge);
    /* Tries emulated matrix units (emulation.h); NULL where the family has none. The subject's data
     * is the fixture. */
    void (*emulate)(const test_subject *subject);
    /* Calls another entry than the operation's own; NULL: that. */
    tenon_status (*call)(const void *params, const tenon_tensor *const *views);
    /* The plan of that entry; NULL: it has none. */
    tenon_status (*plan)(const void *params, const tenon_tensor *const *views, tenon_plan **plan);
    const tn_family *family; /* that serves such a call; NULL: the operation's */
    /* Makes some bounds of `expected` smaller than the reference's; NULL where they stand. */
    void (*tighten)(struct test_fixture *f);
    /* From test_make on. Operands that are the view of another have no image of their own. */
    test_tensor operands[TN_MAX_OPERANDS];
    tn_bounded *expected; /* test_expect's */
    tn_bounded *own;      /* what is expected of a solver with bounds of its own */
} test_fixture;

typedef enum test_extent {
    TEST_ONCE,    /* the automatic choice */
    TEST_ALL,     /* and every solver */
    TEST_EMULATED /* emulated matrix units alone */
} test_extent;

/* An operation with its default parameters and no operands. */
void test_begin(test_fixture *f, const tn_operation *operation);

/* The same from a call in words; `type` is what T stands for. */
void test_begin_line(test_fixture *f, const char *line, tenon_dtype type);

/* The parameters, as the operation's struct. */
#define test_params(f, type) ((type *)(void *)(f)->c.params.bytes)

/* A view without memory; `offset` in elements. */
tenon_tensor test_view(tenon_dtype dtype, test_layout layout, bool gap, uint32_t rank,
                       const int64_t *shape, int64_t offset);

/* A shape by chance, returns its rank: short sides, and of few dimensions long ones. */
uint32_t test_random_shape(test_random *random, int64_t shape[TENON_MAX_RANK]);

/* A view by chance, up to nine elements behind the start. */
tenon_tensor test_random_view(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape);

/* Memory for all operands, all poison. */
void test_make(test_fixture *f);

/* The tensor behind an operand, or behind that whose view it is; NULL where it is absent. */
test_tensor *test_operand(test_fixture *f, uint32_t number);

/* Values for what is read, as the judge wants them and the operation allows. */
void test_fill_inputs(test_fixture *f, test_judge judge, test_random *random);

/* What the reference expects of the inputs as they are filled, into f->expected. */
void test_expect(test_fixture *f);

/* What a solver's own bounds say of them; a full name. */
void test_expect_of(const test_fixture *f, const char *solver, tn_bounded *expected);

/* The name of what a call with the solver (NULL: none is forced) runs; "" where it runs nothing. */
void test_name_solver(const test_fixture *f, const char *solver, char name[TN_SOLVER_NAME_SIZE]);

/* Values for what is read without those that the operation asks for: reals lie in [-reach, reach].
 */
void test_fill_plainly(test_fixture *f, test_judge judge, double reach, test_random *random);

/* Compares with the reference, and lets go of the memory or keeps it. */
void test_finish(test_fixture *f, test_extent extent);
void test_check(test_fixture *f, test_extent extent);

/* Compares what one solver gives, by its whole name (NULL: the automatic choice), and keeps the
 * memory; false where it cannot serve. */
bool test_solver(test_fixture *f, const char *solver);

/* The call as the harness takes it, which is compared with what test_expect found. */
test_subject test_subject_of(const test_fixture *f);

/* The same for solvers that are named without their family, and must serve; NULL ends them. */
void test_finish_by(test_fixture *f, const char *const *solvers);

/* Uploads all operands, for a call that the test itself makes. */
void test_upload_all(const test_fixture *f);

/* Plans the call without memory, and says what memory its runs take: so many. Uploads all operands.
 */
uint32_t test_plan(test_fixture *f, tenon_plan **plan, tenon_memory memories[TN_MAX_OPERANDS]);

/* Runs a plan on outputs that are poisoned again, and compares. */
void test_run_plan(test_fixture *f, tenon_plan *plan, const tenon_memory *memories, uint32_t count);

/* Lets go of the memory. */
void test_release(test_fixture *f);

/* The sum of what is expected times a tensor's elements. */
double test_dot(const tn_bounded *a, const test_tensor *b);

/* Whether `gradient` is the slope of the sum of `weights` times the first output of f, as its
 * reference gives it, by each element of an input: within `absolute`, and `relative` times the
 * slope. All are f64. */
void test_slopes(test_fixture *f, uint32_t input, const test_tensor *weights,
                 const tn_bounded *gradient, double absolute, double relative);

/* Calls that must be refused, with a message that has `text` and their outputs untouched: in words,
 * which may name a solver, or a fixture that is begun, which is released. */
typedef struct test_refusal {
    const char *line, *text;
    tenon_status status; /* TENON_OK, which is 0, stands for TENON_ERROR_INVALID_ARGUMENT */
} test_refusal;
#define TEST_REFUSE(refusals) test_refuse(refusals, sizeof(refusals) / sizeof *(refusals))
void test_refuse(const test_refusal *refusals, size_t count);
void test_refuse_fixture(test_fixture *f, tenon_status status, const char *text);

/* Until test_usual_stream calls go to a stream that may use so many bytes of workspace. */
void test_limit_workspace(uint64_t bytes);
void test_usual_stream(void);

/* By hand, not by the reference: a call of f32 in words, and the values of its operands in their
 * order (NULL where absent); outputs must come out as they are. */
#define TEST_KNOWN(line, ...) test_known(line, (const float *const[]){__VA_ARGS__})
void test_known(const char *line, const float *const *values);

/* All of a call: made, filled, compared. */
void test_run_fixture(test_fixture *f, test_judge judge, test_extent extent, test_random *random);

#endif
