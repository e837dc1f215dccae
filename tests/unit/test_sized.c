/* Tests structs of callers compiled with the headers of another version. */
#include "base/sized.h"
#include "common/testing.h"

#include <tenon/tenon.h>

#include <string.h>

typedef struct known {
    uint32_t struct_size, flags;
    const char *solver;
    double scale;
    int64_t count;
} known;

/* The struct in an older and in a newer version. */
typedef struct older {
    uint32_t struct_size, flags;
    const char *solver;
    double scale;
} older;

typedef struct newer {
    known known;
    int64_t more[2];
} newer;

static const known defaults = {sizeof defaults, 0, NULL, 1.0, 7};

static tenon_status take(const void *given, known *room, const known **taken)
{
    const void *params = NULL;
    tenon_status status =
        tn_params_take("op", given, &defaults, sizeof defaults, "KNOWN_INIT", room, &params);
    *taken = params;
    return status;
}

TEST(structs_of_this_version_are_not_copied)
{
    known room, own = {sizeof own, 1, "a", 2, 3};
    const known *taken;
    assert_int_equal(take(&own, &room, &taken), TENON_OK);
    assert_ptr_equal(taken, &own);
    assert_int_equal(take(NULL, &room, &taken), TENON_OK);
    assert_ptr_equal(taken, &defaults);
}

TEST(missing_members_have_defaults)
{
    const older own = {sizeof own, 1, "a", 2};
    const known *taken;
    known room;
    assert_int_equal(take(&own, &room, &taken), TENON_OK);
    assert_int_equal(taken->struct_size, sizeof *taken);
    assert_int_equal(taken->flags, 1);
    assert_string_equal(taken->solver, "a");
    assert_true(taken->scale == 2);
    assert_int_equal(taken->count, 7);
}

TEST(unknown_members_must_be_zero)
{
    newer own = {{sizeof own, 1, "a", 2, 3}, {0, 0}};
    const known *taken;
    char expected[96];
    known room;
    assert_int_equal(take(&own, &room, &taken), TENON_OK);
    assert_int_equal(taken->struct_size, sizeof *taken);
    assert_int_equal(taken->count, 3);
    own.more[1] = 1;
    assert_int_equal(take(&own, &room, &taken), TENON_ERROR_UNSUPPORTED);
    snprintf(expected, sizeof expected, "op: params: struct_size is %zu, and byte %zu is not 0",
             sizeof own, offsetof(newer, more[1]));
    assert_non_null(strstr(tenon_last_error(), expected));
}

TEST(invalid_sizes_are_refused)
{
    static const uint32_t sizes[] = {0, 4, 15, 17, TN_SIZED_MAX + 4, UINT32_MAX};
    known room, own = defaults;
    const known *taken;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        own.struct_size = sizes[i];
        assert_int_equal(take(&own, &room, &taken), TENON_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(tenon_last_error(), "op: params: struct_size is "));
        assert_non_null(strstr(tenon_last_error(), "; start from KNOWN_INIT"));
        assert_int_equal(tn_sized_check("op", "out", &own), TENON_ERROR_INVALID_ARGUMENT);
    }
    assert_int_equal(tn_sized_check("op", "out", NULL), TENON_ERROR_INVALID_ARGUMENT);
    assert_string_equal(tenon_last_error(), "op: out is NULL");
}

/* Parameters whose last member has its own struct size. */
typedef struct whole {
    uint32_t struct_size, flags;
    const char *solver;
    known last;
} whole;

static const whole whole_defaults = {sizeof(whole), 0, NULL, {sizeof(known), 0, NULL, 1.0, 7}};
static const tn_last_member last_member = {"last", offsetof(whole, last), "LAST_INIT"};

static tenon_status take_whole(const void *given, whole *room, const whole **taken)
{
    const void *params = NULL;
    tenon_status status = tn_params_take_with("op", given, &whole_defaults, sizeof(whole),
                                              "WHOLE_INIT", &last_member, room, &params);
    *taken = params;
    return status;
}

TEST(a_last_member_may_be_older)
{
    const struct {
        uint32_t struct_size, flags;
        const char *solver;
        older last;
    } own = {sizeof own, 1, "a", {sizeof own.last, 3, "b", 2}};
    const struct {
        uint32_t struct_size, flags;
        const char *solver;
    } before = {offsetof(whole, last), 1, "a"}; /* the size before that member existed */
    const whole *taken;
    whole room;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_OK);
    assert_int_equal(taken->struct_size, sizeof *taken);
    assert_int_equal(taken->last.struct_size, sizeof taken->last);
    assert_string_equal(taken->solver, "a");
    assert_true(taken->last.flags == 3 && taken->last.scale == 2 && taken->last.count == 7);
    assert_int_equal(take_whole(&before, &room, &taken), TENON_OK);
    assert_true(taken->flags == 1 && taken->last.scale == 1 && taken->last.count == 7);
    assert_int_equal(taken->last.struct_size, sizeof taken->last);
}

TEST(a_last_member_may_be_newer)
{
    struct {
        uint32_t struct_size, flags;
        const char *solver;
        newer last;
    } own = {sizeof own, 1, "a", {{sizeof own.last, 3, "b", 2, 4}, {0, 0}}};
    const whole *taken;
    whole room;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_OK);
    assert_true(taken->struct_size == sizeof room && taken->last.struct_size == sizeof(known));
    assert_int_equal(taken->last.count, 4);
    own.last.known.struct_size =
        sizeof(known); /* the remaining bytes then belong to the outer struct */
    assert_int_equal(take_whole(&own, &room, &taken), TENON_OK);
    own.last.more[1] = 1;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_UNSUPPORTED);
    own.last.known.struct_size = sizeof(newer);
    assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tenon_last_error(), "is not 0"));
}

