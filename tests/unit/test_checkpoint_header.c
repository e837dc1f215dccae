/* Tests of reading checkpoint files without a device: the grammar of the header, every truncation,
 * and random mutations. */
#include "common/temporary.h"
#include "common/testing.h"

#include "checkpoint/header.h"

#include <unistd.h>

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        const tenon_status test_status = (call);                                                   \
        if (test_status != TENON_OK)                                                               \
            fail_msg("%s: %s", #call, tenon_last_error());                                         \
    } while (0)

#define MUTATIONS 4000

/* Writes a file with this header and `data` zeros after it. */
static void write_file(const char *path, const char *header, size_t size, size_t data)
{
    unsigned char *bytes = calloc(1, 8 + size + data + 1);
    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)size >> 8 * i);
    memcpy(bytes + 8, header, size);
    temporary_write(path, bytes, 8 + size + data);
    free(bytes);
}

/* Opens a file with this header. Returns the message, or NULL if it was opened. */
static const char *open_header(const char *path, const char *header, size_t size, size_t data)
{
    tenon_checkpoint *checkpoint = NULL;
    write_file(path, header, size, data);
    const tenon_status status = tenon_checkpoint_open(path, &checkpoint);
    assert_true((status == TENON_OK) == (checkpoint != NULL));
    tenon_checkpoint_close(checkpoint);
    if (status != TENON_OK)
        assert_int_equal(status, TENON_ERROR_FILE);
    return status != TENON_OK ? tenon_last_error() : NULL;
}

#define W(members)             "{\"w\":{" members "}}"
#define FLOATS(shape, offsets) "\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets

TEST(valid_headers)
{
    static const struct {
        const char *header;
        size_t data;
    } valid[] = {
        {"{}", 0},
        {"{ \n\t\r}   ", 0},
        {"{\"__metadata__\":{}}", 0},
        {"{\"__metadata__\":{\"a\":\"\",\"\":\"b\"}}", 0},
        {W(FLOATS("[]", "[0,4]")), 4},
        {W(FLOATS("[0]", "[0,0]")), 0},
        {W(FLOATS("[2,3]", "[0,24]")), 24},
        {W(FLOATS("[1,1,1,1,1,1,1,1,1,1,2]", "[0,8]")), 8},
        {"{\"w\" : { \"data_offsets\" : [ 0 , 4 ] , \"shape\" : [ ] , \"dtype\" : \"F32\" } }", 4},
        {"{\"b\":{" FLOATS("[]", "[4,8]") "},\"a\":{" FLOATS("[]", "[0,4]") "}}", 8},
        {"{\"b\":{" FLOATS("[0]", "[4,4]") "},\"a\":{" FLOATS("[]", "[0,4]") "}}", 4},
        {W("\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]"), 3},
        {W("\"dtype\":\"NEW\",\"shape\":[3,2],\"data_offsets\":[0,5]"), 5},
    };
    char *folder = temporary_make();
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        const char *why = open_header(temporary_path(folder, "f"), valid[i].header,
                                      strlen(valid[i].header), valid[i].data);
        if (why != NULL)
            fail_msg("%s: %s", valid[i].header, why);
    }
    temporary_remove(folder);
}

/* A header, and what its message contains. */
typedef struct invalid_header {
    const char *header;
    size_t data;
    const char *message;
} invalid_header;

