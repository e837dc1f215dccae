#include "options.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tenon_dtype bench_dtypes[BENCH_DTYPES] = {
    TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_F16, TENON_DTYPE_BF16,
    TENON_DTYPE_I8,  TENON_DTYPE_U8,  TENON_DTYPE_I32, TENON_DTYPE_BOOL,
    TENON_DTYPE_I64, TENON_DTYPE_I16, TENON_DTYPE_U32, TENON_DTYPE_U16};

bool bench_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    if (list == NULL)
        return true;
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && (at[length] == '\0' || at[length] == ','))
            return true;
        if (*at == '\0')
            break;
    }
    return false;
}

#define MOST_SUITES 256

#define ALLOWED_SIZE 4096

/* Returns true if each name of a list is known. Prints the first unknown one to stderr. */
static bool all_known(const command *c, const char *option, const char *what, const char *list,
                      const char *const *known, size_t count)
{
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ","), i = 0, used = 0;
        char allowed[ALLOWED_SIZE] = "";
        while (i < count && (strncmp(at, known[i], length) != 0 || known[i][length] != '\0'))
            i++;
        if (i < count) {
            at += length + (at[length] == ',');
            continue;
        }
        for (i = 0; i < count && used < sizeof allowed; i++)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, " %s", known[i]);
        (void)command_line_wrong(c, "%s: unknown %s \"%.*s\", allowed:%s", option, what,
                                 (int)length, at, allowed);
        return false;
    }
    return true;
}

static bool options_make_sense(const command *c, const bench_options *o)
{
    const char *suites[MOST_SUITES] = {"gpu", "cpu"}, *types[BENCH_DTYPES],
               *peers[BENCH_PEER_NAMES + 1] = {"none"};
    if (!bench_suites_load(o->shapes))
        return false;
    if (2 + bench_suite_count > MOST_SUITES) {
        (void)command_line_wrong(c, "--shapes: there are more than %d suites", MOST_SUITES - 2);
        return false;
    }
    memcpy(peers + 1, bench_peer_names, sizeof bench_peer_names);
    for (uint32_t i = 0; i < bench_suite_count; i++)
        suites[2 + i] = bench_suites[i]->name;
    for (size_t i = 0; i < BENCH_DTYPES; i++)
        types[i] = tenon_dtype_string(bench_dtypes[i]);
    return all_known(c, "--suite", "suite", o->suites, suites, 2 + bench_suite_count) &&
           all_known(c, "--dtype", "type", o->dtypes, types, BENCH_DTYPES) &&
           all_known(c, "--peers", "peer", o->peers, peers, BENCH_PEER_NAMES + 1) &&
           (o->json == NULL || bench_can_write(o->json)) &&
           (o->csv == NULL || bench_can_write(o->csv));
}

/* Parses "2/5". */
static bool read_part(const command *c, const char *text, bench_options *o)
{
    char end;
    if (text == NULL || (sscanf(text, "%u/%u%c", &o->part, &o->parts, &end) == 2 && o->part >= 1 &&
                         o->part <= o->parts))
        return true;
    (void)command_line_wrong(c, "--part: \"%s\" is not I/N with I from 1 to N", text);
    return false;
}

/* The values that are converted after all options have been read. */
typedef struct raw_values {
    double workspace; /* negative: the option is absent */
    uint64_t repeats;
    const char *part;
} raw_values;

/* The help texts that list all names. They are static, because the table of options refers to
 * them. */
typedef struct name_lists {
    char peers[1024], dtypes[512];
} name_lists;

static const name_lists *list_names(void)
{
    static name_lists lists;
    size_t used = 0;
    for (size_t i = 0; i < BENCH_PEER_NAMES && used < sizeof lists.peers; i++)
        used += (size_t)snprintf(lists.peers + used, sizeof lists.peers - used, "%s, ",
                                 bench_peer_names[i]);
    if (used < sizeof lists.peers)
        snprintf(lists.peers + used, sizeof lists.peers - used, "or none; default: all available");
    used = 0;
    for (size_t i = 0; i < BENCH_DTYPES && used < sizeof lists.dtypes; i++)
        used += (size_t)snprintf(lists.dtypes + used, sizeof lists.dtypes - used, "%s%s",
                                 i > 0 ? ", " : "", tenon_dtype_string(bench_dtypes[i]));
    if (used < sizeof lists.dtypes)
        snprintf(lists.dtypes + used, sizeof lists.dtypes - used,
                 "; default f32; recorded calls: all");
    return &lists;
}

/* An option and the commands that have it. */
typedef struct row {
    unsigned commands;
    command_option option;
} row;

#define OF_CASES (BENCH_OF_RUN | BENCH_OF_REGRET | BENCH_OF_BUILD)

/* Fills the table of the options of a command. A command of which an option has no effect, but
 * which accepts it, does not show it. */
