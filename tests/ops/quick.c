#include "quick.h"

#include "builds.h"

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The most builds of a solver, and the odds that a build is selected. */
#define MOST_BUILDS 1
#define ONE_IN      3
/* In tests of all solvers, one in this many of the solvers already built by calls is tried once
 * more. */
#define TRIED_AGAIN 5

static long left_out, admitted;

bool quick_is_on(void)
{
    return getenv("TENON_TEST_QUICK") != NULL;
}

static uint64_t draw(const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, test_seed());
}

bool quick_draws(const char *line, uint32_t of)
{
    return !quick_is_on() || draw(line, strlen(line)) % of == 0;
}

static void name_entry(char path[1024], const char *kind, const char *name)
{
    int used = snprintf(path, 1024, "%s/%s-", getenv("TENON_TEST_QUICK"), kind);
    for (; *name != '\0' && *name != ':' && *name != ' ' && used < 1000; name++)
        path[used++] = *name == '/' ? '.' : *name;
    path[used] = '\0';
}

/* Returns true if another program has built it, so that the driver's cache holds it. */
static bool is_built(uint64_t key)
{
    char path[1024], name[32];
    struct stat status;
    snprintf(name, sizeof name, "%016llx", (unsigned long long)key);
    name_entry(path, "build", name);
    return stat(path, &status) == 0;
}

/* Appends a byte to a file, creating it if necessary; returns the previous length. */
static long append_to(const char *path)
{
    FILE *file = fopen(path, "ab");
    if (file == NULL)
        fail_msg("cannot write %s", path);
    fseek(file, 0, SEEK_END);
    long before = ftell(file);
    fputc('.', file);
    fclose(file);
    return before;
}

static long builds_of(const char *solver)
{
    char path[1024];
    struct stat status;
    name_entry(path, "solver", solver);
    return stat(path, &status) == 0 ? (long)status.st_size : 0;
}

static bool is_drawn(const char *solver, uint64_t key)
{
    return draw(&key, sizeof key) % ONE_IN == 0 && builds_of(solver) < MOST_BUILDS;
}

static void note(const call_builds *builds)
{
    char path[1024], name[32];
    for (int i = 0; i < builds->count; i++) {
        snprintf(name, sizeof name, "%016llx", (unsigned long long)builds->keys[i]);
        name_entry(path, "build", name);
        append_to(path);
    }
    name_entry(path, "solver", builds->solver);
    append_to(path);
}

bool quick_admits(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views)
{
    call_builds builds;
    if (!quick_is_on() || !builds_of_call(operation, params, views, &builds))
        return true;
    bool all_built = true, drawn = true;
    for (int i = 0; i < builds.count; i++)
        all_built &= is_built(builds.keys[i]);
    if (!all_built)
        drawn = is_drawn(builds.solver, builds.keys[0]);
    if (!all_built && drawn)
        note(&builds);
    left_out += !drawn;
    admitted += drawn;
    return drawn;
}

bool quick_tries(const char *solver)
{
    return !quick_is_on() || builds_of(solver) == 0 || quick_draws(solver, TRIED_AGAIN);
}

void quick_print(void)
{
    if (quick_is_on())
        printf("quick set: %ld calls, %ld left to the full run\n", admitted, left_out);
}
