#include "runtime/context/target.h"

#include "runtime/probe/capability.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/context/context_create.h"
#include "runtime/probe/local_memory.h"

#include <stdio.h>
#include <string.h>

static tn_device describe(const tn_device_kind *kind)
{
    const tn_kind_usual *usual = &kind->usual;
    const uint32_t lanes = tn_device_kind_is_cpu(kind) ? kind->lanes : 1;
    tn_device device = {.opencl_version = 120,
                        .vector_width_f64 = lanes > 1 ? lanes / 2 : 1,
                        .address_align = 128,
                        .model = {kind, usual->compute_units, usual->cache},
                        .driver_cache = usual->cache,
                        .least_sub_group = usual->least_sub_group,
                        .is_cpu = tn_device_kind_is_cpu(kind),
                        .has_compiler = true};
    for (int d = 0; d < 3; d++)
        device.max_work_item[d] = usual->max_work_group;
    device.info = (tenon_device_info){.type = tn_device_kind_is_cpu(kind) ? CL_DEVICE_TYPE_CPU
                                                                          : CL_DEVICE_TYPE_GPU,
                                      .compute_units = usual->compute_units,
                                      .vector_width_f32 = lanes,
                                      .global_memory = usual->memory,
                                      .max_allocation = usual->memory / 4,
                                      .local_memory = usual->local_memory,
                                      .max_work_group = usual->max_work_group};
    snprintf(device.info.name, sizeof device.info.name, "%s", kind->name);
    snprintf(device.info.version, sizeof device.info.version, "OpenCL 1.2");
    return device;
}

static bool lists(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

#define LISTS(names, name) lists(names, sizeof(names) / sizeof *(names), name)

static int form_of(const tn_device_kind *kind, const char *capability)
{
    if (!LISTS(kind->usual.capabilities, capability))
        return -1;
    return LISTS(kind->usual.second_forms, capability) ? 1 : 0;
}

static void ignore(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    (void)user;
    (void)source;
    (void)options;
    (void)kernel;
    (void)work_group;
}

static void listen(tenon_context *context, tn_kernel_listener listener, void *user)
{
    context->policy.only_chosen = true;
    context->programs.listener = listener != NULL ? listener : ignore;
    context->programs.listener_user = user;
}

static void set_local_memory(tenon_context *context, const tn_kind_usual *usual)
{
    const bool is_more = usual->local_array > usual->local_memory;
    tn_local_memory_set(context, TN_LOCAL_ARRAY,
                        is_more ? usual->local_array : usual->local_memory);
    tn_local_memory_set(context, TN_LOCAL_ARGUMENT, usual->local_argument);
    tn_local_memory_set(context, TN_LOCAL_ENLARGED, usual->local_enlarged);
}

tenon_status tn_target_context(const tn_device_kind *kind, tn_kernel_listener listener, void *user,
                               tenon_context **out)
{
    const tn_device device = describe(kind);
    TN_TRY(tn_context_without_device("tn_target_context", &device, out));
    for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
        tn_capability_set(*out, (tenon_capability)i, form_of(kind, tn_trials[i].name));
    set_local_memory(*out, &kind->usual);
    listen(*out, listener, user);
    return TENON_OK;
}

tenon_status tn_target_like(tenon_context *context, const tn_device_kind *kind,
                            tn_kernel_listener listener, void *user, tenon_context **out)
{
    tn_device device = context->device;
    device.model.kind = kind;
    TN_TRY(tn_context_without_device("tn_target_like", &device, out));
    for (int i = 0; i < TN_CAPABILITY_COUNT; i++) {
        const tenon_capability capability = (tenon_capability)i;
        const bool has = tn_context_has(context, capability);
        tn_capability_set(*out, capability, has ? tn_capability_form(context, capability) : -1);
    }
    tn_local_memory_copy(*out, context);
    (*out)->memory.workspace_limit = context->memory.workspace_limit;
    listen(*out, listener, user);
    return TENON_OK;
}
