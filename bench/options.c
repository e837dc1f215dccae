#include "options.h"

#include "report.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char bench_usage[] =
    "usage: tenon-bench run [OPTION …] | regret [OPTION …] | ceilings [OPTION …] |\n"
    "                   predict --target NAME [OPTION …] |\n"
    "                   build [OPTION …] | list |\n"
    "                   compare A.json B.json | report FILE.json … -o PAGE.html |\n"
    "                   hosts FILE | peers | solvers | help\n"
    "\n"
    "  run                 measure the cases of the suites. The same command with --json resumes\n"
    "                      a run that was interrupted, or repeats the cases that failed\n"
    "  regret              measure the choice against all other candidates; default suites\n"
    "                      gemm-cpu and conv-cpu; no peers, no --csv, no --solver\n"
    "  predict             print the device model's estimates for a typical device of the kind\n"
    "                      NAME (sm_90, gfx942, cpu_16 …); nothing is measured. --suite, --dtype,\n"
    "                      --filter, --shapes and --json as for run\n"
    "  ceilings            measure the device's limits and store them for run: --device, --json;\n"
    "                      --filter: only limits whose names contain the text; --emulated: the\n"
    "                      kernels of all matrix units in emulation, to test them\n"
    "  build               build and check the programs that run would measure with the same\n"
    "                      options, without measuring; --part I/N: every N-th from the I-th on;\n"
    "                      --json: the reports of the compiler and of the device model\n"
    "  compare             compare the times of two files of run --json; ends with status 1 if a\n"
    "                      case or the mean of a suite is slower beyond a limit\n"
    "  report              draw files of --json, also of several machines, as one page; needs\n"
    "                      matplotlib\n"
    "  hosts               predict the all-reduce of 2 to 64 hosts from measurements on one\n"
    "                      machine. These three are in Python: COMMAND --help\n"
    "  list                list all cases\n"
    "  peers               list the peers that are built in and those that are not, and the\n"
    "                      processor whose kernels OpenBLAS runs\n"
    "  solvers             print every solver with its parameters and their ranges as JSON\n"
    "\n"
    "  --suite S[,S]       suites from the list below; default all; gpu or cpu: those whose\n"
    "                      names end so\n"
    "  --dtype T[,T]       f32, f64, f16, bf16, i64, i32, i16, i8, u32, u16, u8, bool;\n"
    "                      default f32; recorded calls: all\n"
    "  --device D[,D]      selectors as printed by tenon devices, all for all devices, or parts\n"
    "                      of a device, as in cpu/2:1; default: the default device\n"
    "  --peers P[,P]       openblas, onednn, onednn-blocked, clblast, cublas, cudnn, rocblas, "
    "loop,\n"
    "                      tenon-f32, unpacked, onnxruntime, pytorch, nchw, numpy,\n"
    "                      boost-compute, memcpy, or none; default: all available\n"
    "  --shapes FILE[,FILE]  also the suites in these files: shapes (docs/benchmarks.md), or\n"
    "                      calls recorded by TENON_RECORD; without --suite only these\n"
    "  --quick             a sample of the cases of each suite, in about two minutes\n"
    "  --repeats N         further attempts at cases during which other processes or guests had\n"
    "                      the processors; default 2\n"
    "  --filter TEXT       only cases whose names contain the text\n"
    "  --solver NAME       force a solver, or several, separated by spaces, in turn; cases that\n"
    "                      it cannot support are left out\n"
    "  --workspace BYTES   workspace limit; 0 is allowed\n"
    "  --time SECONDS      approximate time of each case; default 0.3 to 1, by suite\n"
    "  --min-flops N       cases with fewer operations are not compared with the best of their "
    "peers;\n"
    "                      default 4e6\n"
    "  --no-verify         do not compare results with the reference first\n"
    "  --clblast-tuning FOLDER  give CLBlast the results of its own tuners\n"
    "  --network-program COMMAND  run networks in ONNX Runtime and PyTorch, and calls and\n"
    "                      steps in NumPy, by this command; default: without them\n"
    "  --json FILE         write results as JSON\n"
    "  --csv FILE          write results as comma-separated values\n";

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

/* Returns true if each name of a list is known. Prints the first unknown one to stderr. */
static bool all_known(const char *what, const char *list, const char *const *known, size_t count)
{
    for (const char *at = list; at != NULL && *at != '\0';) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < count && (strncmp(at, known[i], length) != 0 || known[i][length] != '\0'))
            i++;
        if (i == count) {
            fprintf(stderr, "tenon-bench: unknown %s \"%.*s\", allowed:", what, (int)length, at);
            for (i = 0; i < count; i++)
                fprintf(stderr, " %s", known[i]);
            fprintf(stderr, "\n");
            return false;
        }
        at += length + (at[length] == ',');
    }
    if (list != NULL && *list == '\0')
        fprintf(stderr, "tenon-bench: the list of %s names is empty\n", what);
    return list == NULL || *list != '\0';
}

