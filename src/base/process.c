#include "base/process.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is known of a process, where the system tells: when it started, by which numbers that come
 * again are told apart (0: unknown), and whether it has ended and its parent has not asked after
 * it, so that its number is still taken. */
typedef struct about {
    unsigned long long started;
    bool is_left;
} about;

/* What stands in a field of /proc/…/stat, from the third on; NULL where the line ends before. */
static const char *field(const char *stat, int number)
{
    /* The name of the program, in parentheses, may hold anything. */
    const char *at = strrchr(stat, ')');
    for (int i = 2; at != NULL && i < number; i++)
        at = strchr(at + 1, ' ');
    return at != NULL ? at + 1 : NULL;
}

static about look(long id)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", id);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return (about){0};
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *state = field(text, 3), *threads = field(text, 20), *start = field(text, 22);
    if (start == NULL)
        return (about){0};
    /* The first thread of a process may end before others do. */
    return (about){.started = strtoull(start, NULL, 10),
                   .is_left = (*state == 'Z' || *state == 'X') && strtol(threads, NULL, 10) < 2};
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
    snprintf(name, TN_PROCESS_SIZE, "%08x.%ld.%llu", host_number(), id, look(id).started);
}

tn_process_state tn_process_look(const char *name)
{
    unsigned host;
    long id;
    unsigned long long start;
    int length = 0;
    if (sscanf(name, "%8x.%ld.%llu%n", &host, &id, &start, &length) != 3 || name[length] != '\0' ||
        id <= 0 || id > INT_MAX || host != host_number())
        return TN_PROCESS_ELSEWHERE;
    if (kill((pid_t)id, 0) != 0 && errno == ESRCH)
        return TN_PROCESS_ENDED;
    const about now = look(id);
    return now.is_left || (start != 0 && now.started != start) ? TN_PROCESS_ENDED
                                                               : TN_PROCESS_ALIVE;
}
