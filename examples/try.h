/* TRY(call): if the call fails, prints the reason and exits. A library would return the status
 * instead. */
#ifndef EXAMPLES_TRY_H
#define EXAMPLES_TRY_H

#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

#define TRY(call) try_status((call), #call)

static inline void try_status(tenon_status status, const char *call)
{
    if (status == TENON_OK)
        return;
    fprintf(stderr, "%s: %s: %s\n", call, tenon_status_string(status), tenon_last_error());
    exit(1);
}

#endif
