/* Tests of the exchange of rows between experts, in one and in several processes: every row arrives
 * at its expert, in the order of the ranks and rows, and returns to its place. */
#include "parallel_case.h"

#include "base/dtype.h"

#include <tenon/parallel.h>

enum { MOST_MEMBERS = 4, MOST_ROWS = 40, MOST_COLUMNS = 9, ROUNDS = 2, MOST_EXPERTS = 4 };

typedef struct problem {
    group_division division;
    uint32_t members, experts;
    tenon_dtype dtype;
    int64_t rows, columns;
    int32_t chosen[ROUNDS][MOST_MEMBERS][MOST_ROWS];
    unsigned char x[ROUNDS][MOST_MEMBERS][MOST_ROWS * MOST_COLUMNS * 8]; /* random bits */
    /* Found in the last round. */
    unsigned char dispatched[MOST_MEMBERS][MOST_MEMBERS * MOST_ROWS * MOST_COLUMNS * 8];
    unsigned char collected[MOST_MEMBERS][MOST_ROWS * MOST_COLUMNS * 8];
    unsigned char blocks[MOST_MEMBERS][MOST_EXPERTS * MOST_MEMBERS * MOST_ROWS * MOST_COLUMNS * 8];
    int32_t offsets[MOST_MEMBERS][MOST_EXPERTS + 1];
} problem;

static void draw(problem *p, test_random *random)
{
    static const int64_t rows[] = {0, 1, 7, 32, MOST_ROWS};
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_I64,
                                        TENON_DTYPE_U8};
    memset(p, 0, sizeof *p);
    p->members = (uint32_t)test_between(random, 1, MOST_MEMBERS);
    p->division.processes =
        test_one_in(random, 2) ? 1 : (uint32_t)test_between(random, 1, p->members);
    p->division.has_threads = test_one_in(random, 2);
    p->experts = p->members * (uint32_t)test_between(random, 1, MOST_EXPERTS);
    p->dtype = types[test_between(random, 0, 3)];
    p->rows = rows[test_between(random, 0, 4)];
    p->columns = test_one_in(random, 6) ? 0 : test_between(random, 1, MOST_COLUMNS);
    const int64_t highest = test_one_in(random, 3) ? 0 : (int64_t)p->experts - 1;
    for (int round = 0; round < ROUNDS; round++)
        for (uint32_t m = 0; m < p->members; m++) {
            for (int64_t i = 0; i < p->rows; i++) /* sometimes all rows have one expert */
                p->chosen[round][m][i] = (int32_t)test_between(random, 0, highest);
            for (size_t i = 0; i < sizeof p->x[round][m]; i++)
                p->x[round][m][i] = (unsigned char)test_next(random);
        }
}

/* Tensors of a local member: its rows, those that it receives, those that return, and blocks. */
typedef struct tensors {
    tenon_tensor chosen[MOST_MEMBERS], x[MOST_MEMBERS], y[MOST_MEMBERS], z[MOST_MEMBERS],
        blocks[MOST_MEMBERS];
} tensors;

static tenon_status make(const group_world *w, uint32_t process, const problem *p, tensors *t)
{
    const int64_t shape[] = {p->rows, p->columns}, all[] = {p->rows * p->members, p->columns},
                  blocks[] = {p->experts / p->members, all[0], p->columns};
    tenon_status status = TENON_OK;
    for (uint32_t r = w->first[process]; r < w->first[process + 1] && status == TENON_OK; r++) {
        const uint32_t m = r - w->first[process];
        tenon_context *context = tenon_stream_context(w->streams[r]);
        status = tenon_tensor_create(context, TENON_DTYPE_I32, 1, shape, &t->chosen[m]);
        if (status == TENON_OK)
            status = tenon_tensor_create(context, p->dtype, 2, shape, &t->x[m]);
        if (status == TENON_OK)
            status = tenon_tensor_create(context, p->dtype, 2, all, &t->y[m]);
        if (status == TENON_OK)
            status = tenon_tensor_create(context, p->dtype, 2, shape, &t->z[m]);
        if (status == TENON_OK)
            status = tenon_tensor_create(context, p->dtype, 3, blocks, &t->blocks[m]);
    }
    return status;
}

static size_t bytes_of(const tenon_tensor *tensor)
{
    return (size_t)tenon_tensor_elements(tensor) * tenon_dtype_size(tensor->dtype);
}

