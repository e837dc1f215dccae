#include "tune_ahead.h"

#include "platform.h"

#define MOST_WORDS   (TN_MAX_OPERANDS + 64)
#define MOST_SOLVERS 16

/* The arguments of a child process, which point into the texts. */
typedef struct command_line {
    char solvers[MOST_SOLVERS * TN_SOLVER_NAME_SIZE], call[TN_CASE_TEXT_SIZE];
    char *words[MOST_WORDS + 1];
} command_line;

/* Writes every `step`-th name, from `first` on. */
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
    char *rest = line->call + strlen("tenon check "), *word = NULL;
    memcpy(line->words, first, count * sizeof *first);
    tn_case_text(c, line->call);
    while ((word = tn_next_word(&rest)) != NULL && count < MOST_WORDS)
        line->words[count++] = word;
    line->words[count] = NULL;
    return word == NULL;
}

/* Waits for all children, even if the run is to stop: a child killed during a self-check would bar
 * the solver that it was checking (docs/architecture.md). */
uint32_t tune_ahead_build(const tune_ahead *ahead, const tn_case *c, const char *const *names,
                          uint32_t count)
{
    const uint32_t jobs = ahead->jobs < count ? ahead->jobs : count;
    platform_child running[MOST_SOLVERS];
    uint32_t started = 0, well = 0;
    command_line *line = jobs > 1 && count <= MOST_SOLVERS ? malloc(sizeof *line) : NULL;
    for (uint32_t i = 0; line != NULL && i < jobs; i++) {
        write_solvers(names, i, count, jobs, line);
        /* the child's messages are discarded; the parent repeats them when it measures the
         * candidate */
        if (write_line(ahead, c, line))
            started += platform_spawn_self(line->words, &running[started]);
    }
    for (uint32_t i = 0; i < started; i++)
        well += platform_ended_well(running[i]);
    free(line);
    return well;
}
