#include "targets.h"

#include <stdio.h>

bool target_named(const command *c, const char *name, const tn_device_kind **kind)
{
    char names[512] = "";
    size_t used = 0;
    *kind = name != NULL ? tn_device_kind_named(name) : NULL;
    if (name == NULL || *kind != NULL)
        return true;
    for (size_t i = 0; i < tn_device_kind_count && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", tn_device_kinds[i].name);
    (void)command_line_wrong(c, "--target: unknown target \"%s\", allowed:%s", name, names);
    return false;
}
