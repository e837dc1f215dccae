/* Tests of groups whose members are on different devices of this machine, of any platforms: every
 * collective, with every type and combination, in one and in two processes. Results are compared
 * bit by bit with the same operations on the host. Skipped if there is only one device.
 * `./run cluster` runs it with PoCL, rusticl and Intel's runtime for CPUs. */
#include "group_case.h"

#include "base/dtype.h"

#define MOST_LISTED 32
#define CALLS       7

static const struct {
    group_function *call;
    const char *name;
    bool combines;
} calls[CALLS] = {
    {group_all_reduce, "all-reduce", true},
    {group_reduce_scatter, "reduce-scatter", true},
    {group_reduce, "reduce", true},
    {group_all_gather, "all-gather", false},
    {group_all_to_all, "all-to-all", false},
    {group_broadcast, "broadcast", false},
    {group_send, "send", false},
};

/* The devices: one of each platform first, then more of them, in the order of the list. */
static struct {
    tenon_device_info infos[GROUP_MOST];
    const char *selectors[GROUP_MOST];
    uint32_t count;
    bool has_doubles; /* all of them */
} devices;

/* Returns true if the device transposes a matrix: old drivers allow too small work-groups. */
static bool transposes(tenon_context *context)
{
    const int64_t shape[] = {129, 65};
    tenon_stream *stream = NULL;
    tenon_tensor x, y;
    assert_ok(tenon_stream_create(context, NULL, &stream));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &x));
    assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &y));
    tenon_tensor column_major = y;
    column_major.stride[0] = 1;
    column_major.stride[1] = shape[0];
    assert_ok(tenon_tensor_fill(stream, &x, 1, NULL));
    tenon_status status = tenon_copy(stream, NULL, &x, &column_major, NULL);
    if (status == TENON_OK)
        status = tenon_stream_finish(stream);
    tenon_tensor_destroy(&x);
    tenon_tensor_destroy(&y);
    tenon_stream_destroy(stream);
    return status == TENON_OK;
}

/* Adds a device if it can be used. */
static void add(const tenon_device_info *info)
{
    tenon_context *context = NULL;
    const tenon_context_params params = tenon_context_params(.device = info->selector);
    const tenon_status status = tenon_context_create(&params, &context);
    if (status != TENON_OK || !transposes(context)) {
        print_message("%s, %s, is left out: %s\n", info->selector, info->name, tenon_last_error());
        tenon_context_release(context);
        return;
    }
    uint32_t has_doubles = 0;
    assert_ok(tenon_context_capability(context, TENON_CAPABILITY_F64, &has_doubles, NULL, 0));
    devices.has_doubles = (devices.count == 0 || devices.has_doubles) && has_doubles != 0;
    devices.infos[devices.count] = *info;
    devices.selectors[devices.count] = devices.infos[devices.count].selector;
    devices.count++;
    print_message("%s: %s, %s%s\n", info->selector, info->platform_name, info->name,
                  has_doubles != 0 ? "" : ", without f64");
    tenon_context_release(context);
}

static bool is_first_of_platform(const tenon_device_info *infos, uint32_t i)
{
    for (uint32_t j = 0; j < i; j++)
        if (infos[j].device != NULL && infos[j].platform == infos[i].platform)
            return false;
    return true;
}

/* Skips the test unless there are several devices. */
static void find_devices(void)
{
    static tenon_device_info infos[MOST_LISTED];
    uint32_t listed = 0;
    for (uint32_t i = 0; i < MOST_LISTED; i++)
        infos[i] = (tenon_device_info)TENON_DEVICE_INFO_INIT;
    if (devices.count == 0) {
        assert_ok(tenon_device_list(infos, MOST_LISTED, &listed));
        listed = listed < MOST_LISTED ? listed : MOST_LISTED;
        for (int first = 1; first >= 0; first--)
            for (uint32_t i = 0; i < listed && devices.count < GROUP_MOST; i++)
                if (infos[i].device != NULL && is_first_of_platform(infos, i) == (first == 1))
                    add(&infos[i]);
    }
    if (devices.count < 2) {
        print_message("skipped: this machine has only one OpenCL device that can be used\n");
        skip();
    }
}

/* The members are on all devices; in the second process with a transport and short ranges. */
static void open_world(group_world *w, uint32_t members, uint32_t processes)
{
    const group_division division = {.processes = processes,
                                     .has_threads = true,
                                     .chunk_bytes = 1 << 16,
                                     .selectors = devices.selectors,
                                     .selector_count = devices.count};
    group_world_open(w, members, &division);
}

/* Returns a random problem of this type and combination; its tensors may be empty, of one element,
 * of odd size, around 32 KiB or longer. */
