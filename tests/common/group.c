/* Runs the tests of a program with cmocka. After a failed test the remaining tests run in a new
 * process, so that its leftovers (contexts, streams, faults, environment, temporary folders) cannot
 * affect them. */
#include "common/restart.h"
#include "common/testing.h"

/* The tests of this program, sorted by line, and the state of the current one. */
static struct {
    test_entry *first;
    size_t count;
    bool any;          /* a test has started */
    bool is_over;      /* the test has returned or was skipped */
    unsigned failures; /* in this process and those before it */
} group;

void test_register(test_entry *test)
{
    test_entry **at = &group.first;
    while (*at != NULL && (*at)->line < test->line)
        at = &(*at)->next;
    test->next = *at;
    *at = test;
    group.count++;
}

void test_note_skip(void)
{
    group.is_over = true;
}

/* Continues at `test` in a new process, whose TEST_RESUME is "LINE FAILURES": the line of the test
 * and the number of failures so far. If a restart is not possible, the announced test runs in this
 * process. */
static void restart_at(const test_entry *test)
{
    char resume[64];
    snprintf(resume, sizeof resume, "%d %u", test->line, ++group.failures);
    printf("[ RESTART  ] a test has failed: the remaining tests run in a new process\n");
    test_restart(resume);
    printf("[ RUN      ] %s\n", test->name);
}

static int set_up(void **state)
{
    const test_entry *test = *state;
    if (group.any && !group.is_over)
        restart_at(test);
    group.any = true;
    group.is_over = false;
    if (test->set_up != NULL)
        test->set_up();
    return 0;
}

static void run(void **state)
{
    const test_entry *test = *state;
    test->run();
    group.is_over = true;
}

static int tear_down(void **state)
{
    const test_entry *test = *state;
    if (test->tear_down != NULL)
        test->tear_down();
    return 0;
}

int test_run_group(void)
{
    const char *resume = getenv(TEST_RESUME), *filter = getenv("TENON_TEST_FILTER");
    struct CMUnitTest *tests = calloc(group.count, sizeof *tests);
    size_t count = 0;
    int line = 0;
    if (tests == NULL)
        return 1;
    if (resume != NULL && sscanf(resume, "%d %u", &line, &group.failures) != 2)
        line = 0;
    for (test_entry *test = group.first; test != NULL; test = test->next)
        if (test->line >= line)
            tests[count++] = (struct CMUnitTest){test->name, run, set_up, tear_down, test};
    if (filter != NULL)
        cmocka_set_test_filter(filter);
    const int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    free(tests);
    return failed + (int)group.failures;
}
