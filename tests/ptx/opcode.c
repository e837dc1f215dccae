/* Decodes opcodes, such as "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32". */
#include "operations.h"
#include "parse_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of ptx_op. */
static const char *const names[PTX_OP_COUNT] = {
    "abs",   "activemask", "add",   "addc",     "and",        "atom",     "bar",       "barrier",
    "bfe",   "bfi",        "bra",   "brev",     "brx",        "call",     "clz",       "copysign",
    "cos",   "cp",         "cvt",   "cvta",     "div",        "dp4a",     "ex2",       "exit",
    "fence", "fma",        "ld",    "ldmatrix", "ldu",        "lg2",      "lop3",      "mad",
    "max",   "membar",     "min",   "mma",      "mov",        "mul",      "nanosleep", "neg",
    "not",   "or",         "popc",  "prefetch", "prmt",       "rcp",      "red",       "redux",
    "rem",   "ret",        "rsqrt", "selp",     "setmaxnreg", "setp",     "shf",       "shfl",
    "shl",   "shr",        "sin",   "sqrt",     "st",         "stmatrix", "sub",       "subc",
    "tanh",  "trap",       "vote",  "wgmma",    "xor"};

bool type_named(const char *name, ptx_type *type)
{
    static const struct {
        const char *name;
        ptx_type type;
    } types[] = {{"b1", {PTX_BITS, 1, 1}},        {"pred", {PTX_BITS, 1, 1}},
                 {"b8", {PTX_BITS, 8, 1}},        {"b16", {PTX_BITS, 16, 1}},
                 {"b32", {PTX_BITS, 32, 1}},      {"b64", {PTX_BITS, 64, 1}},
                 {"b128", {PTX_BITS, 128, 1}},    {"u8", {PTX_UNSIGNED, 8, 1}},
                 {"u16", {PTX_UNSIGNED, 16, 1}},  {"u32", {PTX_UNSIGNED, 32, 1}},
                 {"u64", {PTX_UNSIGNED, 64, 1}},  {"s8", {PTX_SIGNED, 8, 1}},
                 {"s16", {PTX_SIGNED, 16, 1}},    {"s32", {PTX_SIGNED, 32, 1}},
                 {"s64", {PTX_SIGNED, 64, 1}},    {"f16", {PTX_FLOAT, 16, 1}},
                 {"f16x2", {PTX_FLOAT, 16, 2}},   {"f32", {PTX_FLOAT, 32, 1}},
                 {"f64", {PTX_FLOAT, 64, 1}},     {"bf16", {PTX_BFLOAT, 16, 1}},
                 {"bf16x2", {PTX_BFLOAT, 16, 2}}, {"tf32", {PTX_FLOAT, 19, 1}}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* Parts without effect here: cache operators, scopes and memory orders, since the accesses of a
 * thread are executed in order; .uni; and mma's operand layouts, of which only one exists. */
static bool is_ignored(const char *part)
{
    static const char *const ignored[] = {
        "weak",  "volatile", "relaxed", "acquire", "release",   "acq_rel", "sc",   "mmio",
        "cta",   "cluster",  "gpu",     "sys",     "gl",        "ca",      "cg",   "cs",
        "lu",    "cv",       "wb",      "wt",      "nc",        "uni",     "sync", "full",
        "async", "row",      "col",     "m8n8",    "L1",        "L2",      "idx",  "clamp",
        "count", "thread",   "red",     "popc",    "mma_async", "group"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (strcmp(ignored[i], part) == 0)
            return true;
    return strncmp(part, "L1::", 4) == 0 || strncmp(part, "L2::", 4) == 0;
}

typedef struct word {
    const char *name;
    int value;
} word;

static int find(const word *words, size_t count, const char *part)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i].name, part) == 0)
            return words[i].value;
    return -1;
}

#define FIND(words, part) find(words, sizeof(words) / sizeof *(words), part)

