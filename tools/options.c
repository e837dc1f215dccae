#include "options.h"

#include "device/kind.h"

#include <stdio.h>
#include <string.h>

bool take_option(int *argc, char **argv, const char *name, const char **value)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], name) != 0)
            argv[kept++] = argv[i];
        else if (++i == *argc || argv[i][0] == '\0')
            return false;
        else
            *value = argv[i];
    }
    *argc = kept;
    return true;
}

bool take_flag(int *argc, char **argv, const char *name)
{
    int kept = 1;
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], name) != 0)
            argv[kept++] = argv[i];
    const bool was_there = kept < *argc;
    *argc = kept;
    return was_there;
}

int unknown_target(const command *c, const char *name)
{
    char names[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < tn_device_kind_count; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, " %s", tn_device_kinds[i].name);
    return usage_error(c, "unknown target \"%s\", allowed:%s", name, names);
}