TEST(sizes_of_the_last_member_are_checked)
{
    static const uint32_t sizes[] = {0, 4, 17, sizeof(known) + 8, TN_SIZED_MAX + 4};
    whole room, own = whole_defaults;
    const whole *taken;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_OK);
    assert_ptr_equal(taken, &own);
    assert_int_equal(take_whole(NULL, &room, &taken), TENON_OK);
    assert_ptr_equal(taken, &whole_defaults);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        own.last.struct_size = sizes[i];
        assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(tenon_last_error(), "op: params: last: struct_size is "));
    }
    own.last.struct_size = 0;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(tenon_last_error(), "; start from LAST_INIT"));
    own = whole_defaults;
    own.struct_size = offsetof(whole, last) + 8; /* smaller than any version of the struct */
    assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_INVALID_ARGUMENT);
    own.struct_size = 0;
    assert_int_equal(take_whole(&own, &room, &taken), TENON_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(tenon_last_error(), "; start from WHOLE_INIT"));
}

TEST(output_structs_are_not_overrun)
{
    const known made = {0, 1, "a", 2, 3};
    struct {
        older out;
        char beyond[8];
    } small = {.out = {.struct_size = sizeof small.out}, .beyond = "beyond"};
    newer large;
    assert_int_equal(tn_sized_check("op", "out", &small), TENON_OK);
    tn_sized_fill(&small, &made, sizeof made);
    assert_int_equal(small.out.struct_size, sizeof small.out);
    assert_true(small.out.scale == 2);
    assert_string_equal(small.beyond, "beyond");
    memset(&large, 0xff, sizeof large);
    large.known.struct_size = sizeof large;
    tn_sized_fill(&large, &made, sizeof made);
    assert_int_equal(large.known.struct_size, sizeof large);
    assert_int_equal(large.known.count, 3);
    assert_true(large.more[0] == 0 && large.more[1] == 0);
}

TEST(defaults_by_function)
{
    const tenon_conv_params init = TENON_CONV_PARAMS_INIT;
    tenon_conv_params params;
    struct {
        tenon_conv_params params;
        uint64_t more;
    } larger = {.more = 1};
    memset(&params, 0xff, sizeof params);
    tenon_conv_params_default(&params, sizeof params);
    assert_memory_equal(&params, &init, sizeof params);
    tenon_conv_params_default(&larger.params, sizeof larger);
    assert_int_equal(larger.params.struct_size, sizeof larger);
    assert_int_equal(larger.params.groups, 1);
    assert_true(larger.more == 0);
    assert_int_equal(params.epilogue.struct_size, sizeof params.epilogue);
    assert_int_equal(larger.params.epilogue.struct_size, sizeof params.epilogue + 8);
    memset(&params, 0xff, sizeof params);
    tenon_conv_params_default(&params, sizeof params - 8);
    assert_int_equal(params.epilogue.struct_size, sizeof params.epilogue - 8);
    assert_true(params.epilogue.beta == 1);
    tenon_conv_params_default(NULL, sizeof params);
}

static const tenon_conv_params *same(const tenon_conv_params *params)
{
    return params;
}

TEST(literals_set_only_named_members)
{
    const tenon_conv_params init = TENON_CONV_PARAMS_INIT;
    assert_memory_equal(same(&tenon_conv_params()), &init, sizeof init);
    const tenon_conv_params *params =
        &tenon_conv_params(.groups = 2, .geometry.stride = {2, 2}, .epilogue.beta = 1);
    tenon_conv_params expected = TENON_CONV_PARAMS_INIT;
    expected.groups = 2;
    expected.geometry.stride[0] = expected.geometry.stride[1] = 2;
    expected.geometry.stride[2] = 0;
    expected.epilogue.beta = 1;
    assert_memory_equal(params, &expected, sizeof expected);
    assert_memory_equal(same(&tenon_conv_params(.groups = 2, .geometry.stride = {2, 2},
                                                .epilogue = tenon_epilogue(.beta = 1))),
                        &expected, sizeof expected);
    expected.epilogue = tenon_epilogue(.beta = 3, .activation.kind = TENON_ACTIVATION_RELU);
    assert_true(expected.epilogue.alpha == 1 && expected.epilogue.beta == 3);
    assert_int_equal(expected.epilogue.struct_size, sizeof expected.epilogue);
}

/* The epilogue is the last member of every struct that has one, so that it can grow. */
TEST(epilogues_are_the_last_members)
{
#define IS_LAST(type)                                                                              \
    assert_int_equal(offsetof(type, epilogue) + sizeof(tenon_epilogue), sizeof(type))
    IS_LAST(tenon_gemm_params);
    IS_LAST(tenon_gemm_ragged_params);
    IS_LAST(tenon_conv_params);
    IS_LAST(tenon_conv_transpose_params);
}

TEST(version_number)
{
    assert_int_equal(TENON_VERSION_OF(1, 2, 3), 10203);
    assert_int_equal(tenon_version_number(), TENON_VERSION_NUMBER);
}
