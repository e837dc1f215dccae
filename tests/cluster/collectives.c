/* Tests every collective, type and combination between processes: results are compared with double
 * precision and, bit by bit, with a group in one process and with the other processes.
 *
 *     collectives SEED PROBLEMS
 */
#include "values.h"

enum { MOST = 16, CHUNK = 4096 };

typedef enum kind {
    ALL_REDUCE,
    MANY,
    REDUCE,
    REDUCE_SCATTER,
    ALL_GATHER,
    BROADCAST,
    ALL_TO_ALL,
    PAIR,
    KINDS
} kind;

static const char *const kind_names[KINDS] = {"all_reduce",     "all_reduce_many", "reduce",
                                              "reduce_scatter", "all_gather",      "broadcast",
                                              "all_to_all",     "send and receive"};

typedef struct problem {
    kind kind;
    tenon_dtype dtype;
    tenon_group_kind combination;
    int64_t length; /* of an input */
    uint32_t root, to;
    uint64_t seed;
} problem;

/* The members of a group that are in this process, with a tensor each. */
typedef struct side {
    tenon_group *group;
    tenon_stream *streams[MOST];
    uint32_t first, count, size;
    tenon_tensor x[2 * MOST], y[2 * MOST];
} side;

static int64_t output_length(const problem *p, uint32_t size)
{
    return p->kind == ALL_GATHER       ? p->length * size
           : p->kind == REDUCE_SCATTER ? p->length / size
                                       : p->length;
}

static bool has_output(const problem *p, uint32_t rank)
{
    return p->kind == REDUCE ? rank == p->root : p->kind == PAIR ? rank == p->to : true;
}

/* Which element of which input an element of an output is; for combinations the index alone. */
static int64_t source(const problem *p, uint32_t size, uint32_t rank, int64_t i, uint32_t *from)
{
    const int64_t part = p->kind == ALL_GATHER ? p->length : p->length / size;
    *from = p->root;
    if (p->kind == REDUCE_SCATTER)
        return rank * part + i;
    if (p->kind == ALL_GATHER || p->kind == ALL_TO_ALL) {
        *from = (uint32_t)(i / part);
        return i % part + (p->kind == ALL_TO_ALL ? rank * part : 0);
    }
    return i;
}

static bool combines(kind k)
{
    return k == ALL_REDUCE || k == MANY || k == REDUCE || k == REDUCE_SCATTER;
}

static void check_element(const problem *p, uint32_t size, uint32_t rank, int64_t i,
                          const unsigned char *got)
{
    uint32_t from;
    const int64_t at = source(p, size, rank, i, &from);
    unsigned char inputs[MOST][8];
    for (uint32_t r = 0; r < size; r++)
        make_element(p->dtype, p->seed, r, at, inputs[r]);
    if (!combines(p->kind)) {
        CLUSTER_CHECK(memcmp(got, inputs[from], tenon_dtype_size(p->dtype)) == 0,
                      "%s: element %lld of rank %u is wrong", kind_names[p->kind], (long long)i,
                      (unsigned)rank);
        return;
    }
    const char *wrong = check_combination(p->dtype, p->combination, size, inputs, got);
    CLUSTER_CHECK(wrong == NULL, "%s of %s, combination %d: element %lld of rank %u: %s",
                  kind_names[p->kind], tenon_dtype_string(p->dtype), (int)p->combination,
                  (long long)i, (unsigned)rank, wrong);
}

static void create(side *s, const problem *p)
{
    const size_t width = tenon_dtype_size(p->dtype);
    unsigned char *bytes = malloc((size_t)p->length * width + 8);
    const int64_t out = output_length(p, s->size);
    CLUSTER_CHECK(bytes != NULL, "no memory");
    for (uint32_t m = 0; m < s->count; m++) {
        tenon_context *context = tenon_stream_context(s->streams[m]);
        for (int64_t i = 0; i < p->length; i++)
            make_element(p->dtype, p->seed, s->first + m, i, bytes + (size_t)i * width);
        CLUSTER_OK(tenon_tensor_create(context, p->dtype, 1, &p->length, &s->x[m]));
        CLUSTER_OK(tenon_tensor_create(context, p->dtype, 1, &out, &s->y[m]));
        CLUSTER_OK(
            tenon_tensor_upload(s->streams[m], bytes, (size_t)p->length * width, &s->x[m], NULL));
    }
    free(bytes);
}