static const invalid_header invalid[] = {
    {"", 0, "byte 0: expected '{'"},
    {" {}", 0, "byte 0: expected '{'"},
    {"[]", 0, "byte 0: expected '{'"},
    {"{", 0, "byte 1: expected '\"'"},
    {"{}x", 0, "byte 2: expected the end of the header"},
    {"{\"w\"}", 0, "byte 4: expected ':'"},
    {"{\"w\":1}", 0, "byte 5: expected '{'"},
    {"{\"w", 0, "expected the end of a string"},
    {"{\"\\x\":{}}", 0, "escape sequence"},
    {"{\"\\u12\":{}}", 0, "escape sequence"},
    {"{\"\\u0000\":{}}", 0, "escape sequence"},
    {"{\"\\ud800\":{}}", 0, "escape sequence"},
    {"{\"\\ud800\\u0041\":{}}", 0, "escape sequence"},
    {"{\"\\udc00\":{}}", 0, "escape sequence"},
    {"{\"a\nb\":{}}", 0, "a character in UTF-8"},
    {"{\"\xff\":{}}", 0, "a character in UTF-8"},
    {"{\"\xc0\xaf\":{}}", 0, "a character in UTF-8"},
    {"{\"\xed\xa0\x80\":{}}", 0, "a character in UTF-8"},
    {"{\"\xf4\x90\x80\x80\":{}}", 0, "a character in UTF-8"},
    {W(""), 0, "\"w\" lacks"},
    {W("\"dtype\":\"F32\",\"shape\":[]"), 4, "\"w\" lacks"},
    {W(FLOATS("[]", "[0,4]") ",\"dtype\":\"F32\""), 4, "second or unknown member \"dtype\""},
    {W(FLOATS("[]", "[0,4]") ",\"more\":1"), 4, "second or unknown member \"more\""},
    {W(FLOATS("[]", "[0,4]") ","), 4, "expected '\"'"},
    {W(FLOATS("[-1]", "[0,4]")), 4, "expected an integer"},
    {W(FLOATS("[1.0]", "[0,4]")), 4, "expected ']'"},
    {W(FLOATS("[01]", "[0,4]")), 4, "expected an integer"},
    {W(FLOATS("[1e0]", "[0,4]")), 4, "expected ']'"},
    {W(FLOATS("[1,]", "[0,4]")), 4, "expected an integer"},
    {W(FLOATS("[18446744073709551616]", "[0,4]")), 4, "expected an integer"},
    {W(FLOATS("[9223372036854775808]", "[0,4]")), 4, "\"w\" has a shape whose size overflows"},
    {W(FLOATS("[4294967296,4294967296]", "[0,0]")), 0, "\"w\" has a shape whose size overflows"},
    {W(FLOATS("[4611686018427387904,2]", "[0,0]")), 0, "\"w\" has a shape whose size overflows"},
    {W(FLOATS("[4611686018427387904]", "[0,0]")), 0, "\"w\" has a shape whose size overflows"},
    {W(FLOATS("[1]", "[0,4,8]")), 4, "expected ']'"},
    {W(FLOATS("[1]", "[0]")), 4, "expected ','"},
    {W(FLOATS("[1]", "[4,0]")), 4, "ends at byte 0, before its beginning, 4"},
    {W(FLOATS("[2]", "[0,4]")), 4, "\"w\" has 2 elements of F32 in 4 bytes, must be 64 bits"},
    {W("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]"), 2, "3 elements of F4"},
    {W("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]"), 1, "3 elements of F4"},
    {W(FLOATS("[1]", "[4,8]")), 8, "begins at byte 4, and the one before it ends at 0"},
    {W(FLOATS("[1]", "[0,4]")), 3, "the tensors have 4 bytes, and the file has 3"},
    {W(FLOATS("[1]", "[0,4]")), 5, "the tensors have 4 bytes, and the file has 5"},
    {"{\"a\":{" FLOATS("[]", "[0,4]") "},\"b\":{" FLOATS("[]", "[3,7]") "}}", 7,
     "\"b\" begins at byte 3, and the one before it ends at 4"},
    {"{\"a\":{" FLOATS("[]", "[0,4]") "},\"b\":{" FLOATS("[]", "[5,9]") "}}", 9,
     "\"b\" begins at byte 5"},
    {"{\"a\":{" FLOATS("[]", "[0,4]") "},\"a\":{" FLOATS("[]", "[4,8]") "}}", 8,
     "two tensors are named \"a\""},
    {"{\"a\":{" FLOATS("[]", "[0,4]") "},\"\\u0061\":{" FLOATS("[]", "[4,8]") "}}", 8,
     "two tensors are named \"a\""},
    {"{\"__metadata__\":{\"a\":1}}", 0, "expected '\"'"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "two texts are named \"a\""},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "second \"__metadata__\""},
};

