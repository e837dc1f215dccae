#include "quick.h"

#include "dispatch/plan.h"
#include "runtime/context/context.h"
#include "runtime/context/context_create.h"

#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* The most builds of a solver, and the odds that a build is selected. */
#define MOST_BUILDS 1
#define ONE_IN      3
#define MOST_HEARD  64
/* In tests of all solvers, one in this many of the solvers already built by calls is tried once
 * more. */
#define TRIED_AGAIN 5

/* Builds of a plan, as reported to a target's listener. */
static struct {
    tenon_context *context; /* a target like the test's device, where nothing is built */
    uint64_t keys[MOST_HEARD];
    int count;
} plans;
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

static void hear(void *user, const char *source, const char *options, const char *kernel,
                 size_t work_group)
{
    char text[2 * TN_OPTIONS_SIZE];
    int length = snprintf(text, sizeof text, "%s %s %s %zu", source, options, kernel, work_group);
    (void)user;
    if (plans.count < MOST_HEARD)
        plans.keys[plans.count++] = XXH3_64bits(text, (size_t)length);
}

static tenon_context *planning_context(void)
{
    if (plans.context == NULL) {
        assert_ok(tn_context_without_device("quick", &test_context->device, &plans.context));
        for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
            test_has((tenon_capability)i);
        plans.context->programs.listener = hear;
    }
    plans.context->device = test_context->device; /* some tests make it report another kind */
    memcpy(plans.context->capabilities.results, test_context->capabilities.results,
           sizeof plans.context->capabilities.results);
    return plans.context;
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

static void note(const char *solver)
{
    char path[1024], name[32];
    for (int i = 0; i < plans.count; i++) {
        snprintf(name, sizeof name, "%016llx", (unsigned long long)plans.keys[i]);
        name_entry(path, "build", name);
        append_to(path);
    }
    name_entry(path, "solver", solver);
    append_to(path);
}

bool quick_admits(const tn_operation *operation, const void *params,
                  const tenon_tensor *const *views)
{
    tenon_plan *plan = NULL;
    if (!quick_is_on())
        return true;
    plans.count = 0;
    tenon_tensor copies[TN_MAX_OPERANDS];
    const tenon_tensor *bare[TN_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (views[i] != NULL) {
            copies[i] = *views[i];
            copies[i].memory = (tenon_memory){0}; /* it belongs to another context */
            bare[i] = &copies[i];
        }
    tenon_context *context = planning_context();
    tn_kept_message kept;
    assert_true(tn_message_keep(&kept));
    const tenon_status status = tn_operation_call_plan(operation, context, params, bare, &plan);
    tn_message_restore(&kept);
    if (status != TENON_OK)
        return true;
    bool all_built = true, drawn = true;
    for (int i = 0; i < plans.count; i++)
        all_built &= is_built(plans.keys[i]);
    if (!all_built)
        drawn = is_drawn(plan->name, plans.keys[0]);
    if (!all_built && drawn)
        note(plan->name);
    tenon_plan_release(plan);
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

void quick_close(void)
{
    tenon_context_release(plans.context);
}
