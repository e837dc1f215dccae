#include "calls.h"

#include "base/dtype.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW 1024

typedef struct listed {
    bench_line line; /* the first member */
    bench_call peer;
} listed;

static const bench_listed_call *call_of(const bench_suite *suite, uint32_t number)
{
    return &suite->shapes->calls[number / suite->shapes->size_count];
}

/* Returns the number of elements, or 0 if the lines have their sizes. */
static int64_t size_of(const bench_suite *suite, uint32_t number)
{
    return suite->shapes->sizes[number % suite->shapes->size_count];
}

static uint32_t count(const bench_suite *suite)
{
    return suite->shapes->count * suite->shapes->size_count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const int64_t size = size_of(suite, number);
    char text[BENCH_SIZE_TEXT] = "";
    if (size > 0)
        bench_size_text(size, text);
    snprintf(name, BENCH_NAME_SIZE, "%s%s%s", call_of(suite, number)->name, size > 0 ? " " : "",
             text);
}

/* A line with T is a case of the floating-point types, and another one of its first operand's. */
static bool has_dtype(const bench_suite *suite, uint32_t number, tenon_dtype dtype)
{
    const char *line = call_of(suite, number)->line, *type = strchr(line, '=') + 1;
    if (strstr(line, "=T:") != NULL)
        return bench_floating(suite, number, dtype);
    return strncmp(type, tenon_dtype_string(dtype), strcspn(type, ":")) == 0;
}

/* Writes the call for a number of elements. */
static void put_line(char *text, const char *from, int64_t size)
{
    size_t used = 0;
    for (; *from != '\0' && used < TN_CASE_TEXT_SIZE - 1; from++)
        if (*from == '$')
            used += (size_t)snprintf(text + used, TN_CASE_TEXT_SIZE - used, "%" PRId64,
                                     *++from == 'N' ? size : size / ROW);
        else
            text[used++] = *from;
    text[used < TN_CASE_TEXT_SIZE ? used : TN_CASE_TEXT_SIZE - 1] = '\0';
}

/* Returns the limit of the indices, or 0. */
static int64_t limit_of(const bench_listed_call *call, int64_t size)
{
    if (call->limit == NULL)
        return 0;
    return *call->limit == 'N' ? size : *call->limit == 'R' ? size / ROW : atoll(call->limit);
}

bench_call bench_call_of(const bench_line *line, const char *name)
{
    const tn_operation *operation = line->text.operation;
    bench_call call = {.name = name};
    for (uint32_t i = 0; i < operation->operand_count && call.count < BENCH_MAX_OPERANDS; i++)
        if (line->text.views[i].dtype != TENON_DTYPE_INVALID)
            call.operand[call.count++] =
                (bench_call_operand){operation->operands[i].name, line->mirrors[i].host,
                                     line->mirrors[i].device, tn_operation_writes(operation, i)};
    return call;
}

static void destroy(bench_case *bench)
{
    listed *l = bench->tenon.data;
    bench_line_destroy(&l->line);
    free(l);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_listed_call *o = call_of(suite, number);
    char text[TN_CASE_TEXT_SIZE];
    listed *l = calloc(1, sizeof *l);
    if (l == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", bench_line_run, false, l, NULL, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = bench_line_verify;
    put_line(text, o->line, size_of(suite, number));
    if (!bench_line_make(session, text, dtype, limit_of(o, size_of(suite, number)), &l->line))
        return false;
    bench_line_describe(&l->line, bench);
    bench->bytes = bench_line_bytes(&l->line, o->picked);
    bench->operations = bench_line_operations(&l->line);
    l->peer = bench_call_of(&l->line, o->name);
    l->peer.numpy = o->numpy;
    l->peer.by_rows = o->by_rows;
    BENCH_ADD_PEER(session, bench, "boost-compute", bench_boost_call(&l->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_call(&l->peer, bench_way_at));
    BENCH_ADD_PEER(session, bench, "numpy",
                   bench_numpy_call(session->options->network_program, &l->peer, bench_way_at));
    return true;
}

const bench_kind bench_listed_calls = {count, name_of, has_dtype, make};
