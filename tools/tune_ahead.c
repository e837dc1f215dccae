#include "tune_ahead.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_WORDS   (TN_MAX_OPERANDS + 64)
#define MOST_SOLVERS 16

extern char **environ;

/* The arguments of a process, which point into the texts. */
typedef struct command_line {
    char solvers[MOST_SOLVERS * TN_SOLVER_NAME_SIZE], call[TN_CASE_TEXT_SIZE];
    char *words[MOST_WORDS + 1];
} command_line;

/* Every so many of the names, from `first` on. */
static void write_solvers(const char *const *names, uint32_t first, uint32_t count, uint32_t step,
                          command_line *line)
{
    size_t used = 0;
    line->solvers[0] = '\0';
    for (uint32_t i = first; i < count && used < sizeof line->solvers; i += step)
        used += (size_t)snprintf(line->solvers + used, sizeof line->solvers - used, "%s%s",
                                 used > 0 ? " " : "", names[i]);
}

static bool write_line(const tune_ahead *ahead, const tn_case *c, command_line *line)
{
    static char program[] = "tenon", verb[] = "tune", build[] = "--build", device[] = "--device";
    char *const first[] = {program, verb, build, line->solvers, device, (char *)ahead->device};
    uint32_t count = ahead->device != NULL ? 6 : 4;
    char *rest;
    memcpy(line->words, first, count * sizeof *first);
    tn_case_text(c, line->call);
    char *word = strtok_r(line->call + strlen("tenon check "), " ", &rest);
    for (; word != NULL && count < MOST_WORDS; word = strtok_r(NULL, " ", &rest))
        line->words[count++] = word;
    line->words[count] = NULL;
    return word == NULL;
}

/* What it has to say the parent says, when it comes to that candidate. */
static bool spawn(command_line *line, pid_t *child)
{
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    const bool spawned =
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawn(child, "/proc/self/exe", &actions, NULL, line->words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return spawned;
}

static bool ended_well(pid_t child)
{
    int status;
    pid_t ended;
    do
        ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR);
    return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* All are waited for, also where all is to stop: one that is killed in a self-check would bar what
 * it checked (docs/architecture.md). */
uint32_t tune_ahead_build(const tune_ahead *ahead, const tn_case *c, const char *const *names,
                          uint32_t count)
{
    const uint32_t jobs = ahead->jobs < count ? ahead->jobs : count;
    pid_t running[MOST_SOLVERS];
    uint32_t started = 0, well = 0;
    command_line *line = jobs > 1 && count <= MOST_SOLVERS ? malloc(sizeof *line) : NULL;
    for (uint32_t i = 0; line != NULL && i < jobs; i++) {
        write_solvers(names, i, count, jobs, line);
        if (write_line(ahead, c, line))
            started += spawn(line, &running[started]);
    }
    for (uint32_t i = 0; i < started; i++)
        well += ended_well(running[i]);
    free(line);
    return well;
}
