/* Tests of checkpoints: calls that are refused, files that change, and disks that are full. */
#include "support.h"

#include "common/temporary.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

static tenon_checkpoint *open_file(const char *path)
{
    tenon_checkpoint *checkpoint;
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    return checkpoint;
}

static const int64_t small_shape[] = {4, 2};

TEST(invalid_writes_are_refused)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_checkpoint_writer *writer;
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, small_shape, NULL),
                 i = test_dense(TENON_DTYPE_I32, 2, small_shape, NULL);
    const tenon_tensor column = tenon_tensor_slice(t, 1, 0, 1),
                       scalar = tenon_tensor_squeeze(
                           tenon_tensor_squeeze(tenon_tensor_slice(column, 0, 0, 1), 1), 0),
                       view = tenon_tensor_view(TENON_DTYPE_F32, 2, small_shape);
    const tenon_named_tensor list = {"w", t}, bare = {"w", view};
    assert_ok(tenon_checkpoint_writer_create(path, &bare, 1, NULL, 0, &writer));
    assert_invalid(tenon_checkpoint_writer_write(NULL, writer, "w", 0, &t), "stream");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, NULL, "w", 0, &t), "writer");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, NULL, 0, &t), "name");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, NULL), "tensor");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &view), "tensor");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "v", 0, &t), "\"v\"");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", -1, &t),
                   "from entry -1");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 1, &t), "from entry 1");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", INT64_MAX, &t), "\"w\"");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &i),
                   "slice is i32 4x2");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &column),
                   "slice is f32 4x1");
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &scalar),
                   "slice is f32 scalar");
    assert_ok(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &t));
    assert_ok(tenon_checkpoint_writer_commit(writer));
    assert_invalid(tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &t), "finished");
    tenon_checkpoint_writer_destroy(writer);
    assert_invalid(tenon_checkpoint_save(NULL, path, &list, 1, NULL, 0), "stream");
    assert_invalid(tenon_checkpoint_save(test_stream, NULL, &list, 1, NULL, 0), "path");
    assert_invalid(tenon_checkpoint_save(test_stream, path, NULL, 1, NULL, 0), "tensors");
    assert_invalid(tenon_checkpoint_save(test_stream, path, &bare, 1, NULL, 0), "tensor");
    assert_int_equal(temporary_count(folder, "f"), 1);
    temporary_remove(folder);
    test_destroy(&t, &i);
}

TEST(invalid_reads_are_refused)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    test_tensor target;
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, small_shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &t, 1, NULL));
    const tenon_named_tensor list = {"w", t};
    assert_ok(tenon_checkpoint_save(test_stream, path, &list, 1, NULL, 0));
    tenon_checkpoint *checkpoint = open_file(path);
    int64_t stride[TENON_MAX_RANK];
    test_strides(TEST_ROW, false, 2, small_shape, stride);
    test_tensor_create(&target, TENON_DTYPE_F32, 2, small_shape, stride, 3);
    test_upload(&target);
    tenon_tensor overlapping = target.view, flat = target.view, integers = target.view;
    overlapping.stride[0] = 0;
    flat.rank = 1;
    integers.dtype = TENON_DTYPE_I32;
    const tenon_tensor narrow = tenon_tensor_slice(target.view, 1, 0, 1);
    assert_invalid(tenon_checkpoint_read(NULL, checkpoint, "w", 0, &target.view), "stream");
    assert_invalid(tenon_checkpoint_read(test_stream, NULL, "w", 0, &target.view), "checkpoint");
    assert_invalid(tenon_checkpoint_read(test_stream, checkpoint, NULL, 0, &target.view), "name");
    assert_invalid(tenon_checkpoint_read(test_stream, checkpoint, "w", 0, NULL), "tensor");
    assert_invalid(tenon_checkpoint_read(test_stream, checkpoint, "w", 0, &overlapping), "tensor");
    assert_invalid(tenon_checkpoint_read(test_stream, checkpoint, "w", 1, &target.view),
                   "4 from 1 on");
    assert_invalid(tenon_checkpoint_read(test_stream, checkpoint, "w", -1, &target.view),
                   "4 from -1 on");
    assert_refused(tenon_checkpoint_read(test_stream, checkpoint, "v", 0, &target.view),
                   TENON_ERROR_FILE, "tenon_checkpoint_read", "\"v\"");
    assert_refused(tenon_checkpoint_read(test_stream, checkpoint, "w", 0, &flat), TENON_ERROR_FILE,
                   "tenon_checkpoint_read", "\"w\" is f32 4, in the file f32 4x2");
    assert_refused(tenon_checkpoint_read(test_stream, checkpoint, "w", 0, &narrow),
                   TENON_ERROR_FILE, "tenon_checkpoint_read",
                   "\"w\" is f32 4x1, in the file f32 4x2");
    assert_refused(tenon_checkpoint_read(test_stream, checkpoint, "w", 0, &integers),
                   TENON_ERROR_FILE, "tenon_checkpoint_read",
                   "\"w\" is i32 4x2, in the file f32 4x2");
    /* A list with one wrong tensor loads none. */
    const tenon_named_tensor two[] = {{"w", target.view}, {"v", target.view}},
                             twice[] = {{"w", target.view}, {"w", target.view}},
                             covered = {"w", overlapping};
    assert_refused(tenon_checkpoint_load(test_stream, checkpoint, two, 2), TENON_ERROR_FILE,
                   "tenon_checkpoint_load", "\"v\"");
    assert_invalid(tenon_checkpoint_load(test_stream, checkpoint, twice, 2), "\"w\"");
    assert_invalid(tenon_checkpoint_load(test_stream, checkpoint, &covered, 1), "w");
    assert_invalid(tenon_checkpoint_load(NULL, checkpoint, two, 1), "stream");
    assert_untouched(&target);
    assert_ok(tenon_checkpoint_load(test_stream, checkpoint, two, 1));
    tenon_checkpoint_close(checkpoint);
    test_tensor_destroy(&target);
    temporary_remove(folder);
    test_destroy(&t);
}

