/* The devices that --device selects. */
#ifndef BENCH_SELECTED_H
#define BENCH_SELECTED_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bench_devices {
    char **selectors; /* of each device; NULL: the default one */
    uint32_t count;
} bench_devices;

/* Returns the devices of a list of selectors separated by commas. "all" stands for every device
 * that the system lists; NULL for the default device. On failure, prints the reason to stderr and
 * returns false; the caller then releases nothing. */
bool bench_devices_of(const char *list, bench_devices *devices);
void bench_devices_end(bench_devices *devices);

#endif
