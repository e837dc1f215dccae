#include "base/process.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where processes have a start time, numbers that come again tell two of them apart. 0: unknown. */
static unsigned long long started(long id)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    /* The name of the program, in parentheses, may hold anything. */
    char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoull(at + 1, NULL, 10) : 0;
}

static unsigned host_number(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return XXH32(host, strlen(host), 0);
}

void tn_process_name(char name[TN_PROCESS_SIZE])
{
    const long id = (long)getpid();
    snprintf(name, TN_PROCESS_SIZE, "%08x.%ld.%llu", host_number(), id, started(id));
}

tn_process_state tn_process_look(const char *name)
{
    unsigned host;
    long id;
    unsigned long long start;
    int length = 0;
    if (sscanf(name, "%8x.%ld.%llu%n", &host, &id, &start, &length) != 3 || name[length] != '\0' ||
        id <= 0 || host != host_number())
        return TN_PROCESS_ELSEWHERE;
    if (kill((pid_t)id, 0) != 0 && errno == ESRCH)
        return TN_PROCESS_ENDED;
    return start != 0 && started(id) != start ? TN_PROCESS_ENDED : TN_PROCESS_ALIVE;
}