static tenon_status upload(const group_world *w, uint32_t process, const problem *p, int round,
                           tensors *t)
{
    tenon_status status = TENON_OK;
    for (uint32_t r = w->first[process]; r < w->first[process + 1] && status == TENON_OK; r++) {
        const uint32_t m = r - w->first[process];
        status = tenon_tensor_upload(w->streams[r], p->chosen[round][r], bytes_of(&t->chosen[m]),
                                     &t->chosen[m], NULL);
        if (status == TENON_OK)
            status = tenon_tensor_upload(w->streams[r], p->x[round][r], bytes_of(&t->x[m]),
                                         &t->x[m], NULL);
    }
    return status;
}

static tenon_status download(const group_world *w, uint32_t process, problem *p,
                             const tenon_exchange *exchange, tensors *t)
{
    tenon_status status = TENON_OK;
    for (uint32_t r = w->first[process]; r < w->first[process + 1] && status == TENON_OK; r++) {
        const uint32_t m = r - w->first[process];
        const tenon_tensor *offsets = tenon_exchange_offsets(exchange, m);
        status =
            tenon_tensor_download(w->streams[r], offsets, p->offsets[r], bytes_of(offsets), NULL);
        if (status == TENON_OK)
            status = tenon_tensor_download(w->streams[r], &t->y[m], p->dispatched[r],
                                           bytes_of(&t->y[m]), NULL);
        if (status == TENON_OK)
            status = tenon_tensor_download(w->streams[r], &t->z[m], p->collected[r],
                                           bytes_of(&t->z[m]), NULL);
        if (status == TENON_OK)
            status = tenon_tensor_download(w->streams[r], &t->blocks[m], p->blocks[r],
                                           bytes_of(&t->blocks[m]), NULL);
    }
    return status;
}

