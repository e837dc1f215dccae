/* Tests of checkpoints: every type, layout and rank; tensors that are larger than the staging
 * buffer; slices written and read by any number of ranks, at the same time. */
#include "support.h"

#include "common/temporary.h"

#include "checkpoint/chunks.h"

#include <pthread.h>

static const tenon_dtype types[] = {
    TENON_DTYPE_F64, TENON_DTYPE_F32, TENON_DTYPE_F16,     TENON_DTYPE_BF16,    TENON_DTYPE_I8,
    TENON_DTYPE_U8,  TENON_DTYPE_I32, TENON_DTYPE_F8_E4M3, TENON_DTYPE_F8_E5M2, TENON_DTYPE_I64,
    TENON_DTYPE_I16, TENON_DTYPE_U16, TENON_DTYPE_U32,     TENON_DTYPE_BOOL};
enum { TYPES = sizeof types / sizeof *types, RANKS = 4 };

/* Returns the address of an element, by its row-major number, in the image. */
static void *at(const test_tensor *t, int64_t number)
{
    int64_t place = 0;
    for (uint32_t d = t->view.rank; d-- > 0; number /= t->view.shape[d])
        place += number % t->view.shape[d] * t->view.stride[d];
    return t->image + t->view.offset + (size_t)place * tenon_dtype_size(t->view.dtype);
}

static void set_elements(test_tensor *t, const unsigned char *bytes)
{
    const size_t size = tenon_dtype_size(t->view.dtype);
    const int64_t count = tenon_tensor_elements(&t->view);
    for (int64_t i = 0; i < count; i++)
        memcpy(at(t, i), bytes + (size_t)i * size, size);
}

static void make(test_tensor *t, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                 test_layout layout)
{
    int64_t stride[TENON_MAX_RANK];
    test_strides(layout, layout == TEST_STRIDED, rank, shape, stride);
    test_tensor_create(t, dtype, rank, shape, stride, 3);
}

static unsigned char *random_bytes(test_random *random, size_t count)
{
    unsigned char *bytes = malloc(count + 8);
    assert_non_null(bytes);
    for (size_t i = 0; i < count; i += 8) {
        const uint64_t word = test_next(random);
        memcpy(bytes + i, &word, 8);
    }
    return bytes;
}

static tenon_checkpoint *open_file(const char *path)
{
    tenon_checkpoint *checkpoint;
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    return checkpoint;
}

/* Saves random bits from a tensor of one layout, loads them to one of another, and compares the
 * whole memory, gaps and guard zones included. */
static void check_round_trip(const char *path, tenon_dtype dtype, uint32_t rank,
                             const int64_t *shape, int from_layout, int to_layout,
                             test_random *random)
{
    test_tensor from, to;
    make(&from, dtype, rank, shape, (test_layout)from_layout);
    make(&to, dtype, rank, shape, (test_layout)to_layout);
    unsigned char *bytes =
        random_bytes(random, (size_t)tenon_tensor_elements(&from.view) * tenon_dtype_size(dtype));
    set_elements(&from, bytes);
    test_upload(&from);
    test_upload(&to);
    const tenon_named_tensor source = {"w", from.view}, target = {"w", to.view};
    assert_ok(tenon_checkpoint_save(test_stream, path, &source, 1, NULL, 0));
    assert_untouched(&from);
    tenon_checkpoint *checkpoint = open_file(path);
    assert_ok(tenon_checkpoint_load(test_stream, checkpoint, &target, 1));
    tenon_checkpoint_close(checkpoint);
    set_elements(&to, bytes);
    if (!test_untouched(&to))
        fail_msg("%s, rank %u, %s to %s", tenon_dtype_string(dtype), rank,
                 test_layout_string((test_layout)from_layout),
                 test_layout_string((test_layout)to_layout));
    free(bytes);
    test_tensor_destroy(&from);
    test_tensor_destroy(&to);
}

