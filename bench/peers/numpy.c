/* Calls in NumPy. */
#include "peers.h"
#include "program.h"

#include "../environment.h"

#include <jansson.h>
#include <stdlib.h>

/* Returns the name, type and shape of an operand. The program reads the values of inputs. */
static json_t *describe_operand(const bench_call_operand *o)
{
    json_t *shape = json_array();
    for (uint32_t d = 0; d < o->host.rank; d++)
        json_array_append_new(shape, json_integer((json_int_t)o->host.shape[d]));
    return json_pack("{s:s, s:s, s:o, s:b}", "name", o->name, "dtype",
                     tenon_dtype_string(o->host.dtype), "shape", shape, "output",
                     (int)o->is_output);
}

static char *describe(const bench_call *c)
{
    json_t *operands = json_array();
    for (uint32_t i = 0; i < c->count; i++)
        json_array_append_new(operands, describe_operand(&c->operand[i]));
    json_t *all = json_pack("{s:s, s:b, s:i, s:o}", "statement", c->numpy, "by_rows",
                            (int)c->by_rows, "threads", bench_processors(), "operands", operands);
    char *line = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return line;
}

bool bench_numpy_call(const char *command, const bench_call *c, bench_way *way)
{
    bench_bytes bytes[BENCH_MAX_OPERANDS];
    uint32_t count = 0;
    if (c->numpy == NULL)
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const tenon_tensor *host = &c->operand[i].host;
        if (host->dtype == TENON_DTYPE_BF16)
            return false;
        if (!c->operand[i].is_output)
            bytes[count++] = (bench_bytes){host->memory.u.svm, (size_t)tenon_tensor_elements(host) *
                                                                   tenon_dtype_size(host->dtype)};
    }
    char *line = describe(c);
    const bool started = bench_program_start(command, "numpy", line, bytes, count, way);
    free(line);
    return started;
}
