#include "provenance.h"

#include "bench_build_info.h"
#include "environment.h"
#include "load.h"
#include "base/processor.h"
#include "base/store.h"
#include "runtime/context/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define COMMIT_DIGITS 40

json_t *bench_json_build(void)
{
    static const char commit[] = BENCH_COMMIT; /* 40 digits, "-modified" behind them */
    const bool is_known = strspn(commit, "0123456789abcdef") == COMMIT_DIGITS;
    const char *tree = !is_known ? "unknown" : commit[COMMIT_DIGITS] == '\0' ? "clean" : "modified";
    return json_pack("{s:o, s:s, s:s, s:s}", "commit",
                     is_known ? json_stringn(commit, COMMIT_DIGITS) : json_string("unknown"),
                     "tree", tree, "compiler", BENCH_COMPILER, "flags", BENCH_FLAGS);
}

/* Returns the mean of the current frequencies that the frequency driver reports; 0: none. */
static double governed_clock(void)
{
    char path[256];
    double sum = 0, kilohertz;
    int count = 0;
    for (int i = 0; i < (int)sysconf(_SC_NPROCESSORS_CONF); i++) {
        snprintf(path, sizeof path, "%s/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                 bench_sys(), i);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%lf", &kilohertz) == 1 && kilohertz > 0) {
            sum += kilohertz * 1e-3;
            count++;
        }
        fclose(file);
    }
    return count > 0 ? sum / count : 0;
}

/* Returns the mean of the clocks in /proc/cpuinfo; 0: none. */
static double listed_clock(void)
{
    char path[256], line[512];
    double sum = 0, megahertz;
    int count = 0;
    snprintf(path, sizeof path, "%s/cpuinfo", bench_proc());
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "cpu MHz : %lf", &megahertz) == 1 && megahertz > 0) {
            sum += megahertz;
            count++;
        }
    if (file != NULL)
        fclose(file);
    return count > 0 ? sum / count : 0;
}

double bench_clock(void)
{
    const double clock = governed_clock();
    return clock > 0 ? clock : listed_clock();
}

static json_t *number_or_null(double value)
{
    return value > 0 ? json_real(value) : json_null();
}

/* Describes how threads are pinned (environment.c). */
static const char *pinning(void)
{
    const char *pocl = getenv("POCL_AFFINITY");
    if (bench_processors() < 2)
        return "one processor";
    return pocl != NULL && strcmp(pocl, "1") == 0
               ? "PoCL's and the peers' threads, one per processor"
               : "the peers' threads, one per processor; PoCL's are not pinned";
}

json_t *bench_json_host(double clock_before)
{
    struct utsname name;
    char processor[TN_PROCESSOR_SIZE] = "";
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    tn_processor_name(processor);
    return json_pack("{s:s, s:s, s:s, s:i, s:s, s:i, s:s, s:{s:o, s:o}}", "system", name.sysname,
                     "release", name.release, "machine", name.machine, "processors",
                     (int)sysconf(_SC_NPROCESSORS_ONLN), "processor", processor, "threads",
                     bench_processors(), "pinning", pinning(), "clock_mhz", "before",
                     number_or_null(clock_before), "after", number_or_null(bench_clock()));
}

/* Stops at the first entry. */
static bool find_one(void *user, const char *name)
{
    (void)name;
    *(bool *)user = true;
    return false;
}

const char *bench_store_state(const tenon_context *context)
{
    bool has_programs = false;
    if (context->persistence.store == NULL)
        return "off";
    (void)tn_store_each(context->persistence.store, TN_STORE_PROGRAM, find_one, &has_programs);
    return has_programs ? "warm" : "cold";
}
