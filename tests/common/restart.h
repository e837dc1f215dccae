/* Restarts a test program to run its remaining tests in a new process. */
#ifndef TENON_TESTS_RESTART_H
#define TENON_TESTS_RESTART_H

/* Environment variable that test_restart sets in the new process. */
#define TEST_RESUME "TENON_TEST_RESUME"

/* Replaces this process by the same program with the same arguments and the initial state of this
 * one: environment, working directory, file mode mask, resource limits, signals and standard
 * streams. Sets TEST_RESUME to `resume`. Returns only if the restart is not possible: without
 * /proc, or under an emulator of another processor. */
void test_restart(const char *resume);

/* Registers a function to be called before a restart; at most eight. */
void test_before_restart(void (*function)(void));

#endif
