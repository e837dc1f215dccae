#include "progress.h"

#include <stdio.h>

#define BAR 20

/* Writes a duration as minutes and seconds, or hours and minutes. */
static void put_duration(double seconds)
{
    const long whole = (long)(seconds + 0.5);
    if (whole >= 3600)
        fprintf(stderr, "%ld h %02ld min", whole / 3600, whole / 60 % 60);
    else
        fprintf(stderr, "%ld:%02ld", whole / 60, whole % 60);
}

void progress_show(uint32_t done, uint32_t all, double left, const char *text)
{
    const int full = (int)(BAR * (uint64_t)done / all);
    fprintf(stderr, "\r\033[K[%.*s%.*s] %u/%u", full, "####################", BAR - full,
            "....................", done, all);
    if (left >= 0) {
        fprintf(stderr, ", ");
        put_duration(left);
        fprintf(stderr, " left");
    }
    fprintf(stderr, "  %.40s", text);
    fflush(stderr);
}

void progress_clear(void)
{
    fprintf(stderr, "\r\033[K");
}