/* The tensors of a bucket: three parts of each member's tensor. */
static tenon_status all_reduce_many(side *s, const problem *p)
{
    tenon_tensor x[3 * MOST], y[3 * MOST];
    const int64_t starts[] = {0, p->length / 3, p->length / 3, p->length};
    for (uint32_t m = 0; m < s->count; m++)
        for (int i = 0; i < 3; i++) {
            const int64_t count = starts[i + 1] - starts[i];
            x[m * 3 + i] = tenon_tensor_slice(s->x[m], 0, starts[i], count);
            y[m * 3 + i] = tenon_tensor_slice(s->y[m], 0, starts[i], count);
        }
    return tenon_group_all_reduce_many(s->group, p->combination, 3, x, y, NULL);
}

/* Sends and receives are calls of the members that take part. */
static tenon_status send_and_receive(side *s, const problem *p)
{
    tenon_status status = TENON_OK;
    if (p->root - s->first < s->count)
        status = tenon_group_send(s->group, p->root, p->to, &s->x[p->root - s->first], NULL);
    if (status == TENON_OK && p->to - s->first < s->count)
        status = tenon_group_receive(s->group, p->root, p->to, &s->y[p->to - s->first], NULL);
    return status;
}

static tenon_status call(side *s, const problem *p)
{
    const uint32_t local = p->root - s->first < s->count ? p->root - s->first : 0;
    switch (p->kind) {
    case ALL_REDUCE:
        return tenon_group_all_reduce(s->group, p->combination, s->x, s->y, NULL);
    case MANY:
        return all_reduce_many(s, p);
    case REDUCE:
        return tenon_group_reduce(s->group, p->combination, p->root, s->x, &s->y[local], NULL);
    case REDUCE_SCATTER:
        return tenon_group_reduce_scatter(s->group, p->combination, s->x, s->y, NULL);
    case ALL_GATHER:
        return tenon_group_all_gather(s->group, s->x, s->y, NULL);
    case BROADCAST:
        return tenon_group_broadcast(s->group, p->root, &s->x[local], s->y, NULL);
    case ALL_TO_ALL:
        return tenon_group_all_to_all(s->group, s->x, s->y, NULL);
    default:
        return send_and_receive(s, p);
    }
}

static void download(side *s, uint32_t m, unsigned char *bytes, size_t size)
{
    CLUSTER_OK(tenon_tensor_download(s->streams[m], &s->y[m], bytes, size, NULL));
}

/* Compares a member's output with that of the group in one process, and with double precision. */
static void compare(side *s, side *whole, const problem *p, uint32_t m)
{
    const uint32_t rank = s->first + m;
    const int64_t length = output_length(p, s->size);
    const size_t width = tenon_dtype_size(p->dtype), size = (size_t)length * width;
    unsigned char *got = malloc(size + 1), *expected = malloc(size + 1);
    CLUSTER_CHECK(got != NULL && expected != NULL, "no memory");
    download(s, m, got, size);
    download(whole, rank, expected, size);
    CLUSTER_CHECK(memcmp(got, expected, size) == 0,
                  "%s of %s, combination %d, %lld elements, seed %llu: the bits of rank %u differ "
                  "from those in one process",
                  kind_names[p->kind], tenon_dtype_string(p->dtype), (int)p->combination,
                  (long long)p->length, (unsigned long long)p->seed, (unsigned)rank);
    for (int64_t i = 0; i < length; i++)
        check_element(p, s->size, rank, i, got + (size_t)i * width);
    free(got);
    free(expected);
}

static void destroy(side *s)
{
    for (uint32_t m = 0; m < s->count; m++) {
        tenon_tensor_destroy(&s->x[m]);
        tenon_tensor_destroy(&s->y[m]);
    }
}

static void run(side *s, side *whole, const problem *p)
{
    create(s, p);
    create(whole, p);
    CLUSTER_OK(call(s, p));
    CLUSTER_OK(tenon_group_wait(s->group));
    CLUSTER_OK(call(whole, p));
    CLUSTER_OK(tenon_group_wait(whole->group));
    for (uint32_t m = 0; m < s->count; m++)
        if (has_output(p, s->first + m))
            compare(s, whole, p, m);
    destroy(s);
    destroy(whole);
}