TEST(invalid_headers)
{
    char *folder = temporary_make();
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        const char *path = temporary_path(folder, "f");
        const char *why =
            open_header(path, invalid[i].header, strlen(invalid[i].header), invalid[i].data);
        if (why == NULL) {
            fail_msg("%s was accepted", invalid[i].header);
        } else {
            assert_contains(why, "tenon_checkpoint_open: ");
            assert_contains(why, path);
            assert_contains(why, invalid[i].message);
        }
    }
    temporary_remove(folder);
}

TEST(files_that_are_none)
{
    tenon_checkpoint *checkpoint;
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    assert_int_equal(tenon_checkpoint_open(path, &checkpoint), TENON_ERROR_FILE);
    assert_null(checkpoint);
    assert_contains(tenon_last_error(), path);
    assert_int_equal(tenon_checkpoint_open(folder, &checkpoint), TENON_ERROR_FILE);
    temporary_write(path, "1234567", 7);
    assert_int_equal(tenon_checkpoint_open(path, &checkpoint), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "has 7 bytes");
    /* A header size of 2^63 and more. */
    temporary_write(path, "PK\3\4 not a tensor", 17);
    assert_int_equal(tenon_checkpoint_open(path, &checkpoint), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "must be at most 100000000");
    assert_int_equal(tenon_checkpoint_open(NULL, &checkpoint), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_open(path, NULL), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_count(NULL), 0);
    assert_null(tenon_checkpoint_name(NULL, 0));
    assert_int_equal(tenon_checkpoint_text_count(NULL), 0);
    assert_null(tenon_checkpoint_text_name(NULL, 0));
    assert_null(tenon_checkpoint_text(NULL, "a"));
    tenon_checkpoint_close(NULL);
    temporary_remove(folder);
}

TEST(links_are_followed_by_readers)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f"), *link = temporary_path(folder, "link");
    tenon_checkpoint *checkpoint;
    write_file(path, "{}", 2, 0);
    assert_int_equal(symlink("f", link), 0);
    assert_ok(tenon_checkpoint_open(link, &checkpoint));
    tenon_checkpoint_close(checkpoint);
    temporary_remove(folder);
}

/* Tensors and texts with names that need escapes. */
enum { TENSORS = 5, TEXTS = 3 };
static tenon_named_tensor tensors[TENSORS];
static const tenon_named_text texts[TEXTS] = {
    {"step", "300"},
    {"quoted \"\\\" \x01\x1f\t\n", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"", ""}};

static void set_tensors(void)
{
    static const char *const names[TENSORS] = {"w", "a\"b\\c\n", "\xf0\x9f\x98\x80", "", "empty"};
    static const tenon_dtype types[TENSORS] = {TENON_DTYPE_BF16, TENON_DTYPE_F64, TENON_DTYPE_U8,
                                               TENON_DTYPE_I32, TENON_DTYPE_F16};
    static const int64_t shapes[TENSORS][3] = {{2, 3, 1}, {3}, {5}, {0}, {4, 0}};
    static const uint32_t ranks[TENSORS] = {3, 1, 1, 0, 2};
    for (int i = 0; i < TENSORS; i++)
        tensors[i] =
            (tenon_named_tensor){names[i], tenon_tensor_view(types[i], ranks[i], shapes[i])};
}

/* Composes a file of these tensors with zeros as elements; the caller frees it. */
static unsigned char *compose(size_t *size)
{
    char *text;
    size_t length, data = 0;
    set_tensors();
    assert_ok(tn_header_write("test", tensors, TENSORS, texts, TEXTS, &text, &length));
    for (int i = 0; i < TENSORS; i++)
        data += (size_t)tenon_tensor_elements(&tensors[i].tensor) *
                tenon_dtype_size(tensors[i].tensor.dtype);
    *size = 8 + length + data;
    unsigned char *bytes = calloc(1, *size);
    assert_non_null(bytes);
    bytes[0] = (unsigned char)length;
    bytes[1] = (unsigned char)(length >> 8);
    memcpy(bytes + 8, text, length);
    assert_int_equal(length % 8, 0);
    free(text);
    return bytes;
}

