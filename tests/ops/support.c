#include "support.h"

#include "builds.h"
#include "emulation.h"
#include "quick.h"
#include "tally.h"

#include "base/dtype.h"

#include <float.h>
#include <math.h>

tenon_context *test_context;
tenon_stream *test_stream;

#define GUARD_BYTES 256
#define POISON      0xff

static void close_device(void)
{
    builds_close();
    tenon_stream_destroy(test_stream);
    tenon_context_release(test_context);
}

/* Aborts if a self-check does not run the paths that the problem requires, which is a bug of the
 * library. */
static void refuse_gaps(void *user, tenon_log_level level, const char *message)
{
    (void)user;
    if (level == TENON_LOG_ERROR && strstr(message, "does not cover") != NULL) {
        fprintf(stderr, "%s\n", message);
        abort();
    }
}

cl_command_queue test_queue(tenon_context *context, bool unordered)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    cl_command_queue_properties properties = 0;
    cl_int error;
    if (tenon_context_device(context, &info) != TENON_OK ||
        clGetDeviceInfo(info.device, CL_DEVICE_QUEUE_PROPERTIES, sizeof properties, &properties,
                        NULL) != CL_SUCCESS)
        return NULL;
    properties &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    if (unordered && properties == 0)
        return NULL;
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, unordered ? properties : 0, 0};
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(tenon_context_cl(context), info.device, list, &error);
    return error == CL_SUCCESS ? queue : NULL;
}

/* Opens the stream of the tests. */
static tenon_status open_stream(void)
{
    const char *wanted = getenv("TENON_TEST_QUEUE");
    test_random random = test_random_for(0x9e0e);
    const bool unordered =
        wanted != NULL ? strcmp(wanted, "unordered") == 0 : test_one_in(&random, 2);
    cl_command_queue queue = unordered ? test_queue(test_context, true) : NULL;
    const tenon_status status = tenon_stream_create(test_context, queue, &test_stream);
    if (queue != NULL) {
        printf("on an out-of-order queue\n");
        clReleaseCommandQueue(queue);
    }
    return status;
}

/* Fails if a device requested by name is missing. Having no device at all is not an error. */
static int open_device(void)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    tenon_context_params params =
        tenon_context_params(.log = refuse_gaps, .log_level = TENON_LOG_ERROR);
    tenon_status status = tenon_context_create(&params, &test_context);
    if (status == TENON_OK)
        status = open_stream();
    if (status == TENON_OK)
        status = tenon_context_device(test_context, &info);
    if (status == TENON_OK) {
        printf("device %s: %s, %s\n", info.selector, info.name, info.platform_name);
        return 0;
    }
    fprintf(stderr, "%s\n", tenon_last_error());
    bool asked = getenv("TENON_DEVICE") != NULL && getenv("TENON_DEVICE")[0] != '\0';
    return status == TENON_ERROR_DEVICE_NOT_FOUND && !asked ? TEST_SKIPPED : 1;
}

bool test_has(tenon_capability capability)
{
    uint32_t available = 0;
    assert_ok(tenon_context_capability(test_context, capability, &available, NULL, 0));
    return available != 0;
}

tenon_status test_launch_nothing(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    (void)operation;
    (void)recording;
    (void)problem;
    (void)choice;
    return TENON_OK;
}

static const tenon_dtype *all_float_types(void)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                        TENON_DTYPE_F64, TENON_DTYPE_INVALID};
    static const tenon_dtype without_f64[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                              TENON_DTYPE_INVALID};
    return test_has(TENON_CAPABILITY_F64) ? types : without_f64;
}

const tenon_dtype *test_float_types(void)
{
    static const tenon_dtype pairs[][3] = {{TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_INVALID},
                                           {TENON_DTYPE_F32, TENON_DTYPE_BF16, TENON_DTYPE_INVALID},
                                           {TENON_DTYPE_F32, TENON_DTYPE_F64, TENON_DTYPE_INVALID}};
    if (!quick_is_on())
        return all_float_types();
    return pairs[test_seed() % (test_has(TENON_CAPABILITY_F64) ? 3 : 2)];
}

