#include "report.h"

#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH    100
#define PEERS_AT 83 /* column of the peers */
#define MORE_AT  40 /* and of those in further lines */

void bench_print_heading(const char *suite, const char *about)
{
    printf("\n%s: %s\n", suite, about);
    printf("%-34s %-5s %10s %13s %9s %6s  %s\n", "case", "type", "median us", "95 % interval",
           "rate", "roof", "peer / Tenon");
    fflush(stdout);
}

static void print_rate(const bench_result *r)
{
    if (r->operations > 0)
        printf(" %6.1f GF", r->operations / r->wall.median);
    else if (r->bytes > 0)
        printf(" %6.1f GB", r->bytes / r->wall.median);
    else
        printf(" %9s", "");
}

/* Prints the share of the attainable rate, and what limits that: arithmetic, memory or launches. */
static void print_share(const bench_result *r)
{
    const char limit = strstr(r->ceiling, "launch") != NULL ? 'l'
                       : strncmp(r->ceiling, "mul", 3) == 0 || strncmp(r->ceiling, "mat", 3) == 0
                           ? 'a'
                           : 'm';
    if (r->attainable > 0)
        printf(" %4.0f%%%c", 100 * r->attainable / r->wall.median, limit);
    else
        printf(" %6s", "");
}

static const char *short_name(const char *peer)
{
    return strncmp(peer, "onednn-blocked", 14) == 0 ? peer + 7 : peer;
}

/* Prints the share of time of each kind of layer. */
static void print_layers(const bench_result *r)
{
    double sum = 0;
    for (int kind = 0; kind < BENCH_LAYER_KINDS; kind++)
        sum += r->layers[kind];
    printf("  ");
    for (int kind = 0; kind < BENCH_LAYER_KINDS; kind++)
        if (r->layers[kind] > 0)
            printf(" %s %.1f%%", bench_layer_kinds[kind], 100 * r->layers[kind] / sum);
    printf("\n");
}

void bench_print_result(const bench_result *r)
{
    printf("%-34.34s %-5s %10.1f %6.1f-%-6.1f", r->name, tenon_dtype_string(r->dtype),
           r->wall.median * 1e-3, r->wall.low * 1e-3, r->wall.high * 1e-3);
    print_rate(r);
    print_share(r);
    int left = WIDTH - PEERS_AT;
    for (uint32_t p = 0; p < r->peer_count; p++) {
        char text[48];
        int length = snprintf(text, sizeof text, " %s %.2f", short_name(r->peers[p].name),
                              r->peers[p].median / r->wall.median);
        if (length > left) {
            printf("\n%*s", MORE_AT, "");
            left = WIDTH - MORE_AT;
        }
        printf("%s", text);
        left -= length;
    }
    if (bench_is_disturbed(&r->load))
        printf("\n    disturbed: %.0f %% other load, %.0f %% stolen", 100 * r->load.other,
               100 * r->load.steal);
    printf("\n");
    if (r->has_layers)
        print_layers(r);
    fflush(stdout);
}

void bench_print_summary(const bench_summary *summary)
{
    if (summary->ratio_count == 0)
        return;
    printf("\npeer time / Tenon time\n%-22s %-5s %-19s %5s %6s %6s  %s\n", "suite", "type", "peer",
           "cases", "mean", "least", "at");
    for (uint32_t i = 0; i < summary->ratio_count; i++) {
        const bench_ratio *r = &summary->ratios[i];
        printf("%-22s %-5s %-19s %5u %6.2f %6.2f  %.30s\n", r->suite, tenon_dtype_string(r->dtype),
               r->peer, r->cases, r->mean, r->least, r->least_at->name);
    }
    if (summary->slow_count > 0)
        printf("\nslowest beside the best peer\n");
    for (uint32_t i = 0; i < summary->slow_count; i++) {
        const bench_ratio *r = &summary->slowest[i];
        printf("%-22s %-5s %7.2f  %-34.34s %.27s\n", r->suite, tenon_dtype_string(r->dtype),
               r->least, r->least_at->name, r->least_at->solver);
    }
}

void bench_print_failure(const char *name, const char *dtype, const char *why)
{
    printf("%-34.34s %-5s failed: %.*s\n", name, dtype, (int)strcspn(why, "\n"), why);
    fflush(stdout);
}

void bench_progress(uint32_t done, uint32_t all, double left, const char *name)
{
    if (isatty(STDERR_FILENO) && all > 0)
        progress_show(done, all, left, name);
}

void bench_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        progress_clear();
}
