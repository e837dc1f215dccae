/* Declarations for the description of operation pad in docs/architecture.md. */
#include "dispatch/operation.h"
#include "ops/pad/internal.h"
#include "ops/registry.h"

static const char *const modes[] = {"constant", "edge", "reflect", NULL};
