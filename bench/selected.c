#include "selected.h"

#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add(bench_devices *devices, const char *selector, size_t length)
{
    char **list = realloc(devices->selectors, (devices->count + 1) * sizeof *list);
    if (list == NULL)
        return false;
    devices->selectors = list;
    list[devices->count] = NULL;
    if (selector == NULL) {
        devices->count++;
        return true;
    }
    char *text = malloc(length + 1);
    if (text == NULL)
        return false;
    memcpy(text, selector, length);
    text[length] = '\0';
    list[devices->count++] = text;
    return true;
}

/* Adds every device that can be used; platforms without one are left out. */
static bool add_all(bench_devices *devices)
{
    uint32_t count = 0;
    bool well = BENCH_WELL(tenon_device_list(NULL, 0, &count));
    tenon_device_info *infos = well ? calloc(count + 1, sizeof *infos) : NULL;
    if (infos == NULL)
        return false;
    infos->struct_size = sizeof *infos;
    well = count == 0 || BENCH_WELL(tenon_device_list(infos, count, &count));
    const uint32_t before = devices->count;
    for (uint32_t i = 0; well && i < count; i++)
        if (infos[i].device != NULL)
            well = add(devices, infos[i].selector, strlen(infos[i].selector));
    free(infos);
    if (well && devices->count == before)
        bench_complain("--device all: the system lists no device");
    return well && devices->count > before;
}

static bool add_listed(const char *list, bench_devices *devices)
{
    while (true) {
        const size_t length = strcspn(list, ",");
        const bool is_all = length == 3 && strncmp(list, "all", 3) == 0;
        if (length == 0) {
            bench_complain("--device: a selector is empty");
            return false;
        }
        if (is_all ? !add_all(devices) : !add(devices, list, length))
            return false;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

bool bench_devices_of(const char *list, bench_devices *devices)
{
    *devices = (bench_devices){NULL, 0};
    if (list == NULL ? add(devices, NULL, 0) : add_listed(list, devices))
        return true;
    bench_devices_end(devices);
    return false;
}

void bench_devices_end(bench_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++)
        free(devices->selectors[i]);
    free(devices->selectors);
    *devices = (bench_devices){NULL, 0};
}