static bool options_make_sense(const bench_options *o)
{
    const char *suites[MOST_SUITES] = {"gpu", "cpu"}, *types[BENCH_DTYPES],
               *peers[BENCH_PEER_NAMES + 1] = {"none"};
    if (o->shapes != NULL && !bench_suites_load(o->shapes))
        return false;
    if (2 + bench_suite_count > MOST_SUITES) {
        fprintf(stderr, "tenon-bench: --shapes: there are more than %d suites\n", MOST_SUITES - 2);
        return false;
    }
    memcpy(peers + 1, bench_peer_names, sizeof bench_peer_names);
    for (uint32_t i = 0; i < bench_suite_count; i++)
        suites[2 + i] = bench_suites[i]->name;
    for (size_t i = 0; i < BENCH_DTYPES; i++)
        types[i] = tenon_dtype_string(bench_dtypes[i]);
    return all_known("suite", o->suites, suites, 2 + bench_suite_count) &&
           all_known("type", o->dtypes, types, BENCH_DTYPES) &&
           all_known("peer", o->peers, peers, BENCH_PEER_NAMES + 1) &&
           (o->json == NULL || bench_can_write(o->json)) &&
           (o->csv == NULL || bench_can_write(o->csv));
}

/* Parses "2/5". */
static bool part_of(const char *text, bench_options *o)
{
    char end;
    if (sscanf(text, "%u/%u%c", &o->part, &o->parts, &end) == 2 && o->part >= 1 &&
        o->part <= o->parts)
        return true;
    fprintf(stderr, "tenon-bench: --part: \"%s\" is not I/N with I from 1 to N\n", text);
    return false;
}

/* Parses a number of the command line and checks its range; otherwise reports the allowed range. */
static bool number_of(const char *option, const char *text, double least, double most,
                      double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end != text && *end == '\0' && *value >= least && *value <= most)
        return true;
    fprintf(stderr, "tenon-bench: %s must be a number from %g to %g, not \"%s\"\n", option, least,
            most, text);
    return false;
}

/* Takes the options of the cases to measure and how often. */
static bool take_more(int option, bench_options *o)
{
    double repeats;
    switch (option) {
    case 'h':
        o->shapes = optarg;
        return true;
    case 'q':
        o->quick = true;
        return true;
    case 'g':
        o->target = optarg;
        return true;
    case 'i':
        if (!number_of("--repeats", optarg, 0, 100, &repeats))
            return false;
        o->repeats = (uint32_t)repeats;
        return true;
    default:
        return false;
    }
}

static bool take(int option, bench_options *o)
{
    double bytes;
    switch (option) {
    case 's':
        o->suites = optarg;
        return true;
    case 't':
        o->dtypes = optarg;
        return true;
    case 'd':
        o->device = optarg;
        return true;
    case 'p':
        o->peers = optarg;
        return true;
    case 'f':
        o->filter = optarg;
        return true;
    case 'v':
        o->solvers = optarg;
        return true;
    case 'm':
        return number_of("--time", optarg, 1e-3, 3600, &o->seconds);
    case 'w':
        if (!number_of("--workspace", optarg, 0, 1e15, &bytes))
            return false;
        o->workspace = (uint64_t)bytes;
        return true;
    case 'o':
        return number_of("--min-flops", optarg, 0, 1e15, &o->least_operations);
    case 'b':
        o->clblast_tuning = optarg;
        return true;
    case 'r':
        o->network_program = optarg;
        return true;
    case 'n':
        o->trusted = true;
        return true;
    case 'e':
        o->emulated = true;
        return true;
    case 'a':
        return part_of(optarg, o);
    case 'j':
        o->json = optarg;
        return true;
    case 'c':
        o->csv = optarg;
        return true;
    default:
        return take_more(option, o);
    }
}

bool bench_parse(int argc, char **argv, bench_options *o)
{
    static const struct option known[] = {{"suite", required_argument, NULL, 's'},
                                          {"dtype", required_argument, NULL, 't'},
                                          {"device", required_argument, NULL, 'd'},
                                          {"peers", required_argument, NULL, 'p'},
                                          {"filter", required_argument, NULL, 'f'},
                                          {"solver", required_argument, NULL, 'v'},
                                          {"time", required_argument, NULL, 'm'},
                                          {"workspace", required_argument, NULL, 'w'},
                                          {"min-flops", required_argument, NULL, 'o'},
                                          {"no-verify", no_argument, NULL, 'n'},
                                          {"emulated", no_argument, NULL, 'e'},
                                          {"part", required_argument, NULL, 'a'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"csv", required_argument, NULL, 'c'},
                                          {"clblast-tuning", required_argument, NULL, 'b'},
                                          {"network-program", required_argument, NULL, 'r'},
                                          {"shapes", required_argument, NULL, 'h'},
                                          {"quick", no_argument, NULL, 'q'},
                                          {"repeats", required_argument, NULL, 'i'},
                                          {"target", required_argument, NULL, 'g'},
                                          {NULL, 0, NULL, 0}};
    int option;
    *o = (bench_options){
        .workspace = TENON_WORKSPACE_DEFAULT, .least_operations = 4e6, .repeats = 2};
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!take(option, o))
            return false;
    if (optind < argc) {
        fprintf(stderr, "tenon-bench: unknown argument %s\n", argv[optind]);
        return false;
    }
    return options_make_sense(o);
}
