#include "runtime/program/build_list.h"

#include "runtime/program/program.h"

#include <stdlib.h>
#include <string.h>

bool tn_builds_in_parallel(const tenon_context *context)
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
    char *copy = list->count < TN_MAX_BUILDS ? tn_text_copy(options) : NULL;
    if (copy == NULL)
        return;
    list->programs[list->count].source = source;
    list->programs[list->count++].options = copy;
}

typedef struct build {
    tenon_context *context;
    const struct tenon_kernel_file *source;
    const char *options;
    tn_thread thread;
    bool has_thread;
} build;

static void *work(void *data)
{
    const build *b = data;
    (void)tn_program_build_ahead(b->context, b->source, b->options);
    return NULL;
}

/* A single program is built when it is needed, since nothing can run concurrently with it. */
void tn_build_list_run(tenon_context *context, tn_build_list *list)
{
    build builds[TN_MAX_BUILDS];
    const uint32_t count = list->count > 1 ? list->count : 0;
    for (uint32_t i = 0; i < count; i++) {
        build *b = &builds[i];
        *b = (build){.context = context,
                     .source = list->programs[i].source,
                     .options = list->programs[i].options};
        b->has_thread = i + 1 < count && tn_thread_create(&b->thread, work, b);
    }
    if (count > 0)
        work(&builds[count - 1]);
    for (uint32_t i = 0; i < count; i++)
        if (builds[i].has_thread)
            tn_thread_join(builds[i].thread);
    for (uint32_t i = 0; i < list->count; i++)
        free(list->programs[i].options);
    list->count = 0;
}
