/*
 * Measures the worst error of every operation relative to its bound (`./run errors`): calls derived
 * from the operation's examples, with random sizes, layouts, kinds and flags, which the automatic
 * choice computes and the reference checks.
 *
 * Most of the time of a problem is that of compiling its kernels. A measurement of many problems
 * (TENON_TEST_PROBLEMS) therefore takes them in groups: the first of a group may need any kernels,
 * the others are new calls that need only kernels built before, or the first call with new values.
 */
#include "builds.h"
#include "derived_case.h"
#include "fixture.h"
#include "quick.h"
#include "tally.h"

#include "base/dtype.h"
#include "ops/registry.h"

#define QUICK_ONE_IN 8  /* the quick set checks one of 8 operations */
#define GROUPS       20 /* of a measurement, at least, per type */
#define MOST_BUILT   (1 << 16)
#define DRAWS        3 /* of a call that needs no other kernels */

/* Builds that the problems of this process needed, as an open hash table. */
static uint64_t built[MOST_BUILT];
static uint32_t built_count;

/* Returns the place of a build, which is 0 if it is new. */
static uint64_t *place_of(uint64_t key)
{
    uint32_t at = (uint32_t)key % MOST_BUILT;
    while (built[at] != 0 && built[at] != key)
        at = (at + 1) % MOST_BUILT;
    return &built[at];
}

/* Finds the builds of a case. Returns false if its call fails. */
static bool builds_of(const tn_case *c, call_builds *builds)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID)
            views[i] = &c->views[i];
    return builds_of_call(c->operation, c->params.bytes, views, builds);
}

static void note_builds(const tn_case *c)
{
    call_builds builds;
    if (!builds_of(c, &builds))
        return;
    for (int i = 0; i < builds.count; i++) {
        uint64_t *place = place_of(builds.keys[i]);
        if (*place == 0 && built_count < MOST_BUILT / 2) {
            *place = builds.keys[i];
            built_count++;
        }
    }
}

static bool is_built(const tn_case *c)
{
    call_builds builds;
    bool all = builds_of(c, &builds);
    for (int i = 0; all && i < builds.count; i++)
        all = *place_of(builds.keys[i]) != 0;
    return all;
}

/* Returns the type of a problem with T = `type`: T if an operand has it, or else that of its first
 * floating-point operand, or of its first operand. */
static tenon_dtype type_of(const tn_case *c, tenon_dtype type)
{
    tenon_dtype first = TENON_DTYPE_INVALID;
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        if (c->views[i].dtype == type)
            return type;
        if (first == TENON_DTYPE_INVALID && tn_dtype_is_float(c->views[i].dtype))
            first = c->views[i].dtype;
    }
    return first != TENON_DTYPE_INVALID ? first : c->views[0].dtype;
}

static void check(const tn_case *c, tenon_dtype type)
{
    char text[TN_CASE_TEXT_SIZE];
    tn_case_result result;
    if (tn_case_run(test_stream, c, &result) != TENON_OK)
        fail_msg("%s: %s", tn_case_text(c, text), tenon_last_error());
    if (!result.served || !result.right)
        fail_msg("%s: %s", tn_case_text(c, text), result.why);
    tally_problem(c, type_of(c, type), result.error_over_bound);
}

/* Checks `count` problems with T = `type`, derived from the examples in turn. */
static uint32_t check_some(const tn_operation *operation, uint32_t lines, tenon_dtype type,
                           int count, test_random *random)
{
    uint32_t derived = 0;
    for (int n = 0; n < count; n++) {
        tn_case c;
        if (!derived_case(operation->examples[(uint32_t)n % lines], type, random, &c))
            continue;
        check(&c, type);
        derived++;
    }
    return derived;
}

/* Replaces a call by another one from the same example that needs no other kernels, or gives it new
 * values. */
static void renew(const char *line, tenon_dtype type, test_random *random, tn_case *c)
{
    for (int i = 0; i < DRAWS; i++) {
        tn_case other;
        if (derived_case(line, type, random, &other) && is_built(&other)) {
            *c = other;
            return;
        }
    }
    c->seed = test_next(random);
}

/* Checks a group of up to `size` problems of one example, but of each type no more than `most`.
 * Returns false if there is none. */
static bool check_group(const char *line, tenon_dtype type, long size, long most,
                        test_random *random)
{
    tn_case c;
    if (!derived_case(line, type, random, &c))
        return false;
    const long left = most - tally_results(c.operation, type_of(&c, type));
    note_builds(&c);
    for (long i = 0; i < (left < size ? left : size); i++) {
        if (i > 0)
            renew(line, type, random, &c);
        check(&c, type);
    }
    return left > 0;
}

/* Checks groups of problems with T = `type` until there are `most`, or no example has more. */
static uint32_t measure(const tn_operation *operation, uint32_t lines, tenon_dtype type, long most,
                        test_random *random)
{
    const long groups = GROUPS > lines ? GROUPS : lines, size = most / groups + 1;
    uint32_t without = 0, checked = 0;
    for (uint32_t n = 0; without < 2 * lines; n++)
        if (check_group(operation->examples[n % lines], type, size, most, random)) {
            checked++;
            without = 0;
        } else
            without++;
    return checked;
}

/* Checks problems of an operation in every type. */
static void check_operation(const tn_operation *operation)
{
    test_random random = test_random_for(911);
    const int most = test_problems(0);
    uint32_t lines = 1, checked = 0;
    if (!quick_draws(operation->name, QUICK_ONE_IN))
        return;
    assert_non_null(operation->examples[0]);
    while (operation->examples[lines] != NULL)
        lines++;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        checked += most > 0 ? measure(operation, lines, *type, most, &random)
                            : check_some(operation, lines, *type, 2, &random);
    assert_true(checked > 0 || quick_is_on());
}

#define X(name)                                                                                    \
    TEST(random_problems_##name)                                                                   \
    {                                                                                              \
        check_operation(&tn_operation_##name);                                                     \
    }
#include "ops/operation_list.h"
#undef X
