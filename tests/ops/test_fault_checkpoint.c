/* Tests checkpoints while OpenCL or the allocator fails: the old file stays, nothing is lost, and
 * no temporary file is left. Also on a device with memory of its own. */
#include "common/cl_faults.h"
#include "common/temporary.h"
#include "support.h"

#include "runtime/context/context.h"

enum { ROWS = 5, COLUMNS = 7, BYTES = ROWS * COLUMNS * 4 };

/* Returns a transposed tensor, which is not dense. */
static tenon_tensor transposed(tenon_context *context, tenon_stream *stream)
{
    const int64_t sizes[] = {COLUMNS, ROWS};
    tenon_tensor t;
    float data[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        data[i] = (float)i;
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, sizes, &t));
    assert_ok(tenon_tensor_upload(stream, data, sizeof data, &t, NULL));
    return tenon_tensor_transpose(t, 0, 1);
}

/* Makes each call of a function fail in turn until saving succeeds. */
static void check_saving(const char *functions, const char *path)
{
    tenon_tensor t = transposed(test_context, test_stream);
    const tenon_named_tensor list = {"w", t};
    const tenon_named_text text = {"step", "1"};
    tenon_status status = TENON_ERROR_OPENCL;
    unsigned failures = 0;
    assert_ok(tenon_checkpoint_save(test_stream, path, &list, 1, &text, 1));
    assert_ok(tenon_stream_finish(test_stream));
    for (unsigned nth = 1; status != TENON_OK; nth++) {
        assert_true(nth < 1000);
        temporary_write(path, "old", 3);
        const faults_alive before = faults_count();
        tenon_stream *stream = test_new_stream(test_context); /* it keeps the last events */
        faults_fail_next(functions, CL_OUT_OF_RESOURCES, nth);
        status = tenon_checkpoint_save(stream, path, &list, 1, &text, 1);
        faults_end();
        tenon_stream_destroy(stream);
        faults_assert_alive(&before, functions);
        if (status == TENON_OK)
            break;
        failures++;
        assert_contains(tenon_last_error(), "tenon_checkpoint_save: ");
        assert_true(temporary_has(path, "old", 3));
    }
    assert_true(failures > 1);
    tenon_tensor_destroy(&t);
}

TEST(saving_without_memory_leaves_the_old_file)
{
    char *folder = temporary_make();
    check_saving(FAULTS_MEMORY, temporary_path(folder, "f"));
    assert_int_equal(temporary_count(folder, "f"), 1);
    temporary_remove(folder);
}

TEST(saving_with_failing_transfers_leaves_the_old_file)
{
    char *folder = temporary_make();
    check_saving(FAULTS_OPENCL, temporary_path(folder, "f"));
    assert_int_equal(temporary_count(folder, "f"), 1);
    temporary_remove(folder);
}

TEST(loading_reports_every_failure)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_tensor t = transposed(test_context, test_stream);
    const tenon_named_tensor list = {"w", t};
    tenon_status status = TENON_ERROR_OPENCL;
    unsigned failures = 0;
    assert_ok(tenon_checkpoint_save(test_stream, path, &list, 1, NULL, 0));
    for (unsigned nth = 1; status != TENON_OK; nth++) {
        tenon_checkpoint *checkpoint;
        assert_true(nth < 1000);
        const faults_alive before = faults_count();
        tenon_stream *stream = test_new_stream(test_context);
        faults_fail_next(FAULTS_ANY, CL_OUT_OF_RESOURCES, nth);
        status = tenon_checkpoint_open(path, &checkpoint);
        if (status == TENON_OK)
            status = tenon_checkpoint_load(stream, checkpoint, &list, 1);
        else
            assert_null(checkpoint);
        tenon_checkpoint_close(checkpoint);
        const unsigned reached = faults_end();
        const tenon_status late = tenon_stream_finish(stream);
        assert_true(late == TENON_OK || reached > 0);
        tenon_stream_destroy(stream);
        faults_assert_alive(&before, "load");
        /* A fault that no call depends on: of an unmap, whose failure is reported later. */
        failures += status != TENON_OK;
        if (status == TENON_OK && reached > 0)
            status = TENON_ERROR_OPENCL;
    }
    assert_true(failures > 2);
    tenon_tensor_destroy(&t);
    temporary_remove(folder);
}

/* A device with memory of its own gathers the elements of a strided tensor: it maps nothing. */
TEST(devices_with_memory_of_their_own)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    tenon_context *context = test_context_with(.flags = 0);
    context->device.info.unified_memory = 0;
    tenon_stream *stream = test_new_stream(context);
    tenon_tensor t = transposed(context, stream);
    const tenon_named_tensor list = {"w", t};
    faults_fail_all("clEnqueueMapBuffer", CL_OUT_OF_RESOURCES);
    assert_ok(tenon_checkpoint_save(stream, path, &list, 1, NULL, 0));
    assert_int_equal(faults_end(), 0);
    size_t size;
    unsigned char *file = temporary_read(path, &size);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        float value;
        memcpy(&value, file + size - BYTES + 4 * i, sizeof value);
        const int row = i / COLUMNS, number = i % COLUMNS * ROWS + row;
        assert_true(value == (float)number);
    }
    /* Back, through a tensor with other elements. */
    assert_ok(tenon_tensor_fill(stream, &t, -1, NULL));
    tenon_checkpoint *checkpoint;
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    faults_fail_all("clEnqueueMapBuffer", CL_OUT_OF_RESOURCES);
    assert_ok(tenon_checkpoint_load(stream, checkpoint, &list, 1));
    assert_int_equal(faults_end(), 0);
    tenon_checkpoint_close(checkpoint);
    unsigned char *loaded = malloc(BYTES);
    assert_non_null(loaded);
    assert_ok(tenon_tensor_download(stream, &t, loaded, BYTES, NULL));
    assert_memory_equal(loaded, file + size - BYTES, BYTES);
    free(loaded);
    free(file);
    tenon_tensor_destroy(&t);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    temporary_remove(folder);
}
