/* Replacement of tune_file.c in builds without a JSON library. */
#include "tune_file.h"

#include <stdio.h>

static bool fail(const char *path)
{
    fprintf(stderr, "tenon tune: %s: cannot read or write JSON: Tenon was built without Jansson\n",
            path);
    return false;
}

bool tune_file_export(tenon_context *context, const char *path)
{
    (void)context;
    return fail(path);
}

bool tune_file_import(tenon_context *context, const char *path, bool merges)
{
    (void)context;
    (void)merges;
    return fail(path);
}
