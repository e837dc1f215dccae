#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 100

void bench_print_heading(const char *suite, const char *about)
{
    printf("\n%s: %s\n", suite, about);
    printf("%-34s %-5s %10s %13s %9s  %s\n", "case", "type", "median us", "95 % interval", "rate",
           "peer time / Tenon time");
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

static const char *short_name(const char *peer)
{
    return strcmp(peer, "onednn-blocked") == 0 ? "blocked" : peer;
}

void bench_print_result(const bench_result *r)
{
    printf("%-34.34s %-5s %10.1f %6.1f-%-6.1f", r->name, tenon_dtype_string(r->dtype),
           r->wall.median * 1e-3, r->wall.low * 1e-3, r->wall.high * 1e-3);
    print_rate(r);
    int left = WIDTH - 75;
    for (uint32_t p = 0; p < r->peer_count; p++) {
        char text[48];
        int length = snprintf(text, sizeof text, " %s %.2f", short_name(r->peers[p].name),
                              r->peers[p].median / r->wall.median);
        if (length > left) {
            printf("\n%75s", "");
            left = WIDTH - 75;
        }
        printf("%s", text);
        left -= length;
    }
    printf("\n");
    fflush(stdout);
}

static bool has_peer(const bench_result *r, const char *peer, double *ratio)
{
    for (uint32_t p = 0; p < r->peer_count; p++)
        if (strcmp(r->peers[p].name, peer) == 0) {
            *ratio = r->peers[p].median / r->wall.median;
            return true;
        }
    return false;
}

static void print_mean(const bench_result *results, uint32_t count, const char *suite,
                       const char *peer)
{
    double sum = 0, least = INFINITY, ratio;
    uint32_t cases = 0;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(results[i].suite, suite) == 0 && has_peer(&results[i], peer, &ratio)) {
            sum += log(ratio);
            least = fmin(least, ratio);
            cases++;
        }
    if (cases > 0)
        printf("%-12s %-16s geometric mean %6.2f, least %6.2f, of %u cases\n", suite, peer,
               exp(sum / cases), least, cases);
}

void bench_print_means(const bench_result *results, uint32_t count)
{
    static const char *const peers[] = {"openblas", "onednn", "onednn-blocked", "clblast", "loop"};
    printf("\npeer time / Tenon time\n");
    for (uint32_t s = 0; s < bench_suite_count; s++)
        for (size_t p = 0; p < sizeof peers / sizeof *peers; p++)
            print_mean(results, count, bench_suites[s]->name, peers[p]);
}

void bench_progress(uint32_t done, uint32_t all, double seconds, const char *name)
{
    if (!isatty(STDERR_FILENO) || all == 0)
        return;
    const int bar = 20, full = (int)(bar * done / all);
    fprintf(stderr, "\r\033[K[%.*s%.*s] %u/%u", full, "####################", bar - full,
            "....................", done, all);
    if (done > 0)
        fprintf(stderr, ", %.0f s left", seconds / done * (all - done));
    fprintf(stderr, "  %.40s", name);
    fflush(stderr);
}

void bench_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}
