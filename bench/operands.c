#include "operands.h"

#include "base/dtype.h"

#include <stdlib.h>
#include <string.h>

/* Size of a set of copies that exceeds the last-level cache of any likely machine. */
#define BEYOND_CACHE (256.0 * 1024 * 1024)

void bench_operand_add(bench_operands *operands, tenon_dtype dtype, uint32_t rank,
                       const int64_t *shape, bool is_output)
{
    bench_operand *o = &operands->operand[operands->count++];
    o->view = tenon_tensor_view(dtype, rank, shape);
    o->is_output = is_output;
}

void bench_operand_add_absent(bench_operands *operands)
{
    operands->operand[operands->count++].view.dtype = TENON_DTYPE_INVALID;
}

static uint64_t bytes_of(const bench_operand *o)
{
    if (o->view.dtype == TENON_DTYPE_INVALID)
        return 0;
    return (uint64_t)tenon_tensor_elements(&o->view) * tenon_dtype_size(o->view.dtype);
}

double bench_operands_bytes(const bench_operands *operands)
{
    double bytes = 0;
    for (uint32_t i = 0; i < operands->count; i++)
        bytes += (double)bytes_of(&operands->operand[i]);
    return bytes;
}

/* Stores a value in [-1, 1], or in the full range of an integer type, as the type represents it. */
static float put(tenon_dtype dtype, unsigned char *element, double value)
{
    if (dtype == TENON_DTYPE_F32) { /* the most common type, handled without tn_dtype_store */
        float narrow = (float)value;
        memcpy(element, &narrow, sizeof narrow);
        return narrow;
    }
    tn_dtype_store(dtype, element, dtype == TENON_DTYPE_I8 ? 127 * value : value);
    return (float)tn_dtype_load(dtype, element);
}

/* Period of the values: a prime, so that no two rows of a matrix are equal. */
#define PERIOD ((int64_t)1048573)

static void fill(bench_operand *o, void *data, float *values)
{
    const int64_t count = tenon_tensor_elements(&o->view);
    static uint64_t seed = 1; /* Knuth's MMIX generator: the same numbers in every run */
    size_t size = tenon_dtype_size(o->view.dtype);
    for (int64_t i = 0; i < count && i < PERIOD; i++) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        values[i] = put(o->view.dtype, (unsigned char *)data + (size_t)i * size,
                        (double)(int64_t)seed / 9223372036854775808.0);
    }
    for (int64_t i = PERIOD; i < count; i += PERIOD) {
        const size_t more = (size_t)(count - i < PERIOD ? count - i : PERIOD);
        memcpy((unsigned char *)data + (size_t)i * size, data, more * size);
        memcpy(values + i, values, more * sizeof *values);
    }
}

/* Allocates floats aligned to cache lines, as peers prefer. */
static float *floats(int64_t count)
{
    return aligned_alloc(64, ((size_t)count * sizeof(float) / 64 + 1) * 64);
}

/* Makes one copy of an operand on host and device. */
static bool create(bench_session *session, bench_operand *o, int copy, tenon_memory *memory)
{
    const size_t bytes = (size_t)bytes_of(o);
    void *data = malloc(bytes + 1);
    o->values[copy] = floats(tenon_tensor_elements(&o->view));
    bool well = data != NULL && o->values[copy] != NULL &&
                BENCH_WELL(tenon_memory_create(session->context, bytes, memory));
    if (well) {
        fill(o, data, o->values[copy]);
        tenon_tensor device = o->view;
        device.memory = *memory;
        well = BENCH_WELL(tenon_tensor_upload(session->stream, data, bytes, &device, NULL));
    }
    if (well && copy == 0 && !o->is_output) {
        o->host = o->view;
        o->host.memory.kind = TENON_MEMORY_SVM;
        o->host.memory.u.svm = data;
        return true;
    }
    free(data);
    return well;
}

bool bench_operands_create(bench_session *session, bench_operands *operands, bool beyond_cache)
{
    double bytes = bench_operands_bytes(operands);
    operands->copies = 1;
    if (session->stream == NULL) /* of predict: nothing is computed */
        return true;
    while (beyond_cache && operands->copies < BENCH_MAX_COPIES &&
           operands->copies * bytes < BEYOND_CACHE)
        operands->copies++;
    for (int c = 0; c < operands->copies; c++)
        for (uint32_t i = 0; i < operands->count; i++)
            if (operands->operand[i].view.dtype != TENON_DTYPE_INVALID &&
                !create(session, &operands->operand[i], c, &operands->memory[c][i]))
                return false;
    return true;
}

void bench_operands_destroy(bench_operands *operands)
{
    for (uint32_t i = 0; i < operands->count; i++) {
        free(operands->operand[i].host.memory.u.svm);
        for (int c = 0; c < operands->copies; c++) {
            free(operands->operand[i].values[c]);
            tenon_memory_destroy(&operands->memory[c][i]);
        }
    }
}

void *bench_output(tenon_stream *stream, const bench_operands *operands, uint32_t number)
{
    const bench_operand *o = &operands->operand[number];
    size_t bytes = (size_t)bytes_of(o);
    tenon_tensor device = o->view;
    void *data = malloc(bytes + 1);
    device.memory = operands->memory[0][number];
    if (data != NULL && BENCH_WELL(tenon_tensor_download(stream, &device, data, bytes, NULL)))
        return data;
    free(data);
    return NULL;
}
