/* What docs/architecture.md's description of pad's operation takes for given. */
#include "dispatch/operation.h"
#include "ops/pad/internal.h"
#include "ops/registry.h"

static const char *const modes[] = {"constant", "edge", "reflect", NULL};
