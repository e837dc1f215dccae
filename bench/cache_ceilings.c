/* Measures the bandwidth of caches. */
#include "device_limits.h"
#include "load.h"

#include <stdio.h>
#include <string.h>

#define LEVELS 3
#define PIECE  64 /* bytes that a work-item reads at once */

/* A data cache of a CPU: bytes, and how many processors share it. 0: not known. */
typedef struct cache {
    uint64_t size;
    int sharers;
} cache;

static bool read_word(int index, const char *name, char word[128])
{
    char path[256];
    snprintf(path, sizeof path, "%s/devices/system/cpu/cpu0/cache/index%d/%s", bench_sys(), index,
             name);
    FILE *file = fopen(path, "r");
    const bool well = file != NULL && fscanf(file, "%127s", word) == 1;
    if (file != NULL)
        fclose(file);
    return well;
}

/* Returns the number of processors in a list such as "0-3,8". */
static int count_of(const char *list)
{
    int count = 0, first, last, length;
    while (sscanf(list, "%d%n", &first, &length) == 1) {
        list += length;
        last = first;
        if (sscanf(list, "-%d%n", &last, &length) == 1)
            list += length;
        count += last >= first ? last - first + 1 : 0;
        list += *list == ',';
    }
    return count > 0 ? count : 1;
}

/* Reads the data and unified caches of the first processor, by level. */
static void find_caches(cache caches[LEVELS])
{
    char level[128], type[128], size[128], list[128];
    memset(caches, 0, LEVELS * sizeof *caches);
    for (int i = 0; read_word(i, "level", level); i++) {
        const int number = level[0] - '1';
        unsigned long long kibibytes;
        char unit = 'K';
        if (number >= 0 && number < LEVELS && read_word(i, "type", type) && type[0] != 'I' &&
            read_word(i, "size", size) && sscanf(size, "%llu%c", &kibibytes, &unit) >= 1 &&
            read_word(i, "shared_cpu_list", list))
            caches[number] =
                (cache){(uint64_t)kibibytes << (unit == 'M' ? 20 : 10), count_of(list)};
    }
}

static uint64_t power_below(uint64_t value)
{
    uint64_t power = 1;
    while (2 * power <= value)
        power *= 2;
    return power;
}

/* Reads, with one work-item for each processor, a range that fills between three eighths and three
 * quarters of the caches of a level. */
static void measure_cpu(bench_limits *c)
{
    static const char *const levels[LEVELS] = {"L1", "L2", "L3"};
    cache caches[LEVELS];
    const uint64_t units = c->session->device.compute_units;
    find_caches(caches);
    for (int i = 0; i < LEVELS; i++) {
        char name[32];
        snprintf(name, sizeof name, "read from %s", levels[i]);
        const uint64_t own = caches[i].size > 0
                                 ? power_below(caches[i].size * 3 / 4 / (uint64_t)caches[i].sharers)
                                 : 0;
        if (own < 4 * PIECE)
            bench_limit_left_out(c, name, "the system does not report the cache's size");
        else if (own * units > c->bytes)
            bench_limit_left_out(c, name, "the caches are larger than the buffer");
        else
            bench_measure_read(c, name, levels[i], own * units, units);
    }
}

static void measure_gpu(bench_limits *c)
{
    cl_ulong size = 0;
    (void)clGetDeviceInfo(c->session->device.device, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, sizeof size,
                          &size, NULL);
    const uint64_t window = size > 0 ? power_below(size * 3 / 4) : 0;
    if (window >= c->items * sizeof(cl_float4) && window < c->bytes)
        bench_measure_read(c, "read from L2", "L2", window, c->items);
    else
        bench_limit_left_out(c, "read from L2", "the driver does not report a usable cache size");
    bench_measure_read(c, "read 8 MiB again", NULL, UINT64_C(8) << 20, c->items);
    bench_measure_read(c, "read 1 MiB again", NULL, UINT64_C(1) << 20, c->items);
}

void bench_measure_caches(bench_limits *c)
{
    if (c->lanes > 0)
        measure_cpu(c);
    else
        measure_gpu(c);
}