tenon_dtype test_float_type(uint32_t number)
{
    const tenon_dtype *types = all_float_types();
    uint32_t count = 0;
    while (types[count] != TENON_DTYPE_INVALID)
        count++;
    return types[number % count];
}

tenon_dtype test_next_moved_type(tenon_dtype type)
{
    do
        type = (tenon_dtype)(type + 1);
    while (type == TENON_DTYPE_F8_E4M3 || type == TENON_DTYPE_F8_E5M2);
    return tn_dtype_valid(type) ? type : TENON_DTYPE_INVALID;
}

void test_assert_refused(tenon_status got, tenon_status status, const char *operation,
                         const char *argument, const char *call, const char *file, int line)
{
    const char *message = got != TENON_OK ? tenon_last_error() : "";
    bool named = strncmp(message, operation, strlen(operation)) == 0 &&
                 message[strlen(operation)] == ':' && strstr(message, argument) != NULL;
    if (got == status && named)
        return;
    print_error("%s\n  returned %s, expected %s\n  with the message \"%s\", which must begin with "
                "\"%s:\" and name \"%s\"\n",
                call, tenon_status_string(got), tenon_status_string(status), message, operation,
                argument);
    _fail(file, line);
}

void test_assert_invalid(tenon_status got, const char *argument, const char *call, const char *file,
                         int line)
{
    char operation[128];
    snprintf(operation, sizeof operation, "%.*s", (int)strcspn(call, "("), call);
    test_assert_refused(got, TENON_ERROR_INVALID_ARGUMENT, operation, argument, call, file, line);
}

const char *test_layout_string(test_layout layout)
{
    static const char *const names[TEST_LAYOUTS] = {"rows", "columns", "rows with pitch",
                                                    "columns with pitch", "strided"};
    return names[layout];
}

void test_strides(test_layout layout, bool gap, uint32_t rank, const int64_t *shape,
                  int64_t *stride)
{
    bool by_cols = rank >= 2 && (layout == TEST_COL || layout == TEST_COL_PITCH);
    bool gaps = layout == TEST_PITCH || layout == TEST_COL_PITCH || layout == TEST_STRIDED;
    int64_t step = layout == TEST_STRIDED ? 2 : 1;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t d = rank - 1 - (by_cols && i < 2 ? 1 - i : i);
        stride[d] = step;
        step *= shape[d] > 0 ? shape[d] : 1;
        if (i == 0 ? gaps : gap)
            step += 3;
    }
}

void test_tensor_create(test_tensor *tensor, tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                        const int64_t *stride, int64_t offset)
{
    tenon_tensor view = {.dtype = dtype, .rank = rank};
    size_t size = tenon_dtype_size(dtype);
    memcpy(view.shape, shape, rank * sizeof *shape);
    memcpy(view.stride, stride, rank * sizeof *stride);
    view.offset = GUARD_BYTES + (uint64_t)offset * size;
    tensor->bytes = tn_tensor_extent(&view).end + GUARD_BYTES;
    tensor->image = malloc((size_t)tensor->bytes);
    assert_non_null(tensor->image);
    memset(tensor->image, POISON, (size_t)tensor->bytes);
    tensor->host = view;
    tensor->host.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = tensor->image};
    tensor->view = view;
    assert_ok(tenon_memory_create(test_context, tensor->bytes, &tensor->view.memory));
}

void test_tensor_destroy(test_tensor *tensor)
{
    tenon_memory_destroy(&tensor->view.memory);
    free(tensor->image);
    memset(tensor, 0, sizeof *tensor);
}

/* Returns the byte at which element `number`, in row-major order, begins. */
static size_t place(const tenon_tensor *view, int64_t number)
{
    int64_t at = 0;
    for (uint32_t d = view->rank; d-- > 0; number /= view->shape[d])
        at += number % view->shape[d] * view->stride[d];
    return (size_t)view->offset + (size_t)at * tenon_dtype_size(view->dtype);
}