TEST(every_type_layout_and_rank)
{
    test_random random = test_random_for(3110);
    char *folder = temporary_make();
    for (int t = 0; t < TYPES; t++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++) {
            int64_t shape[TENON_MAX_RANK];
            const uint32_t rank = (uint32_t)test_between(&random, 0, TENON_MAX_RANK);
            for (uint32_t d = 0; d < rank; d++)
                shape[d] = test_one_in(&random, 12) ? 0 : test_between(&random, 1, 4);
            const int other = (int)test_between(&random, 0, TEST_LAYOUTS - 1);
            check_round_trip(temporary_path(folder, "f"), types[t], rank, shape, layout, other,
                             &random);
        }
    temporary_remove(folder);
}

/* 9 MiB: three staging buffers. Rows of 5 MiB are divided as well. */
TEST(tensors_larger_than_the_staging_buffer)
{
    test_random random = test_random_for(3111);
    static const int64_t shapes[][3] = {{3, 3, 262147}, {2359297, 1, 1}, {1, 2, 1310725}};
    char *folder = temporary_make();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_round_trip(temporary_path(folder, "f"), TENON_DTYPE_F32, 3, shapes[i],
                         i == 0 ? TEST_COL : TEST_ROW, i == 0 ? TEST_PITCH : TEST_STRIDED, &random);
    temporary_remove(folder);
}

/* Counts the bytes of chunks, none of which is larger than the staging buffer. */
static tenon_status count_chunk(void *user, void *buffer, uint64_t first, size_t size)
{
    uint64_t *count = user;
    assert_non_null(buffer);
    assert_true(size > 0 && size <= TENON_CHECKPOINT_STAGING);
    assert_true(first == *count);
    *count += size;
    return TENON_OK;
}

