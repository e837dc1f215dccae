/* Tests that a finished plan compiles nothing in its first run. PoCL compiles a kernel for the
 * processor when it is first launched, and stores each result as a file in its cache; the test
 * counts these files. */
#define _XOPEN_SOURCE 700
#include "fixture.h"
#include "quick.h"

#include "common/temporary.h"

#include "check/case.h"
#include "ops/registry.h"
#include "runtime/context/context.h"
#include "runtime/memory/fill.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *cache;
static int compiled;

static int count_compiled(const char *path, const struct stat *status, int type, struct FTW *place)
{
    const char *end = strrchr(path, '.');
    (void)status;
    (void)place;
    if (type == FTW_F && end != NULL && strcmp(end, ".so") == 0)
        compiled++;
    return 0;
}

static int files_in_cache(void)
{
    compiled = 0;
    assert_int_equal(nftw(cache, count_compiled, 16, FTW_PHYS), 0);
    return compiled;
}

/* Makes the memory of each operand, filled with zeros, which every operation allows. */
static void make_memories(const tn_case *c, tenon_memory memories[TN_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++) {
        if (c->views[i].dtype == TENON_DTYPE_INVALID || c->same[i] != 0)
            continue;
        const uint64_t bytes = (tn_tensor_extent(&c->views[i]).end + 3) / 4 * 4 + 4;
        assert_ok(tenon_memory_create(test_context, bytes, &memories[i]));
        assert_ok(tn_buffer_fill("test", test_stream, &memories[i], 0, bytes));
    }
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->same[i] != 0)
            memories[i] = memories[c->same[i] - 1];
    assert_ok(tenon_stream_finish(test_stream));
}

static void release_memories(const tn_case *c, tenon_memory memories[TN_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->same[i] == 0)
            tenon_memory_destroy(&memories[i]);
}

/* Plans a call and runs it. Returns the number of kernels that the run compiled. */
static int compiled_by_run(const char *line, tenon_dtype type, int *planned)
{
    tn_case c;
    tenon_plan *plan;
    tenon_memory memories[TN_MAX_OPERANDS] = {{0}};
    memset(&c, 0, sizeof c);
    assert_ok(tn_case_parse_line(line, type, &c));
    make_memories(&c, memories);
    const int first = files_in_cache();
    assert_ok(tn_case_plan(test_context, &c, NULL, &plan));
    const int before = files_in_cache();
    assert_ok(tenon_plan_run(test_stream, plan, memories, c.operation->operand_count, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    tenon_plan_release(plan);
    release_memories(&c, memories);
    *planned += before - first;
    return files_in_cache() - before;
}

static bool is_counted(void)
{
    return test_context->device.keeps_builds && test_context->device.is_cpu;
}

/* Images of every width class: several vectors, one, and half of one or less, in which two channels
 * share a vector. */
TEST(depthwise)
{
    static const char *const lines[] = {
        "conv x=T:1x6x9x40 w=T:6x1x3x3 y=T:1x6x9x40 groups=6 pad_begin=1,1 pad_end=1,1",
        "conv x=T:1x6x9x3 w=T:6x1x3x3 y=T:1x6x9x3 groups=6 pad_begin=1,1 pad_end=1,1",
        "conv x=T:1x6x9x5 w=T:6x1x3x3 y=T:1x6x5x3 groups=6 stride=2,2 pad_begin=1,1 pad_end=1,1",
        "conv x=T:1x6x9x9 w=T:6x1x5x5 y=T:1x6x9x9 groups=6 pad_begin=2,2 pad_end=2,2"};
    int planned = 0;
    if (!is_counted())
        skip();
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (compiled_by_run(lines[i], TENON_DTYPE_F32, &planned) != 0)
            fail_msg("the first run compiles: %s", lines[i]);
    assert_true(planned > 0);
}

TEST(examples)
{
    int planned = 0, failed = 0;
    if (!is_counted())
        skip();
    for (uint32_t i = 0; i < tn_operation_count; i++)
        for (const char *const *e = tn_operations[i]->examples; *e != NULL; e++)
            if ((!quick_is_on() || quick_draws(*e, 16)) &&
                compiled_by_run(*e, TENON_DTYPE_F32, &planned) != 0) {
                printf("the first run compiles: %s\n", *e);
                failed++;
            }
    assert_int_equal(failed, 0);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* PoCL reads the variable when OpenCL is first used. */
int main(void)
{
    char folder[] = "/tmp/tenon-first-run-XXXXXX";
    cache = mkdtemp(folder);
    if (cache == NULL)
        return 1;
    setenv("POCL_CACHE_DIR", cache, 1);
    const int failed = test_main();
    nftw(cache, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    return failed;
}