static tenon_status move(group_world *w, uint32_t process, const problem *p, int round,
                         tenon_exchange *exchange, tensors *t)
{
    tenon_status status = upload(w, process, p, round, t);
    if (status == TENON_OK)
        status = tenon_exchange_route(exchange, t->chosen);
    if (status == TENON_OK)
        status = tenon_exchange_dispatch(exchange, t->x, t->y);
    if (status == TENON_OK)
        status = tenon_exchange_blocks(exchange, t->y, t->blocks);
    if (status == TENON_OK)
        status = tenon_exchange_collect(exchange, t->y, t->z);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

static tenon_status use_exchange(group_world *w, uint32_t process, void *data)
{
    problem *p = data;
    const int64_t shape[] = {p->rows, p->columns};
    const tenon_tensor rows = tenon_tensor_view(p->dtype, 2, shape);
    tensors t;
    tenon_exchange *exchange;
    memset(&t, 0, sizeof t);
    tenon_status status = make(w, process, p, &t);
    if (status == TENON_OK)
        status = tenon_exchange_create(w->groups[process], p->experts, &rows, &exchange);
    else
        exchange = NULL;
    for (int round = 0; round < ROUNDS && status == TENON_OK; round++)
        status = move(w, process, p, round, exchange, &t);
    if (status == TENON_OK)
        status = download(w, process, p, exchange, &t);
    tenon_exchange_destroy(exchange);
    for (int m = 0; m < MOST_MEMBERS; m++) {
        tenon_tensor_destroy(&t.chosen[m]);
        tenon_tensor_destroy(&t.x[m]);
        tenon_tensor_destroy(&t.y[m]);
        tenon_tensor_destroy(&t.z[m]);
        tenon_tensor_destroy(&t.blocks[m]);
    }
    return status;
}

/* Compares the blocks with the received rows of each expert, followed by zeros. */
static void assert_blocks(const problem *p, uint32_t member)
{
    static unsigned char expected[MOST_MEMBERS * MOST_ROWS * MOST_COLUMNS * 8];
    const size_t row = (size_t)p->columns * tenon_dtype_size(p->dtype),
                 block = (size_t)(p->rows * p->members) * row;
    for (uint32_t expert = 0; expert < p->experts / p->members; expert++) {
        const size_t first = (size_t)p->offsets[member][expert],
                     count = (size_t)p->offsets[member][expert + 1] - first;
        memset(expected, 0, sizeof expected);
        memcpy(expected, p->dispatched[member] + first * row, count * row);
        assert_memory_equal(p->blocks[member] + expert * block, expected, block);
    }
}

/* Compares a member's received rows and offsets with those of all members' rows for its experts. */
static void assert_received(const problem *p, uint32_t member)
{
    static unsigned char expected[MOST_MEMBERS * MOST_ROWS * MOST_COLUMNS * 8];
    const int32_t own = (int32_t)(p->experts / p->members), first = (int32_t)member * own;
    const size_t row = (size_t)p->columns * tenon_dtype_size(p->dtype);
    int32_t count = 0;
    memset(expected, 0, sizeof expected);
    for (int32_t expert = first; expert < first + own; expert++) {
        assert_int_equal(p->offsets[member][expert - first], count);
        for (uint32_t from = 0; from < p->members; from++)
            for (int64_t i = 0; i < p->rows; i++)
                if (p->chosen[ROUNDS - 1][from][i] == expert)
                    memcpy(expected + (size_t)count++ * row,
                           p->x[ROUNDS - 1][from] + (size_t)i * row, row);
    }
    assert_int_equal(p->offsets[member][own], count);
    assert_memory_equal(p->dispatched[member], expected, (size_t)(p->rows * p->members) * row);
    assert_memory_equal(p->collected[member], p->x[ROUNDS - 1][member], (size_t)p->rows * row);
}

TEST(exchanges)
{
    static problem p;
    test_random random = test_random_for(3621);
    for (int i = 0; i < test_problems(12); i++) {
        group_world w;
        group_result results[GROUP_MOST];
        draw(&p, &random);
        group_world_open(&w, p.members, &p.division);
        group_in_processes(&w, use_exchange, &p, results);
        for (uint32_t process = 0; process < w.processes; process++)
            if (results[process].status != TENON_OK)
                fail_msg("process %u: %s", (unsigned)process, results[process].message);
        group_world_close(&w);
        for (uint32_t m = 0; m < p.members; m++) {
            assert_received(&p, m);
            assert_blocks(&p, m);
        }
    }
}

static tenon_tensor tensor_of(tenon_dtype dtype, int64_t rows, int64_t columns)
{
    tenon_tensor t;
    const int64_t shape[] = {rows, columns};
    assert_ok(tenon_tensor_create(test_context, dtype, columns > 0 ? 2 : 1, shape, &t));
    return t;
}

/* More rows of blocks than i32 counts. */
TEST(too_many_blocks)
{
    const int64_t rows = 1 << 10;
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_U8, 1, &rows);
    tenon_stream *stream = test_stream;
    tenon_group *group;
    tenon_exchange *e;
    assert_ok(tenon_group_create(&stream, 1, NULL, &group));
    assert_ok(tenon_exchange_create(group, 1 << 21, &view, &e));
    tenon_tensor chosen = tensor_of(TENON_DTYPE_I32, rows, 0),
                 x = tensor_of(TENON_DTYPE_U8, rows, 0);
    assert_ok(tenon_tensor_fill(test_stream, &chosen, 5, NULL));
    assert_ok(tenon_exchange_route(e, &chosen));
    assert_invalid(tenon_exchange_blocks(e, &x, &x), "2097152 blocks of 1024 rows");
    tenon_exchange_destroy(e);
    tenon_group_destroy(group);
    tenon_tensor_destroy(&chosen);
    tenon_tensor_destroy(&x);
}