/* Another program shortens the file after it was opened. */
TEST(files_that_are_shortened_later_fail)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, small_shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &t, 1, NULL));
    const tenon_named_tensor list = {"w", t};
    assert_ok(tenon_checkpoint_save(test_stream, path, &list, 1, NULL, 0));
    tenon_checkpoint *checkpoint = open_file(path);
    temporary_write(path, "short", 5);
    assert_refused(tenon_checkpoint_load(test_stream, checkpoint, &list, 1), TENON_ERROR_FILE,
                   "tenon_checkpoint_load", path);
    tenon_checkpoint_close(checkpoint);
    temporary_remove(folder);
    test_destroy(&t);
}

/* Saves with every limit on the size of files up to the size of the new one: it stands for a full
 * disk. */
TEST(full_disks_leave_the_old_file)
{
    const int64_t shape[] = {3, 1000};
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &t, 1, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    const tenon_named_tensor list = {"w", t};
    struct rlimit limit, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*const earlier)(int) = signal(SIGXFSZ, SIG_IGN);
    small = limit;
    for (rlim_t most = 0; most < 12000; most += 1999) {
        temporary_write(path, "old", 3);
        small.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const tenon_status status = tenon_checkpoint_save(test_stream, path, &list, 1, NULL, 0);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        assert_int_equal(status, TENON_ERROR_FILE);
        assert_contains(tenon_last_error(), "tenon_checkpoint_save: cannot write ");
        assert_contains(tenon_last_error(), strerror(EFBIG));
        assert_true(temporary_has(path, "old", 3));
        assert_int_equal(temporary_count(folder, "f"), 1);
    }
    signal(SIGXFSZ, earlier);
    assert_ok(tenon_checkpoint_save(test_stream, path, &list, 1, NULL, 0));
    temporary_remove(folder);
    test_destroy(&t);
}

/* After a full disk the writer refuses everything, although there is space again. */
TEST(writers_that_have_failed_refuse_the_rest)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    const int64_t shape[] = {2, 5000};
    tenon_tensor t = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &t, 1, NULL));
    assert_ok(tenon_stream_finish(test_stream));
    const tenon_tensor first = tenon_tensor_slice(t, 0, 0, 1),
                       second = tenon_tensor_slice(t, 0, 1, 1);
    const tenon_named_tensor list = {"w", t};
    tenon_checkpoint_writer *writer;
    struct rlimit limit, small;
    temporary_write(path, "old", 3);
    assert_ok(tenon_checkpoint_writer_create(path, &list, 1, NULL, 0, &writer));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*const earlier)(int) = signal(SIGXFSZ, SIG_IGN);
    small = limit;
    small.rlim_cur = 12000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const tenon_status status = tenon_checkpoint_writer_write(test_stream, writer, "w", 0, &first);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, earlier);
    assert_int_equal(status, TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), strerror(EFBIG));
    assert_refused(tenon_checkpoint_writer_write(test_stream, writer, "w", 1, &second),
                   TENON_ERROR_FILE, "tenon_checkpoint_writer_write", "an earlier write");
    assert_refused(tenon_checkpoint_writer_commit(writer), TENON_ERROR_FILE,
                   "tenon_checkpoint_writer_commit", "an earlier write");
    tenon_checkpoint_writer_destroy(writer);
    assert_true(temporary_has(path, "old", 3));
    assert_int_equal(temporary_count(folder, "f"), 1);
    temporary_remove(folder);
    test_destroy(&t);
}
