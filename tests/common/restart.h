/* A new process for the rest of a test program. */
#ifndef TENON_TESTS_RESTART_H
#define TENON_TESTS_RESTART_H

/* The environment variable that test_restart sets for the new process. */
#define TEST_RESUME "TENON_TEST_RESUME"

/* Replaces this process by the same program with the same arguments, in the state in which this one
 * started: environment, working directory, file mode mask, resource limits, signals and standard
 * streams. Sets TEST_RESUME to `resume`. Returns where that is not possible: without /proc, or
 * under an emulator of another processor. */
void test_restart(const char *resume);

/* Runs `function` before such a restart; at most eight of them. */
void test_before_restart(void (*function)(void));

#endif