TEST(refused_calls)
{
    const int64_t many[] = {INT64_C(1) << 30, 1};
    tenon_stream *streams[2] = {test_stream, NULL};
    tenon_group *group;
    tenon_exchange *e;
    assert_ok(tenon_stream_create(test_context, NULL, &streams[1]));
    assert_ok(tenon_group_create(streams, 2, NULL, &group));
    tenon_tensor x = tensor_of(TENON_DTYPE_F32, 4, 3), y = tensor_of(TENON_DTYPE_F32, 8, 3),
                 both = tensor_of(TENON_DTYPE_F32, 16, 3), c = tensor_of(TENON_DTYPE_I32, 4, 0),
                 wide = tensor_of(TENON_DTYPE_I64, 4, 0);
    const tenon_tensor scalar = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL),
                       none = tenon_tensor_view(TENON_DTYPE_INVALID, 0, NULL),
                       huge = tenon_tensor_view(TENON_DTYPE_U8, 2, many);
    const tenon_tensor xs[] = {x, x}, ys[] = {y, y}, cs[] = {c, c}, mixed[] = {c, wide},
                       shapes[] = {x, y};
    assert_invalid(tenon_exchange_create(group, 4, &x, NULL), "out is NULL");
    assert_invalid(tenon_exchange_create(NULL, 4, &x, &e), "group is NULL");
    assert_invalid(tenon_exchange_create(group, 0, &x, &e), "experts is 0");
    assert_invalid(tenon_exchange_create(group, 3, &x, &e), "experts is 3");
    assert_invalid(tenon_exchange_create(group, UINT32_MAX - 1, &x, &e), "experts is 4294967294");
    assert_invalid(tenon_exchange_create(group, 4, NULL, &e), "rows is NULL");
    assert_invalid(tenon_exchange_create(group, 4, &none, &e), "rows");
    assert_invalid(tenon_exchange_create(group, 4, &scalar, &e), "rows has rank 0");
    assert_invalid(tenon_exchange_create(group, 4, &huge, &e), "rows has 1073741824 rows");
    assert_null(e);
    assert_ok(tenon_exchange_create(group, 4, &x, &e));
    assert_null(tenon_exchange_offsets(NULL, 0));
    assert_null(tenon_exchange_offsets(e, 2));
    assert_invalid(tenon_exchange_dispatch(e, xs, ys), "tenon_exchange_route first");
    assert_invalid(tenon_exchange_collect(e, ys, xs), "tenon_exchange_route first");
    assert_invalid(tenon_exchange_route(NULL, cs), "exchange is NULL");
    assert_invalid(tenon_exchange_route(e, NULL), "chosen is NULL");
    assert_invalid(tenon_exchange_route(e, mixed), "chosen[1] is of type i64");
    assert_ok(tenon_tensor_fill(test_stream, &c, 1, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    assert_ok(tenon_exchange_route(e, cs));
    assert_invalid(tenon_exchange_dispatch(NULL, xs, ys), "exchange is NULL");
    assert_invalid(tenon_exchange_dispatch(e, NULL, ys), "x is NULL");
    assert_invalid(tenon_exchange_dispatch(e, shapes, ys), "x[1]");
    assert_invalid(tenon_exchange_dispatch(e, xs, xs), "y[0]");
    assert_invalid(tenon_exchange_collect(NULL, ys, xs), "exchange is NULL");
    assert_invalid(tenon_exchange_collect(e, xs, xs), "x[0]");
    assert_invalid(tenon_exchange_collect(e, ys, NULL), "y is NULL");
    const int64_t two_blocks[] = {2, 8, 3}, turned[] = {8, 2, 3};
    tenon_tensor blocks,
        gaps = tenon_tensor_transpose(tenon_tensor_view(TENON_DTYPE_F32, 3, turned), 0, 1);
    assert_ok(tenon_tensor_reshape(&both, 3, two_blocks, &blocks));
    gaps.memory = both.memory;
    const tenon_tensor bs[] = {blocks, blocks}, gapped[] = {gaps, gaps};
    assert_invalid(tenon_exchange_blocks(NULL, ys, bs), "exchange is NULL");
    assert_invalid(tenon_exchange_blocks(e, NULL, bs), "x is NULL");
    assert_invalid(tenon_exchange_blocks(e, ys, NULL), "y is NULL");
    assert_invalid(tenon_exchange_blocks(e, xs, bs), "x[0] has 4 rows, must have 8");
    assert_invalid(tenon_exchange_blocks(e, &scalar, bs), "x[0]");
    assert_invalid(tenon_exchange_blocks(e, ys, ys), "y[0]");
    assert_int_equal(tenon_exchange_blocks(e, ys, gapped), TENON_ERROR_UNSUPPORTED);
    tenon_exchange_destroy(e);
    assert_ok(tenon_exchange_create(group, 4, &x, &e));
    assert_invalid(tenon_exchange_blocks(e, ys, bs), "tenon_exchange_route first");
    tenon_exchange_destroy(e);
    tenon_exchange_destroy(NULL);
    tenon_tensor *const made[] = {&x, &y, &c, &wide, &both};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(made[i]);
    tenon_group_destroy(group);
    tenon_stream_destroy(streams[1]);
}