static group_problem problem_of(int number, uint32_t members, tenon_dtype dtype,
                                tenon_group_kind kind, test_random *random)
{
    static const int64_t sizes[] = {0, 1, 65, 1000, 4097, 8191, 8193, 40001};
    group_problem p = group_random_problem(random, members, number != 3);
    p.dtype = dtype;
    p.kind = kind;
    p.shape[1] = sizes[test_between(random, 0, sizeof sizes / sizeof *sizes - 1)];
    return p;
}

static bool can_combine(tenon_dtype dtype, tenon_group_kind kind)
{
    return kind != TENON_GROUP_MEAN || tn_dtype_is_float(dtype);
}

/* Every type with every combination. */
static void check_call(group_world *w, int number, test_random *random)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16,
                                        TENON_DTYPE_F64, TENON_DTYPE_I32, TENON_DTYPE_I64};
    const int kinds = calls[number].combines ? TENON_GROUP_MIN : 0;
    print_message("%s, %u members, %u processes\n", calls[number].name, (unsigned)w->count,
                  (unsigned)w->processes);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (int kind = 0; kind <= kinds; kind++) {
            const bool is_left_out = types[t] == TENON_DTYPE_F64 && !devices.has_doubles;
            if (!is_left_out && can_combine(types[t], (tenon_group_kind)kind))
                group_check(w, calls[number].call,
                            problem_of(number, w->count, types[t], (tenon_group_kind)kind, random),
                            random);
        }
}

static void check_calls(uint32_t members, uint32_t processes, uint64_t stream)
{
    test_random random = test_random_for(stream);
    group_world w;
    open_world(&w, members, processes);
    for (int i = 0; i < CALLS; i++)
        check_call(&w, i, &random);
    group_world_close(&w);
}

TEST(collectives_of_all_devices)
{
    find_devices();
    check_calls(devices.count, 1, 3301);
}

/* Several members on each device, so that some share a context and others do not. */
TEST(collectives_of_more_members_than_devices)
{
    find_devices();
    check_calls(devices.count + 2 < GROUP_MOST ? devices.count + 2 : GROUP_MOST, 1, 3302);
}

TEST(collectives_of_devices_in_two_processes)
{
    find_devices();
    check_calls(devices.count, 2, 3303);
}

/* Creates a tensor of each member, filled with values in [-2, 2). */
static void fill_members(group_world *w, tenon_dtype dtype, int64_t count, tenon_tensor *x,
                         test_random *random)
{
    const size_t bytes = (size_t)count * tenon_dtype_size(dtype);
    unsigned char *values = malloc(bytes);
    assert_non_null(values);
    for (uint32_t m = 0; m < w->count; m++) {
        for (int64_t i = 0; i < count; i++)
            tn_dtype_store(dtype, values + (size_t)i * tenon_dtype_size(dtype),
                           test_real(random, -2, 2));
        assert_ok(
            tenon_tensor_create(tenon_stream_context(w->streams[m]), dtype, 1, &count, &x[m]));
        assert_ok(tenon_tensor_upload(w->streams[m], values, bytes, &x[m], NULL));
    }
    free(values);
}

/* Averages over all members, whose rounding may differ between devices, and compares the members.
 */
static void compare_members(group_world *w, tenon_dtype dtype, int64_t count, test_random *random)
{
    const size_t bytes = (size_t)count * tenon_dtype_size(dtype);
    tenon_tensor x[GROUP_MOST];
    unsigned char *first = malloc(bytes), *other = malloc(bytes);
    assert_non_null(first);
    assert_non_null(other);
    fill_members(w, dtype, count, x, random);
    assert_ok(tenon_group_all_reduce(w->groups[0], TENON_GROUP_MEAN, x, x, NULL));
    assert_ok(tenon_tensor_download(w->streams[0], &x[0], first, bytes, NULL));
    for (uint32_t m = 1; m < w->count; m++) {
        assert_ok(tenon_tensor_download(w->streams[m], &x[m], other, bytes, NULL));
        if (memcmp(first, other, bytes) != 0)
            fail_msg("%s: the members of ranks 0 and %u have other bits", tenon_dtype_string(dtype),
                     (unsigned)m);
    }
    for (uint32_t m = 0; m < w->count; m++)
        tenon_tensor_destroy(&x[m]);
    free(first);
    free(other);
}

/* Divisions may be rounded differently by the devices, so each share must be combined by one of
 * them, however small the tensor is. */
TEST(members_have_the_same_bits)
{
    static const tenon_dtype types[] = {TENON_DTYPE_F32, TENON_DTYPE_F16, TENON_DTYPE_BF16};
    test_random random = test_random_for(3304);
    group_world w;
    find_devices();
    for (uint32_t members = devices.count; members <= GROUP_MOST; members++) {
        if (members != devices.count && members != 3 && members != 7)
            continue;
        open_world(&w, members, 1);
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            compare_members(&w, types[t], 1, &random);
            compare_members(&w, types[t], 1001, &random);
            compare_members(&w, types[t], 100003, &random);
        }
        group_world_close(&w);
    }
}