double test_get(const test_tensor *tensor, int64_t number)
{
    return tn_dtype_load(tensor->view.dtype, tensor->image + place(&tensor->view, number));
}

void test_set(test_tensor *tensor, int64_t number, double value)
{
    tn_dtype_store(tensor->view.dtype, tensor->image + place(&tensor->view, number), value);
}

void test_set_whole(test_tensor *tensor, int64_t number, int64_t value)
{
    tn_dtype_store_whole(tensor->view.dtype, tensor->image + place(&tensor->view, number), value);
}

void test_fill_reals(test_tensor *tensor, test_random *random)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i,
                 tensor->view.dtype == TENON_DTYPE_BOOL ? test_one_in(random, 2)
                                                        : test_real(random, -1, 1));
}

void test_fill_integers(test_tensor *tensor, test_random *random, int64_t most)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i, (double)test_between(random, -most, most));
}

void test_fill_value(test_tensor *tensor, double value)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i, value);
}

void test_fill_poison(test_tensor *tensor)
{
    memset(tensor->image, POISON, (size_t)tensor->bytes);
}

/* Returns all of a tensor's memory as bytes. */
static tenon_tensor bytes_of(const test_tensor *tensor)
{
    const int64_t shape[] = {(int64_t)tensor->bytes};
    tenon_tensor view = tenon_tensor_view(TENON_DTYPE_U8, 1, shape);
    view.memory = tensor->view.memory;
    return view;
}

void test_upload(const test_tensor *tensor)
{
    const tenon_tensor view = bytes_of(tensor);
    assert_ok(tenon_tensor_upload(test_stream, tensor->image, (size_t)tensor->bytes, &view, NULL));
}

static unsigned char *download_memory(const test_tensor *tensor)
{
    const tenon_tensor view = bytes_of(tensor);
    unsigned char *memory = malloc((size_t)tensor->bytes);
    assert_non_null(memory);
    assert_ok(tenon_tensor_download(test_stream, &view, memory, (size_t)tensor->bytes, NULL));
    return memory;
}

bool test_untouched(const test_tensor *tensor)
{
    unsigned char *memory = download_memory(tensor);
    bool same = memcmp(memory, tensor->image, (size_t)tensor->bytes) == 0;
    free(memory);
    return same;
}

static double *read_elements(const test_tensor *tensor, const unsigned char *memory)
{
    int64_t count = tenon_tensor_elements(&tensor->view);
    double *values = malloc(((size_t)count + 1) * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++)
        values[i] = tn_result_load(tensor->view.dtype, memory + place(&tensor->view, i));
    return values;
}

double *test_download(const test_tensor *tensor)
{
    unsigned char *memory = download_memory(tensor);
    double *values = read_elements(tensor, memory);
    free(memory);
    return values;
}

unsigned char *test_download_bits(const test_tensor *tensor)
{
    unsigned char *memory = download_memory(tensor);
    int64_t count = tenon_tensor_elements(&tensor->view);
    size_t size = tenon_dtype_size(tensor->view.dtype);
    unsigned char *bits = malloc((size_t)count * size + 1);
    assert_non_null(bits);
    for (int64_t i = 0; i < count; i++)
        memcpy(bits + (size_t)i * size, memory + place(&tensor->view, i), size);
    free(memory);
    return bits;
}

/* Rounds to the type: an exact result may still require one rounding. */
static double rounded(double value, tenon_dtype dtype)
{
    unsigned char element[8];
    tn_dtype_store(dtype, element, value);
    return tn_dtype_load(dtype, element);
}

bool test_agrees(double got, tn_bounded expected, tenon_dtype dtype, test_judge judge)
{
    if (expected.bound == TN_ANYTHING || expected.bound == TN_WHOLE) /* see whole_agree */
        return true;
    if (isnan(expected.value) || isnan(got))
        return isnan(expected.value) && isnan(got);
    if (isinf(expected.value) || judge == TEST_EXACT)
        return got == rounded(expected.value, dtype);
    if (isinf(got)) /* the reference's value may exceed the range of the type */
        return got == rounded(expected.value + copysign(expected.bound, expected.value), dtype);
    /* If an intermediate value of the reference is infinite but the result is finite (a sigmoid,
     * for example), the only bound is rounding. */
    double bound = isfinite(expected.bound)
                       ? expected.bound
                       : 16 * tn_roundoff(dtype) * fabs(expected.value) + tn_least_normal(dtype);
    return fabs(got - expected.value) <= bound;
}

