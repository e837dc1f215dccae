/* Messages to stderr, the first of which is kept. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char complaint[1024];

void bench_complain(const char *format, ...)
{
    char text[sizeof complaint];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tenon-bench: %s\n", text);
    if (complaint[0] == '\0')
        memcpy(complaint, text, sizeof complaint);
}

const char *bench_complaint(void)
{
    return complaint;
}

void bench_forget_complaint(void)
{
    complaint[0] = '\0';
}