TEST(headers_return_what_was_written)
{
    size_t size;
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    unsigned char *bytes = compose(&size);
    tenon_checkpoint *checkpoint;
    temporary_write(path, bytes, size);
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    assert_int_equal(tenon_checkpoint_count(checkpoint), TENSORS);
    assert_int_equal(tenon_checkpoint_text_count(checkpoint), TEXTS);
    for (uint32_t i = 0; i < TEXTS; i++) {
        assert_string_equal(tenon_checkpoint_text_name(checkpoint, i), texts[i].name);
        assert_string_equal(tenon_checkpoint_text(checkpoint, texts[i].name), texts[i].text);
    }
    assert_null(tenon_checkpoint_text_name(checkpoint, TEXTS));
    assert_null(tenon_checkpoint_text(checkpoint, "absent"));
    assert_null(tenon_checkpoint_text(checkpoint, NULL));
    assert_null(tenon_checkpoint_name(checkpoint, TENSORS));
    for (uint32_t i = 0; i < TENSORS; i++) {
        tenon_tensor view;
        assert_ok(tenon_checkpoint_view(checkpoint, tensors[i].name, &view));
        assert_memory_equal(&view, &tensors[i].tensor, sizeof view);
    }
    /* Larger elements first. */
    assert_string_equal(tenon_checkpoint_name(checkpoint, 0), "a\"b\\c\n");
    assert_ok(tenon_checkpoint_check(checkpoint, tensors, TENSORS));
    tenon_checkpoint_close(checkpoint);
    free(bytes);
    temporary_remove(folder);
}

TEST(other_models_are_named_with_both_shapes)
{
    size_t size;
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    unsigned char *bytes = compose(&size);
    tenon_checkpoint *checkpoint;
    tenon_tensor view;
    temporary_write(path, bytes, size);
    assert_ok(tenon_checkpoint_open(path, &checkpoint));
    tensors[0].tensor.shape[1] = 4;
    assert_int_equal(tenon_checkpoint_check(checkpoint, tensors, TENSORS), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "tensor \"w\" is bf16 2x4x1, in the file bf16 2x3x1");
    set_tensors();
    tensors[0].tensor.dtype = TENON_DTYPE_F16;
    assert_int_equal(tenon_checkpoint_check(checkpoint, tensors, TENSORS), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "tensor \"w\" is f16 2x3x1, in the file bf16 2x3x1");
    set_tensors();
    tensors[0].name = "v";
    assert_int_equal(tenon_checkpoint_check(checkpoint, tensors, TENSORS), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "has no tensor \"v\"; it has 5 others");
    set_tensors();
    assert_int_equal(tenon_checkpoint_check(checkpoint, tensors, TENSORS - 1), TENON_ERROR_FILE);
    assert_contains(tenon_last_error(), "has a tensor \"empty\" (F16), which is not expected");
    tensors[1] = tensors[0];
    assert_int_equal(tenon_checkpoint_check(checkpoint, tensors, TENSORS),
                     TENON_ERROR_INVALID_ARGUMENT);
    assert_contains(tenon_last_error(), "named \"w\"");
    assert_int_equal(tenon_checkpoint_check(NULL, tensors, 0), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_check(checkpoint, NULL, 1), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_view(checkpoint, "v", &view), TENON_ERROR_FILE);
    assert_int_equal(tenon_checkpoint_view(checkpoint, NULL, &view), TENON_ERROR_INVALID_ARGUMENT);
    assert_int_equal(tenon_checkpoint_view(checkpoint, "w", NULL), TENON_ERROR_INVALID_ARGUMENT);
    tenon_checkpoint_close(checkpoint);
    free(bytes);
    temporary_remove(folder);
}