static problem random_problem(uint64_t *seed, uint32_t size, uint32_t has_f64)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_BF16, TENON_DTYPE_F16,
                                        TENON_DTYPE_I32, TENON_DTYPE_I64,  TENON_DTYPE_F64};
    problem p = {.kind = (kind)(cluster_next(seed) % KINDS)};
    p.dtype = types[cluster_next(seed) % (has_f64 ? 6 : 5)];
    const int64_t chunk = CHUNK / (int64_t)tenon_dtype_size(p.dtype);
    const int64_t lengths[] = {0, 1, 7, 1001, chunk - 1, chunk, chunk + 1, 20011};
    const bool is_integer = p.dtype == TENON_DTYPE_I32 || p.dtype == TENON_DTYPE_I64;
    p.combination = (tenon_group_kind)(cluster_next(seed) % 5);
    if (is_integer && p.combination == TENON_GROUP_MEAN)
        p.combination = TENON_GROUP_SUM;
    p.length = lengths[cluster_next(seed) % 8];
    if (p.kind == REDUCE_SCATTER || p.kind == ALL_TO_ALL)
        p.length *= size;
    p.root = (uint32_t)(cluster_next(seed) % size);
    p.to = (uint32_t)(cluster_next(seed) % size);
    p.seed = cluster_next(seed);
    return p;
}

/* Calls of different shapes, types and functions fail in every process, and the group continues. */
static void mismatch(side *s, const problem *like)
{
    if (s->size == s->count)
        return;
    for (int i = 0; i < 3; i++) {
        problem p = *like;
        tenon_status status;
        p.kind = i == 2 && s->first == 0 ? ALL_GATHER : ALL_REDUCE;
        p.combination = TENON_GROUP_SUM;
        p.dtype = i == 1 && s->first == 0 ? TENON_DTYPE_I32 : TENON_DTYPE_F32;
        p.length = i == 0 && s->first == 0 ? 1000 : 1001;
        create(s, &p);
        CLUSTER_OK(call(s, &p));
        status = tenon_group_wait(s->group);
        CLUSTER_CHECK(status == TENON_ERROR_MISMATCH, "different calls: %s: %s",
                      tenon_status_string(status), tenon_last_error());
        CLUSTER_CHECK(strstr(tenon_last_error(), "rank") != NULL, "no rank: %s",
                      tenon_last_error());
        destroy(s);
    }
}

/* Opens a group of all processes, or, without a transport, of `size` members in this one. */
static void open_side(side *s, tenon_context *context, uint32_t count,
                      const tenon_transport *transport)
{
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    memset(s, 0, sizeof *s);
    params.transport = transport;
    params.deadline_s = 300;
    params.chunk_bytes = CHUNK;
    for (uint32_t m = 0; m < count; m++)
        CLUSTER_OK(tenon_stream_create(context, NULL, &s->streams[m]));
    CLUSTER_OK(tenon_group_create(s->streams, count, &params, &s->group));
    s->first = tenon_group_first_rank(s->group);
    s->count = tenon_group_local_count(s->group);
    s->size = tenon_group_size(s->group);
}

static void close_side(side *s)
{
    tenon_group_destroy(s->group);
    for (uint32_t m = 0; m < s->count; m++)
        tenon_stream_destroy(s->streams[m]);
}

int main(int argc, char **argv)
{
    tenon_context *context;
    tenon_transport transport;
    uint32_t has_f64 = 0;
    side s, whole;
    cluster_open(&argc, &argv);
    CLUSTER_CHECK(argc == 3, "2 arguments are needed");
    uint64_t seed = strtoull(argv[1], NULL, 10);
    const int problems = atoi(argv[2]);
    CLUSTER_OK(tenon_context_create(NULL, &context));
    CLUSTER_OK(tenon_context_capability(context, TENON_CAPABILITY_F64, &has_f64, NULL, 0));
    CLUSTER_OK(tenon_mpi_transport(MPI_COMM_WORLD, &transport));
    open_side(&s, context, seed % 2 == 0 ? 1 : 1 + (uint32_t)cluster_rank % 2, &transport);
    open_side(&whole, context, s.size, NULL);
    problem p = {0};
    for (int i = 0; i < problems; i++) {
        p = random_problem(&seed, s.size, has_f64);
        run(&s, &whole, &p);
        if (i % 10 == 5)
            mismatch(&s, &p);
    }
    CLUSTER_OK(tenon_group_barrier(s.group, NULL));
    close_side(&whole);
    close_side(&s);
    tenon_context_release(context);
    MPI_Finalize();
    printf("rank %d: %d problems passed\n", cluster_rank, problems);
    return 0;
}
