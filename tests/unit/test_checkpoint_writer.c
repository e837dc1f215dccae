/* Tests of writing checkpoint files without a device: arguments, paths that cannot be written, full
 * disks, and writers that end before their commit. */
#include "common/temporary.h"
#include "common/testing.h"

#include <tenon/checkpoint.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        const tenon_status test_status = (call);                                                   \
        if (test_status != TENON_OK)                                                               \
            fail_msg("%s: %s", #call, tenon_last_error());                                         \
    } while (0)

/* A tensor and texts. The file's header has more than 50 bytes. */
static const tenon_named_tensor tensor = {
    "w", {.dtype = TENON_DTYPE_BF16, .rank = 2, .shape = {3, 2}, .stride = {2, 1}}};
static const tenon_named_text texts[] = {{"step", "300"}, {"seed", "2024"}};
enum { TEXTS = sizeof texts / sizeof *texts };

TEST(invalid_lists_are_refused)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_checkpoint_writer *writer;
    const int64_t huge[] = {INT64_C(1) << 60};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 0, NULL),
                       large = tenon_tensor_view(TENON_DTYPE_F32, 1, huge);
    const tenon_named_tensor lists[][2] = {
        {{"a", view}, {"a", view}},        {{NULL, view}, {"a", view}},
        {{"\xff", view}, {"a", view}},     {{"__metadata__", view}, {"a", view}},
        {{"b", {.rank = 9}}, {"a", view}}, {{"a", large}, {"b", large}}};
    const char *const messages[] = {"two tensors are named \"a\"",
                                    "tensors[0].name is NULL",
                                    "tensors[0].name is not UTF-8",
                                    "\"__metadata__\"",
                                    "tensors[0]",
                                    "too many bytes"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_int_equal(tenon_checkpoint_writer_create(path, lists[i], 2, NULL, 0, &writer),
                         TENON_ERROR_INVALID_ARGUMENT);
        assert_contains(tenon_last_error(), "tenon_checkpoint_writer_create");
        assert_contains(tenon_last_error(), messages[i]);
    }
    const tenon_named_text twice[] = {{"a", "1"}, {"a", "2"}}, none = {"a", NULL};
    assert_int_equal(tenon_checkpoint_writer_create(path, NULL, 0, twice, 2, &writer),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "two texts are named \"a\"");
    assert_int_equal(tenon_checkpoint_writer_create(path, NULL, 0, &none, 1, &writer),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "texts[0].text is NULL");
    assert_int_equal(tenon_checkpoint_writer_create(path, NULL, 1, NULL, 0, &writer),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_writer_create(NULL, NULL, 0, NULL, 0, &writer),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_writer_create(path, NULL, 0, NULL, 0, NULL),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(temporary_count(folder, "f"), 0);
    temporary_remove(folder);
}

TEST(places_that_cannot_be_written_are_refused)
{
    char *folder = temporary_make();
    tenon_checkpoint_writer *writer;
    const char *absent = temporary_path(folder, "absent/f");
    assert_int_equal(tenon_checkpoint_writer_create(absent, NULL, 0, NULL, 0, &writer),
                     TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), absent);
    assert_int_equal(tenon_checkpoint_writer_create(folder, NULL, 0, NULL, 0, &writer),
                     TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "is not a regular file");
    assert_null(writer);
    temporary_remove(folder);
}

TEST(files_without_tensors_are_written_and_read)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_checkpoint_writer *writer;
    tenon_checkpoint *checkpoint;
    struct stat is;
    assert_ok(tenon_checkpoint_writer_create(path, NULL, 0, texts, TEXTS, &writer));
    assert_ok(tenon_checkpoint_writer_commit(writer));
    assert_int_equal(tenon_checkpoint_writer_commit(writer), TENON_ERROR_INVALID_ARGUMENT);
    tenon_checkpoint_writer_destroy(writer);
    /* With the permissions of a new file. */
    const mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &is), 0);
    assert_int_equal(is.st_mode & 0777, 0666 & ~mask);
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    assert_string_equal(tenon_checkpoint_text(checkpoint, "step"), "300");
    /* The open file stays readable without its name. */
    assert_int_equal(unlink(path), 0);
    assert_ok(tenon_checkpoint_check(checkpoint, NULL, 0));
    tenon_checkpoint_close(checkpoint);
    temporary_remove(folder);
}

