/* Replacement of tune_suites.c in builds without a JSON library. */
#include "tune_calls.h"

#include <stdio.h>

bool tune_calls_add_suite(tune_calls *calls, const char *name, tenon_dtype type)
{
    (void)calls;
    (void)type;
    fprintf(stderr, "tenon tune: --suite %s: Tenon was built without Jansson\n", name);
    return false;
}