TEST(unknown_types_and_ranks_are_listed_and_refused)
{
    static const struct {
        const char *header, *message;
        size_t data;
    } cases[] = {
        {W("\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]"), "has the type U64", 8},
        {W("\"dtype\":\"NEW\",\"shape\":[1],\"data_offsets\":[0,7]"), "has the type NEW", 7},
        {W(FLOATS("[1,1,1,1,1,1,1,1,1]", "[0,4]")), "has 9 dimensions", 4},
        {W(FLOATS("[0,4294967296,4294967296]", "[0,0]")), "strides overflow", 0}};
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_checkpoint *checkpoint;
        tenon_tensor view = {0};
        write_file(path, cases[i].header, strlen(cases[i].header), cases[i].data);
        assert_ok(tenon_checkpoint_open(path, &checkpoint));
        assert_string_equal(tenon_checkpoint_name(checkpoint, 0), "w");
        assert_int_equal(tenon_checkpoint_view(checkpoint, "w", &view), TENON_ERROR_UNSUPPORTED);
        assert_contains(tenon_last_error(), cases[i].message);
        assert_int_equal(view.dtype, TENON_DTYPE_INVALID);
        tenon_checkpoint_close(checkpoint);
    }
    temporary_remove(folder);
}

TEST(every_truncation_is_refused)
{
    size_t size;
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    unsigned char *bytes = compose(&size);
    for (size_t left = 0; left < size; left++) {
        tenon_checkpoint *checkpoint;
        temporary_write(path, bytes, left);
        assert_int_equal(tenon_checkpoint_open(path, &checkpoint), TENON_ERROR_FILE);
        assert_null(checkpoint);
    }
    free(bytes);
    temporary_remove(folder);
}

/* Changes some bytes of the header, the size among them: bits, digits, deletions, copies of parts.
 */
static size_t mutate(unsigned char *bytes, size_t size, test_random *random)
{
    const int64_t times = test_between(random, 1, 4);
    for (int64_t i = 0; i < times; i++) {
        const int64_t last = (int64_t)size - 1;
        const size_t at = (size_t)test_between(random, 0, last);
        const size_t to = (size_t)test_between(random, 8, last);
        const size_t room = size - (at > to ? at : to);
        const size_t part = (size_t)test_between(random, 0, room < 20 ? (int64_t)room : 20);
        switch (test_between(random, 0, 3)) {
        case 0:
            bytes[at] ^= (unsigned char)(1u << test_between(random, 0, 7));
            break;
        case 1:
            bytes[at] = (unsigned char)"0123456789[]{},:\"\\u-. \n"[test_between(random, 0, 22)];
            break;
        case 2:
            memmove(bytes + to, bytes + at, part);
            break;
        default:
            memmove(bytes + at, bytes + at + part, size - at - part);
            size -= size > 40 + part ? part : 0;
        }
    }
    return size;
}

TEST(random_mutations_never_crash)
{
    test_random random = test_random_for(3101);
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "f");
    int opened = 0, refused = 0;
    for (int i = 0; i < MUTATIONS; i++) {
        size_t size;
        tenon_checkpoint *checkpoint;
        unsigned char *bytes = compose(&size);
        const size_t changed = mutate(bytes, size, &random);
        temporary_write(path, bytes, changed);
        free(bytes);
        const tenon_status status = tenon_checkpoint_open(path, &checkpoint);
        opened += status == TENON_OK;
        refused += status == TENON_ERROR_FILE;
        for (uint32_t t = 0; t < tenon_checkpoint_count(checkpoint); t++) {
            tenon_tensor view;
            const char *name = tenon_checkpoint_name(checkpoint, t);
            const tenon_status viewed = tenon_checkpoint_view(checkpoint, name, &view);
            if (viewed == TENON_OK)
                assert_ok(tenon_tensor_check(&view));
        }
        tenon_checkpoint_close(checkpoint);
    }
    assert_int_equal(opened + refused, MUTATIONS);
    assert_true(opened > MUTATIONS / 200 && refused > MUTATIONS / 20);
    temporary_remove(folder);
}