TEST(chunks_fit_the_staging_buffer)
{
    static const int64_t shapes[][3] = {
        {3, 3, 262147}, {2359297, 1, 1}, {1, 1, 2359297}, {1, 2, 1310725}, {1048576, 1, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int layout = 0; layout < 2; layout++) {
            tenon_tensor whole = test_dense(TENON_DTYPE_F32, 3, shapes[i], NULL);
            const tenon_tensor t = layout == 0 ? whole : tenon_tensor_transpose(whole, 0, 2);
            uint64_t count = 0;
            assert_ok(tn_chunks_download("test", test_stream, &t, count_chunk, &count));
            assert_true(count == (uint64_t)tenon_tensor_elements(&t) * 4);
            tenon_tensor_destroy(&whole);
        }
}

TEST(scalars_and_empty_tensors)
{
    test_random random = test_random_for(3112);
    static const int64_t none[] = {0, 3}, inner[] = {3, 0};
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    check_round_trip(path, TENON_DTYPE_F32, 0, none, TEST_ROW, TEST_ROW, &random);
    check_round_trip(path, TENON_DTYPE_F32, 2, none, TEST_ROW, TEST_ROW, &random);
    check_round_trip(path, TENON_DTYPE_F32, 2, inner, TEST_ROW, TEST_ROW, &random);
    temporary_remove(folder);
}

/* The bytes of the format, as in its description. */
TEST(a_file_has_these_bytes)
{
    static const char header[] =
        "{\"__metadata__\":{\"step\":\"7\"},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
        "\"a\":{\"dtype\":\"I16\",\"shape\":[1,3],\"data_offsets\":[8,14]}}";
    const int64_t a_shape[] = {1, 3}, b_shape[] = {2};
    const int16_t a_data[] = {1, -2, 3};
    const float b_data[] = {1.0f, -2.5f};
    tenon_tensor a = test_dense(TENON_DTYPE_I16, 2, a_shape, a_data),
                 b = test_dense(TENON_DTYPE_F32, 1, b_shape, b_data);
    const tenon_named_tensor tensors[] = {{"a", a}, {"b", b}};
    const tenon_named_text step = {"step", "7"};
    char *folder = temporary_make(), padded[256];
    const char *path = temporary_path(folder, "f");
    assert_ok(tenon_checkpoint_save(test_stream, path, tensors, 2, &step, 1));
    size_t size;
    unsigned char *bytes = temporary_read(path, &size);
    const size_t length = (sizeof header - 1 + 7) / 8 * 8;
    snprintf(padded, sizeof padded, "%-*s", (int)length, header);
    assert_int_equal(size, 8 + length + 14);
    assert_memory_equal(bytes, ((unsigned char[]){(unsigned char)length, 0, 0, 0, 0, 0, 0, 0}), 8);
    assert_memory_equal(bytes + 8, padded, length);
    assert_memory_equal(bytes + 8 + length,
                        "\x00\x00\x80\x3f\x00\x00\x20\xc0\x01\x00\xfe\xff\x03\x00", 14);
    free(bytes);
    temporary_remove(folder);
    test_destroy(&a, &b);
}

/* Divides `size` entries among ranks: returns the first entry of a rank. */
static int64_t first_of(int64_t size, int rank, int ranks)
{
    return size * rank / ranks;
}

/* The work of one rank, in a thread. */
typedef struct rank_work {
    tenon_checkpoint_writer *writer;
    const tenon_checkpoint *checkpoint;
    tenon_stream *stream;
    tenon_tensor part;
    int64_t start;
    tenon_status status;
} rank_work;

static void *write_part(void *data)
{
    rank_work *w = data;
    w->status = tenon_checkpoint_writer_write(w->stream, w->writer, "w", w->start, &w->part);
    return NULL;
}

static void *read_part(void *data)
{
    rank_work *w = data;
    w->status = tenon_checkpoint_read(w->stream, w->checkpoint, "w", w->start, &w->part);
    return NULL;
}

/* Passes the parts of a tensor in as many threads as there are ranks. */
static void pass_parts(const tenon_tensor *whole, int ranks, tenon_checkpoint_writer *writer,
                       const tenon_checkpoint *checkpoint)
{
    rank_work work[RANKS];
    pthread_t threads[RANKS];
    for (int r = 0; r < ranks; r++) {
        const int64_t first = first_of(whole->shape[0], r, ranks),
                      end = first_of(whole->shape[0], r + 1, ranks);
        work[r] = (rank_work){writer,
                              checkpoint,
                              test_new_stream(test_context),
                              tenon_tensor_slice(*whole, 0, first, end - first),
                              first,
                              TENON_OK};
        assert_int_equal(
            pthread_create(&threads[r], NULL, writer != NULL ? write_part : read_part, &work[r]),
            0);
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
        assert_int_equal(work[r].status, TENON_OK);
        tenon_stream_destroy(work[r].stream);
    }
}

/* Every number of ranks writes the file, and every number reads it. */
TEST(any_number_of_ranks_writes_and_reads)
{
    test_random random = test_random_for(3113);
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    for (int writers = 1; writers <= RANKS; writers++)
        for (int readers = 1; readers <= RANKS; readers++) {
            const int64_t shape[] = {test_between(&random, 1, 9), test_between(&random, 1, 300)};
            test_tensor from, to;
            tenon_checkpoint_writer *writer;
            make(&from, TENON_DTYPE_F16, 2, shape, (test_layout)(writers % TEST_LAYOUTS));
            make(&to, TENON_DTYPE_F16, 2, shape, (test_layout)(readers % TEST_LAYOUTS));
            unsigned char *bytes = random_bytes(&random, (size_t)(shape[0] * shape[1] * 2));
            set_elements(&from, bytes);
            test_upload(&from);
            test_upload(&to);
            const tenon_named_tensor list = {"w", from.view};
            assert_ok(tenon_checkpoint_writer_create(path, &list, 1, NULL, 0, &writer));
            pass_parts(&from.view, writers, writer, NULL);
            assert_ok(tenon_checkpoint_writer_commit(writer));
            tenon_checkpoint_writer_destroy(writer);
            tenon_checkpoint *checkpoint = open_file(path);
            pass_parts(&to.view, readers, NULL, checkpoint);
            tenon_checkpoint_close(checkpoint);
            set_elements(&to, bytes);
            assert_untouched(&to);
            free(bytes);
            test_tensor_destroy(&from);
            test_tensor_destroy(&to);
        }
    temporary_remove(folder);
}

/* Slices in random order, each of which is refused a second time. */
TEST(slices_in_any_order_once_each)
{
    test_random random = test_random_for(3114);
    enum { ENTRIES = 24 };
    const int64_t shape[] = {ENTRIES, 2};
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    unsigned char *bytes = random_bytes(&random, ENTRIES * 8);
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, shape, bytes);
    const tenon_named_tensor list = {"w", t};
    for (int run = 0; run < 20; run++) {
        bool is_written[ENTRIES] = {false};
        tenon_checkpoint_writer *writer;
        assert_ok(tenon_checkpoint_writer_create(path, &list, 1, NULL, 0, &writer));
        for (int missing = ENTRIES; missing > 0;) {
            const int64_t start = test_between(&random, 0, ENTRIES - 1),
                          size =
                              test_between(&random, 0, ENTRIES - start < 5 ? ENTRIES - start : 5);
            const tenon_tensor part = tenon_tensor_slice(t, 0, start, size);
            int fresh = 0;
            for (int64_t i = start; i < start + size; i++)
                fresh += !is_written[i];
            const tenon_status status =
                tenon_checkpoint_writer_write(test_stream, writer, "w", start, &part);
            assert_int_equal(status, fresh == size ? TENON_OK : TENON_ERROR_INVALID_ARGUMENT);
            for (int64_t i = start; status == TENON_OK && i < start + size; i++)
                is_written[i] = true;
            missing -= status == TENON_OK ? fresh : 0;
            const tenon_status committed =
                missing > 0 ? tenon_checkpoint_writer_commit(writer) : TENON_ERROR_INVALID_ARGUMENT;
            assert_int_equal(committed, TENON_ERROR_INVALID_ARGUMENT);
            if (missing > 0 && !is_written[0])
                assert_contains(tenon_last_error(), "entries 0 to ");
        }
        assert_ok(tenon_checkpoint_writer_commit(writer));
        tenon_checkpoint_writer_destroy(writer);
        size_t size;
        unsigned char *file = temporary_read(path, &size);
        assert_memory_equal(file + size - ENTRIES * 8, bytes, ENTRIES * 8);
        free(file);
    }
    free(bytes);
    temporary_remove(folder);
    test_destroy(&t);
}