static bool take_flag(const char *part, ptx_instruction *out)
{
    static const word flags[] = {
        {"ftz", PTX_FTZ},       {"sat", PTX_SAT},         {"satfinite", PTX_SAT},
        {"relu", PTX_RELU},     {"wide", PTX_WIDE},       {"and", PTX_AND},
        {"or", PTX_OR},         {"xor", PTX_XOR},         {"to", PTX_TO},
        {"trans", PTX_TRANS},   {"aligned", PTX_ALIGNED}, {"NaN", PTX_NAN},
        {"cc", PTX_CC},         {"arrive", PTX_ARRIVE},   {"wrap", PTX_WRAP},
        {"warp", PTX_WARP},     {"l", PTX_LEFT},          {"r", 0},
        {"approx", PTX_APPROX}, {"proxy", PTX_PROXY},     {"approximate", PTX_APPROX}};
    const int flag = FIND(flags, part);
    if (flag >= 0)
        out->flags |= (uint32_t)flag;
    return flag >= 0;
}

static bool take_space(const char *part, ptx_instruction *out)
{
    static const word spaces[] = {{"global", PTX_GLOBAL},      {"shared", PTX_SHARED},
                                  {"shared::cta", PTX_SHARED}, {"local", PTX_LOCAL},
                                  {"param", PTX_PARAM},        {"param::entry", PTX_PARAM},
                                  {"param::func", PTX_PARAM},  {"const", PTX_CONST}};
    const int space = FIND(spaces, part);
    /* The first space is that of the destination of cp.async, which is always shared, and of
     * cvta. */
    if (space >= 0 && out->space == PTX_GENERIC)
        out->space = (uint8_t)space;
    return space >= 0;
}

static bool take_rounding(const char *part, ptx_instruction *out)
{
    static const word roundings[] = {
        {"rn", PTX_RN}, {"rz", PTX_RZ}, {"rm", PTX_RM}, {"rp", PTX_RP}, {"rna", PTX_RNA}};
    static const word wholes[] = {
        {"rni", PTX_RN}, {"rzi", PTX_RZ}, {"rmi", PTX_RM}, {"rpi", PTX_RP}};
    int round = FIND(roundings, part);
    if (round < 0) {
        round = FIND(wholes, part);
        out->to_whole |= round >= 0;
    }
    if (round >= 0)
        out->round = (uint8_t)round;
    return round >= 0;
}

/* Handles parts whose meaning depends on the instruction. */
static bool take_special(const char *part, ptx_instruction *out)
{
    static const word tests[] = {
        {"eq", PTX_EQ},   {"ne", PTX_NE},   {"lt", PTX_LT},     {"le", PTX_LE},   {"gt", PTX_GT},
        {"ge", PTX_GE},   {"lo", PTX_LT},   {"ls", PTX_LE},     {"hi", PTX_GT},   {"hs", PTX_GE},
        {"equ", PTX_EQU}, {"neu", PTX_NEU}, {"ltu", PTX_LTU},   {"leu", PTX_LEU}, {"gtu", PTX_GTU},
        {"geu", PTX_GEU}, {"num", PTX_NUM}, {"nan", PTX_IS_NAN}};
    static const word variants[] = {
        {"commit_group", PTX_COMMIT}, {"wait_group", PTX_WAIT},    {"wait_all", PTX_WAIT_ALL},
        {"fence", PTX_ORDER},         {"mma_async", PTX_MULTIPLY}, {"up", PTX_MODE_UP},
        {"down", PTX_MODE_DOWN},      {"bfly", PTX_MODE_BFLY},     {"idx", PTX_MODE_IDX},
        {"all", PTX_MODE_ALL},        {"any", PTX_MODE_ANY},       {"uni", PTX_MODE_UNI},
        {"ballot", PTX_MODE_BALLOT},  {"add", PTX_MODE_ADD},       {"exch", PTX_MODE_EXCH},
        {"cas", PTX_MODE_CAS},        {"min", PTX_MODE_MIN},       {"max", PTX_MODE_MAX},
        {"inc", PTX_MODE_INC},        {"dec", PTX_MODE_DEC}};
    const bool compares = out->op == PTX_OP_setp;
    const int test = compares ? FIND(tests, part) : -1;
    const int variant = compares ? -1 : FIND(variants, part);
    if (test >= 0)
        out->compare = (uint8_t)test;
    else if (variant >= 0 && (out->op == PTX_OP_shfl || strcmp(part, "idx") != 0) &&
             (out->op != PTX_OP_bra && out->op != PTX_OP_call))
        out->variant = (uint8_t)variant;
    else if (!compares && strcmp(part, "lo") == 0)
        out->flags |= PTX_LO;
    else if (!compares && strcmp(part, "hi") == 0)
        out->flags |= PTX_HI;
    else
        return false;
    return true;
}