bool test_compare(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype,
                  test_judge judge, char why[256])
{
    for (int64_t i = 0; i < count; i++)
        if (!test_agrees(got[i], expected[i], dtype, judge)) {
            snprintf(why, 256, "element %lld is %.17g, expected %.17g%s%.3g (off by %.3g)",
                     (long long)i, got[i], expected[i].value,
                     judge == TEST_EXACT ? " exactly; the bound is " : " ± ", expected[i].bound,
                     got[i] - expected[i].value);
            return false;
        }
    return true;
}

/* Compares the memory with the image, ignoring the elements: only guard zones and gaps remain. */
static bool guards_hold(const test_tensor *tensor, const unsigned char *memory, char why[256])
{
    unsigned char *merged = malloc((size_t)tensor->bytes);
    size_t size = tenon_dtype_size(tensor->view.dtype);
    assert_non_null(merged);
    memcpy(merged, tensor->image, (size_t)tensor->bytes);
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        memcpy(merged + place(&tensor->view, i), memory + place(&tensor->view, i), size);
    size_t at = 0;
    while (at < tensor->bytes && merged[at] == memory[at])
        at++;
    if (at < tensor->bytes)
        snprintf(why, 256,
                 "byte %zu of %llu, which belongs to no element (the first is at %llu), was "
                 "written to",
                 at, (unsigned long long)tensor->bytes, (unsigned long long)tensor->view.offset);
    free(merged);
    return at == tensor->bytes;
}

/* Compares the elements whose bound is TN_WHOLE. */
static bool whole_agree(const test_tensor *tensor, const unsigned char *memory,
                        const tn_bounded *expected, char why[256])
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++) {
        const unsigned char *element = memory + place(&tensor->view, i);
        if (expected[i].bound != TN_WHOLE || tn_is_whole(tensor->view.dtype, element, expected[i]))
            continue;
        snprintf(why, 256, "element %lld is %lld, expected %lld", (long long)i,
                 (long long)tn_dtype_load_whole(tensor->view.dtype, element),
                 (long long)tn_whole_value(expected[i]));
        return false;
    }
    return true;
}

bool test_result(const test_tensor *tensor, const tn_bounded *expected, test_judge judge,
                 char why[256])
{
    unsigned char *memory = download_memory(tensor);
    double *values = read_elements(tensor, memory);
    bool right = whole_agree(tensor, memory, expected, why) &&
                 test_compare(values, expected, tenon_tensor_elements(&tensor->view),
                              tensor->view.dtype, judge, why) &&
                 guards_hold(tensor, memory, why);
    if (right && judge == TEST_BOUND)
        tally_errors(values, expected, tenon_tensor_elements(&tensor->view), tensor->view.dtype);
    free(values);
    free(memory);
    return right;
}

int test_problems(int usual)
{
    const char *asked = getenv("TENON_TEST_PROBLEMS");
    return asked != NULL ? atoi(asked) : usual;
}

void test_fill(test_tensor *tensor, test_judge judge, test_random *random)
{
    if (judge == TEST_EXACT)
        test_fill_integers(tensor, random, 3);
    else
        test_fill_reals(tensor, random);
}

int test_main(void)
{
    int failed = open_device();
    test_seed();
    if (failed != 0)
        return failed;
    failed = test_run_group();
    tally_print();
    emulation_print();
    quick_print();
    close_device();
    return failed;
}

int test_main_alone(void)
{
    const int failed = open_device();
    test_seed();
    close_device();
    test_context = NULL;
    test_stream = NULL;
    return failed != 0 ? failed : test_run_group();
}
