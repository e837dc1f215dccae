#include "builds.h"

#include "dispatch/plan.h"
#include "runtime/context/context.h"
#include "runtime/context/context_create.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static tenon_context *planning; /* a target like the test's device */

static void hear(void *user, const char *source, const char *options, const char *kernel,
                 size_t work_group)
{
    call_builds *builds = user;
    char text[2 * TN_OPTIONS_SIZE];
    int length = snprintf(text, sizeof text, "%s %s %s %zu", source, options, kernel, work_group);
    if (builds->count < BUILDS_MOST)
        builds->keys[builds->count++] = XXH3_64bits(text, (size_t)length);
}

static tenon_context *planning_context(call_builds *builds)
{
    if (planning == NULL) {
        assert_ok(tn_context_without_device("builds", &test_context->device, &planning));
        for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
            test_has((tenon_capability)i);
        planning->programs.listener = hear;
    }
    planning->programs.listener_user = builds;
    planning->device = test_context->device; /* some tests make it report another kind */
    memcpy(planning->capabilities.results, test_context->capabilities.results,
           sizeof planning->capabilities.results);
    return planning;
}

bool builds_of_call(const tn_operation *operation, const void *params,
                    const tenon_tensor *const *views, call_builds *builds)
{
    tenon_plan *plan = NULL;
    tenon_tensor copies[TN_MAX_OPERANDS];
    const tenon_tensor *bare[TN_MAX_OPERANDS] = {NULL};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (views[i] != NULL) {
            copies[i] = *views[i];
            copies[i].memory = (tenon_memory){0}; /* it belongs to another context */
            bare[i] = &copies[i];
        }
    builds->count = 0;
    tenon_context *context = planning_context(builds);
    tn_kept_message kept;
    assert_true(tn_message_keep(&kept));
    const tenon_status status = tn_operation_call_plan(operation, context, params, bare, &plan);
    tn_message_restore(&kept);
    if (status != TENON_OK)
        return false;
    snprintf(builds->solver, sizeof builds->solver, "%s", plan->name);
    tenon_plan_release(plan);
    return true;
}

void builds_close(void)
{
    tenon_context_release(planning);
}
