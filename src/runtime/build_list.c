#include "runtime/build_list.h"

#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

bool tn_builds_side_by_side(const tenon_context *context)
{
    return context->cl != NULL && !context->device.keeps_builds &&
           context->programs.listener == NULL;
}

void tn_build_list_add(tn_build_list *list, const struct tenon_kernel_file *source,
                       const char *options)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->programs[i].source == source && strcmp(list->programs[i].options, options) == 0)
            return;
    char *copy = list->count < TN_MOST_BUILDS ? strdup(options) : NULL;
    if (copy == NULL)
        return;
    list->programs[list->count].source = source;
    list->programs[list->count++].options = copy;
}

typedef struct build {
    tenon_context *context;
    const struct tenon_kernel_file *source;
    const char *options;
    pthread_t thread;
    bool has_thread;
} build;

static void *work(void *data)
{
    const build *b = data;
    (void)tn_program_build_ahead(b->context, b->source, b->options);
    return NULL;
}

/* One alone has nothing beside it. */
static uint32_t list_missing(tenon_context *context, const tn_build_list *list,
                             build builds[TN_MOST_BUILDS])
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const build b = {context, list->programs[i].source, list->programs[i].options, 0, false};
        if (!tn_program_is_there(context, b.source, b.options))
            builds[missing++] = b;
    }
    return missing > 1 ? missing : 0;
}

void tn_build_list_run(tenon_context *context, tn_build_list *list)
{
    build builds[TN_MOST_BUILDS];
    const uint32_t count = list_missing(context, list, builds);
    for (uint32_t i = 0; i + 1 < count; i++)
        builds[i].has_thread = pthread_create(&builds[i].thread, NULL, work, &builds[i]) == 0;
    if (count > 0)
        work(&builds[count - 1]);
    for (uint32_t i = 0; i + 1 < count; i++)
        if (builds[i].has_thread)
            pthread_join(builds[i].thread, NULL);
    for (uint32_t i = 0; i < list->count; i++)
        free(list->programs[i].options);
    list->count = 0;
}
