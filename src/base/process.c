#include "base/process.h"

#include "base/platform.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static unsigned host_number(void)
{
    char host[256];
    tn_host_name(host, sizeof host);
    return XXH32(host, strlen(host), 0);
}

void tn_process_name(char name[TN_PROCESS_SIZE])
{
    const int64_t number = tn_process_number();
    uint64_t started;
    (void)tn_process_find(number, &started);
    snprintf(name, TN_PROCESS_SIZE, "%08x.%lld.%llu", host_number(), (long long)number,
             (unsigned long long)started);
}

tn_process_state tn_process_look(const char *name)
{
    unsigned host;
    long long number;
    unsigned long long begun;
    uint64_t started;
    int length = 0;
    if (sscanf(name, "%8x.%lld.%llu%n", &host, &number, &begun, &length) != 3 ||
        name[length] != '\0' || number <= 0 || number > INT32_MAX || host != host_number())
        return TN_PROCESS_ELSEWHERE;
    /* The system may reuse the ID of a process that has ended. */
    return tn_process_find(number, &started) && (begun == 0 || started == 0 || started == begun)
               ? TN_PROCESS_ALIVE
               : TN_PROCESS_ENDED;
}