static void fill_table(unsigned which, bench_options *o, raw_values *raw,
                       command_option table[BENCH_MOST_OPTIONS])
{
    const name_lists *help = list_names();
    const row rows[] = {
        {BENCH_OF_PREDICT,
         {"target", OPTION_TEXT, &o->target, "NAME",
          "the kind of device: sm_90, gfx942, cpu_16 ...; required"}},
        {OF_CASES | BENCH_OF_PREDICT,
         {"suite", OPTION_TEXT, &o->suites, "S[,S]",
          "suites as in \"tenon-bench list --suites\"; gpu or cpu: those whose names end so"}},
        {OF_CASES | BENCH_OF_PREDICT, {"dtype", OPTION_TEXT, &o->dtypes, "T[,T]", help->dtypes}},
        {BENCH_OF_RUN,
         {"device", OPTION_TEXT, &o->device, "D[,D]",
          "selectors as printed by \"tenon devices\", all for all devices, or parts of one, as "
          "in cpu/2:1; default: the default device"}},
        {BENCH_OF_REGRET | BENCH_OF_CEILINGS | BENCH_OF_BUILD,
         {"device", OPTION_TEXT, &o->device, "D",
          "a selector as printed by \"tenon devices\", or a part of a device, as in cpu/2:1; "
          "default: the default device"}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"peers", OPTION_TEXT, &o->peers, "P[,P]", help->peers}},
        {OF_CASES | BENCH_OF_PREDICT,
         {"shapes", OPTION_TEXT, &o->shapes, "FILE[,FILE]",
          "also the suites in these files: shapes (docs/benchmarks.md), or calls recorded by "
          "TENON_RECORD; without --suite only these"}},
        {OF_CASES | BENCH_OF_PREDICT,
         {"quick", OPTION_FLAG, &o->quick, NULL,
          "a sample of the cases of each suite; run takes about two minutes"}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"repeats", OPTION_COUNT, &raw->repeats, "N",
          "further attempts at cases during which other processes or guests had the processors; "
          "default 2",
          0, 100}},
        {OF_CASES | BENCH_OF_PREDICT | BENCH_OF_CEILINGS,
         {"filter", OPTION_TEXT, &o->filter, "TEXT",
          "only cases, or limits of the device, whose names contain the text"}},
        {BENCH_OF_RUN | BENCH_OF_BUILD,
         {"solver", OPTION_TEXT, &o->solvers, "NAME",
          "force a solver, or several, separated by spaces, in turn; cases that it cannot support "
          "are left out"}},
        {OF_CASES,
         {"workspace", OPTION_NUMBER, &raw->workspace, "BYTES", "workspace limit; 0 is allowed", 0,
          1e15}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD | BENCH_OF_REGRET),
         {"time", OPTION_NUMBER, &o->seconds, "SECONDS",
          "approximate time of each case; default 0.3 to 1, by suite", 1e-3, 3600}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"min-flops", OPTION_NUMBER, &o->least_operations, "N",
          "cases with fewer operations are not compared with the best of their peers; default 4e6",
          0, 1e15}},
        {BENCH_OF_RUN | BENCH_OF_REGRET | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"no-verify", OPTION_FLAG, &o->trusted, NULL,
          "do not compare results with the reference first"}},
        {OF_CASES,
         {"clblast-tuning", OPTION_TEXT, &o->clblast_tuning, "FOLDER",
          "give CLBlast the results of its own tuners"}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"network-program", OPTION_TEXT, &o->network_program, "COMMAND",
          "run networks in ONNX Runtime and PyTorch, and calls and steps in NumPy, by this "
          "command; default: without them"}},
        {BENCH_OF_CEILINGS,
         {"emulated", OPTION_FLAG, &o->emulated, NULL,
          "the kernels of all matrix units in emulation, to test them"}},
        {BENCH_OF_BUILD,
         {"part", OPTION_TEXT, &raw->part, "I/N", "every N-th case from the I-th on"}},
        {OF_CASES | BENCH_OF_PREDICT | BENCH_OF_CEILINGS,
         {"json", OPTION_TEXT, &o->json, "FILE", "write the results as JSON"}},
        {BENCH_OF_RUN | BENCH_ACCEPTED(BENCH_OF_BUILD),
         {"csv", OPTION_TEXT, &o->csv, "FILE", "write the results as comma-separated values"}},
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((rows[i].commands & (which | BENCH_ACCEPTED(which))) == 0)
            continue;
        table[count] = rows[i].option;
        if ((rows[i].commands & which) == 0)
            table[count].help = NULL;
        count++;
    }
    table[count].name = NULL;
}

bool bench_parse(const command *c, unsigned options, int argc, char **argv, bench_options *o,
                 int *status)
{
    command_line line;
    command_option table[BENCH_MOST_OPTIONS];
    raw_values raw = {.workspace = -1, .repeats = 2};
    *o = (bench_options){.least_operations = 4e6};
    fill_table(options, o, &raw, table);
    const bool well = command_line_read(c, argc, argv, table, 0, &line);
    *status = line.status;
    o->workspace = raw.workspace < 0 ? TENON_WORKSPACE_DEFAULT : (uint64_t)raw.workspace;
    o->repeats = (uint32_t)raw.repeats;
    return well && read_part(c, raw.part, o) && options_make_sense(c, o);
}