/* Saves that overlap leave one of the files, whole. */
typedef struct saver {
    const char *path;
    tenon_stream *stream;
    tenon_named_tensor list;
    tenon_status status;
} saver;

static void *save_often(void *data)
{
    saver *s = data;
    for (int i = 0; i < 10 && s->status == TENON_OK; i++)
        s->status = tenon_checkpoint_save(s->stream, s->path, &s->list, 1, NULL, 0);
    return NULL;
}

TEST(savers_of_one_file_do_not_mix)
{
    const int64_t shape[] = {3, 10007};
    char *folder = temporary_make();
    saver savers[RANKS];
    pthread_t threads[RANKS];
    const char *path = temporary_path(folder, "f");
    for (int i = 0; i < RANKS; i++) {
        savers[i] = (saver){path,
                            test_new_stream(test_context),
                            {"w", test_dense(TENON_DTYPE_U8, 2, shape, NULL)},
                            TENON_OK};
        assert_ok(tenon_tensor_fill(test_stream, &savers[i].list.tensor, i + 1, NULL));
    }
    assert_ok(tenon_stream_finish(test_stream));
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_often, &savers[i]), 0);
    for (int i = 0; i < RANKS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(savers[i].status, TENON_OK);
        tenon_stream_destroy(savers[i].stream);
    }
    size_t size;
    unsigned char *file = temporary_read(path, &size), *data = file + size - shape[0] * shape[1];
    for (int64_t i = 1; i < shape[0] * shape[1]; i++)
        assert_int_equal(data[i], data[0]);
    assert_true(data[0] >= 1 && data[0] <= RANKS);
    assert_int_equal(temporary_count(folder, "f"), 1);
    free(file);
    for (int i = 0; i < RANKS; i++)
        tenon_tensor_destroy(&savers[i].list.tensor);
    temporary_remove(folder);
}