static bool take_number_part(const char *part, ptx_instruction *out)
{
    int m, n, k, used = 0;
    if (sscanf(part, "m%dn%dk%d%n", &m, &n, &k, &used) == 3 && part[used] == '\0') {
        out->shape[0] = m;
        out->shape[1] = n;
        out->shape[2] = k;
        return true;
    }
    if (((part[0] == 'v' || part[0] == 'x') && sscanf(part + 1, "%d%n", &m, &used) == 1 &&
         part[used + 1] == '\0')) {
        out->vector = (uint8_t)m;
        return true;
    }
    return false;
}

static void take_part(parser *p, const char *part, ptx_instruction *out)
{
    ptx_type type;
    if (type_named(part, &type)) {
        if (out->type_count == 4)
            parse_fail(p, "%s has too many types", out->text);
        out->types[out->type_count++] = type;
    } else if (!take_special(part, out) && !take_flag(part, out) && !take_space(part, out) &&
               !take_rounding(part, out) && !take_number_part(part, out) && !is_ignored(part)) {
        parse_fail(p, "%s: unknown modifier .%s", out->text, part);
    }
}

/* Returns the first target that supports the instruction, from the PTX ISA's "Target ISA Notes". */
static int first_target(const ptx_instruction *i)
{
    switch (i->op) {
    case PTX_OP_cp:
        return 80;
    case PTX_OP_mma: /* sm_75 supports m16n8k8 of f16 and m8n8 of bytes */
        return (i->shape[0] == 16 && i->shape[2] == 8 && i->types[1].bits == 16 &&
                i->types[1].kind == PTX_FLOAT) ||
                       i->shape[0] == 8
                   ? 75
                   : 80;
    case PTX_OP_stmatrix:
    case PTX_OP_setmaxnreg:
        return 90;
    case PTX_OP_redux:
        return 80;
    case PTX_OP_ldmatrix:
        return 75;
    default:
        return 0;
    }
}

static void check_target(parser *p, const ptx_instruction *i)
{
    const char *target = p->program->target;
    const int number = strncmp(target, "sm_", 3) == 0 ? atoi(target + 3) : 0;
    if (number < first_target(i))
        parse_fail(p, "%s requires sm_%d, but the target is %s", i->text, first_target(i), target);
    if (i->op == PTX_OP_wgmma && strcmp(target, "sm_90a") != 0)
        parse_fail(p, "wgmma requires sm_90a, but the target is %s", target);
}

static int operation_named(const char *name)
{
    for (int i = 0; i < PTX_OP_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return -1;
}

/* Rejects forms of known instructions that the interpreter does not support and the kernels do not
 * use. */
static void refuse_unused(parser *p, const ptx_instruction *i)
{
    const char *const refused[] = {"cp.async.bulk", "cp.async.mbarrier",  "cp.reduce",
                                   "mma.sp",        "wgmma.mma_async.sp", "bar.red",
                                   "barrier.red"};
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
        if (strncmp(i->text, refused[r], strlen(refused[r])) == 0)
            parse_fail(p, "%s is not supported", i->text);
}

void decode_opcode(parser *p, const token *t, ptx_instruction *out)
{
    char text[160], *save = NULL;
    if (t->length >= (int)sizeof text)
        parse_fail(p, "an opcode of %d characters is too long", t->length);
    snprintf(text, sizeof text, "%.*s", t->length, t->at);
    snprintf(out->text, sizeof out->text, "%.*s", (int)sizeof out->text - 1, text);
    refuse_unused(p, out);
    const char *part = strtok_r(text, ".", &save);
    const int op = part != NULL ? operation_named(part) : -1;
    if (op < 0)
        parse_fail(p, "unknown instruction %s", out->text);
    out->op = (uint16_t)op;
    while ((part = strtok_r(NULL, ".", &save)) != NULL)
        take_part(p, part, out);
    if (op == PTX_OP_cp && out->variant == PTX_PLAIN)
        out->variant = PTX_COPY;
    check_target(p, out);
}
