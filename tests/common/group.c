/* Runs a group of cmocka tests. What a failed test leaves behind (contexts, streams, faults, the
 * environment, temporary folders) must not make others fail: they run in a new process. */
#include "common/restart.h"
#include "common/testing.h"

/* The group that runs: its tests, and those of them that this process runs. */
static struct {
    const struct CMUnitTest *tests;
    bool any;          /* a test has begun */
    bool is_over;      /* and has returned, or was skipped */
    void *own;         /* its state */
    unsigned failures; /* of this process and those before it */
    unsigned number;   /* of groups in this program */
} group;

void test_note_skip(void)
{
    group.is_over = true;
}

/* "GROUP TEST FAILURES": where the program continues, and how many tests have failed before. Where
 * it cannot, the test that has been announced goes on in this process. */
static void restart_at(const struct CMUnitTest *test)
{
    char resume[64];
    snprintf(resume, sizeof resume, "%u %zu %u", group.number, (size_t)(test - group.tests),
             ++group.failures);
    printf("[ RESTART  ] a test has failed: the others run in a new process\n");
    test_restart(resume);
    printf("[ RUN      ] %s\n", test->name);
}

static const struct CMUnitTest *test_of(void **state)
{
    return *state;
}

static int set_up(void **state)
{
    const struct CMUnitTest *test = test_of(state);
    if (group.any && !group.is_over)
        restart_at(test);
    group.any = true;
    group.is_over = false;
    group.own = test->initial_state;
    return test->setup_func != NULL ? test->setup_func(&group.own) : 0;
}

static void run(void **state)
{
    test_of(state)->test_func(&group.own);
    group.is_over = true;
}

static int tear_down(void **state)
{
    const struct CMUnitTest *test = test_of(state);
    return test->teardown_func != NULL ? test->teardown_func(&group.own) : 0;
}

/* Runs the tests from number `first` on. */
static int run_from(const char *name, size_t first, size_t count, CMFixtureFunction group_set_up,
                    CMFixtureFunction group_tear_down)
{
    struct CMUnitTest *wrapped = calloc(count - first, sizeof *wrapped);
    if (wrapped == NULL)
        return 1;
    for (size_t i = first; i < count; i++)
        wrapped[i - first] = (struct CMUnitTest){.name = group.tests[i].name,
                                                 .test_func = run,
                                                 .setup_func = set_up,
                                                 .teardown_func = tear_down,
                                                 .initial_state = (void *)&group.tests[i]};
    const int failed =
        _cmocka_run_group_tests(name, wrapped, count - first, group_set_up, group_tear_down);
    free(wrapped);
    return failed;
}

int test_run_group(const char *name, const struct CMUnitTest *tests, size_t count,
                   CMFixtureFunction group_set_up, CMFixtureFunction group_tear_down)
{
    const char *resume = getenv(TEST_RESUME);
    unsigned number = 0, failures = 0;
    size_t first = 0;
    group.tests = tests;
    group.any = false;
    if (resume != NULL && sscanf(resume, "%u %zu %u", &number, &first, &failures) == 3) {
        if (group.number < number) { /* it ran before the restart */
            group.number++;
            return 0;
        }
        if (group.number > number)
            first = failures = 0;
    }
    group.failures = failures;
    const int failed = run_from(name, first, count, group_set_up, group_tear_down);
    group.number++;
    return failed + (int)failures;
}