TEST(links_are_replaced_by_the_file)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f"), *link = temporary_path(folder, "link");
    tenon_checkpoint_writer *writer;
    struct stat is;
    temporary_write(path, "old", 3);
    assert_int_equal(symlink("f", link), 0);
    assert_ok(tenon_checkpoint_writer_create(link, NULL, 0, NULL, 0, &writer));
    assert_ok(tenon_checkpoint_writer_commit(writer));
    tenon_checkpoint_writer_destroy(writer);
    assert_int_equal(lstat(link, &is), 0);
    assert_true(S_ISREG(is.st_mode));
    assert_true(temporary_has(path, "old", 3));
    temporary_remove(folder);
}

TEST(an_incomplete_file_is_not_committed)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_checkpoint_writer *writer;
    temporary_write(path, "old", 3);
    assert_ok(tenon_checkpoint_writer_create(path, &tensor, 1, NULL, 0, &writer));
    assert_int_equal(tenon_checkpoint_writer_commit(writer), TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "entries 0 to 2 of tensor \"w\"");
    tenon_checkpoint_writer_destroy(writer);
    assert_true(temporary_has(path, "old", 3));
    assert_int_equal(temporary_count(folder, "f"), 1);
    assert_int_equal(tenon_checkpoint_writer_commit(NULL), TENON_ERROR_INVALID_ARGUMENT);
    tenon_checkpoint_writer_destroy(NULL);
    temporary_remove(folder);
}

/* The next writer of the same file removes the temporary file of a killed one, but not those of
 * other files or of running processes. */
TEST(killed_writers_leave_the_old_file)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f"), *other = temporary_path(folder, "ff");
    tenon_checkpoint_writer *writer, *second;
    int status;
    temporary_write(path, "old", 3);
    const pid_t child = fork();
    if (child == 0) {
        if (tenon_checkpoint_writer_create(path, &tensor, 1, NULL, 0, &writer) == TENON_OK &&
            tenon_checkpoint_writer_create(other, &tensor, 1, NULL, 0, &writer) == TENON_OK)
            raise(SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_true(temporary_has(path, "old", 3));
    assert_int_equal(temporary_count(folder, "f.writing-"), 2);
    assert_ok(tenon_checkpoint_writer_create(path, NULL, 0, NULL, 0, &writer));
    assert_int_equal(temporary_count(folder, "f.writing-"), 2);
    assert_int_equal(temporary_count(folder, "ff.writing-"), 1);
    assert_ok(tenon_checkpoint_writer_create(path, NULL, 0, texts, TEXTS, &second));
    assert_int_equal(temporary_count(folder, "f.writing-"), 3);
    assert_ok(tenon_checkpoint_writer_commit(second));
    assert_ok(tenon_checkpoint_writer_commit(writer));
    tenon_checkpoint_writer_destroy(writer);
    tenon_checkpoint_writer_destroy(second);
    assert_int_equal(temporary_count(folder, "f.writing-"), 1);
    temporary_remove(folder);
}

/* A limit on the size of files stands for a full disk. */
TEST(a_full_disk_leaves_the_old_file)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_checkpoint_writer *writer;
    struct rlimit limit, small;
    temporary_write(path, "old", 3);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    void (*const earlier)(int) = signal(SIGXFSZ, SIG_IGN);
    small = limit;
    small.rlim_cur = 50;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    tenon_status status = tenon_checkpoint_writer_create(path, NULL, 0, texts, TEXTS, &writer);
    if (status == TENON_OK)
        status = tenon_checkpoint_writer_commit(writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    signal(SIGXFSZ, earlier);
    assert_int_equal(status, TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), strerror(EFBIG));
    tenon_checkpoint_writer_destroy(writer);
    assert_true(temporary_has(path, "old", 3));
    assert_int_equal(temporary_count(folder, "f"), 1);
    temporary_remove(folder);
}
