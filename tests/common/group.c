/* Runs the tests of a program with cmocka. What a failed test leaves behind (contexts, streams,
 * faults, the environment, temporary folders) must not make others fail: they run in a new process.
 */
#include "common/restart.h"
#include "common/testing.h"

/* The tests of this program, in the order of their lines, and the state of the one that runs. */
static struct {
    test_entry *first;
    size_t count;
    bool any;          /* a test has begun */
    bool is_over;      /* and has returned, or was skipped */
    unsigned failures; /* of this process and those before it */
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

/* "LINE FAILURES": the test where the program continues, and how many have failed before. Where it
 * cannot, the test that has been announced goes on in this process. */
static void restart_at(const test_entry *test)
{
    char resume[64];
    snprintf(resume, sizeof resume, "%d %u", test->line, ++group.failures);
    printf("[ RESTART  ] a test has failed: the others run in a new process\n");
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
