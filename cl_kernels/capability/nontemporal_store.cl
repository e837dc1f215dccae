/* Probe of clang's non-temporal store. */
#include "capability/args.h"

__kernel void trial(__global int *result, const trial_args args)
{
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
    __builtin_nontemporal_store(args.one, &result[get_global_id(0)]);
#endif
#endif
}
