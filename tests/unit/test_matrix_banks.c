/* Tests that NVIDIA's shared memory is accessed without bank conflicts, for blocks of factors and
 * sums laid out by cl_kernels/matrix/layout.h. Uses only lanes and addresses, which are the
 * operands of ldmatrix and cp.async. */
#include "common/testing.h"

#include "matrix/layout.h"

/* Largest number of elements in a line. */
enum { MOST = 128 };

/* NVIDIA's shared memory has 32 banks of 4 bytes and serves 8 lanes with 16 bytes each at a time.
 * Returns how many of the lanes access the busiest bank, given the elements at which their vectors
 * begin. */
static int busiest(int pack, const int places[8])
{
    int wanted[32] = {0}, most = 0;
    for (int lane = 0; lane < 8; lane++)
        for (int word = 0; word < 4; word++) {
            int *bank = &wanted[(places[lane] / pack + word) % 32];
            most = ++*bank > most ? *bank : most;
        }
    return most;
}

/* Layout of a block: the position of an element. */
typedef int place_of(int pack, int pitch, int line, int at);

static int without_swizzle(int pack, int pitch, int line, int at)
{
    (void)pack;
    return line * pitch + at;
}

typedef struct banks {
    place_of *place;
    int pack, length,
        pitch; /* elements per word, elements per line, and elements from one line to the next */
} banks;

/* For ldmatrix, the line and the element that each of 8 lanes addresses, counted from a first
 * lane. */
typedef int of_lane(int lane);

static int of_squares(const banks *b, of_lane *line, of_lane *at, int scale, int first_line,
                      int first, int squares)
{
    int most = 0;
    for (int square = 0; square < squares; square++) {
        int places[8];
        for (int r = 0; r < 8; r++) {
            const int lane = 8 * square + r;
            places[r] =
                b->place(b->pack, b->pitch, first_line + line(lane), first + at(lane) * scale);
        }
        const int here = busiest(b->pack, places);
        most = here > most ? here : most;
    }
    return most;
}

/* Returns the worst conflict of all ldmatrix loads of 64 lines, along K or across it. */
static int of_loads(const banks *b, bool across)
{
    const int step = across ? 16 : 8 * b->pack; /* step of one product, in elements of a line */
    int most = 0;
    for (int line = 0; line < 64; line += 16)
        for (int at = 0; at + step <= b->length; at += step) {
            const int of_a = across ? of_squares(b, matrix_ldmatrix_trans_a_k,
                                                 matrix_ldmatrix_trans_a_row, 1, line, at, 4)
                                    : of_squares(b, matrix_ldmatrix_a_row, matrix_ldmatrix_a_word,
                                                 b->pack, line, at, 4);
            const int of_b = across ? of_squares(b, matrix_ldmatrix_trans_b_k,
                                                 matrix_ldmatrix_trans_b_col, 1, line, at, 4)
                                    : of_squares(b, matrix_ldmatrix_b_col, matrix_ldmatrix_b_word,
                                                 b->pack, line, at, 4);
            most = of_a > most ? of_a : most;
            most = of_b > most ? of_b : most;
        }
    return most;
}

/* Returns the worst conflict of copies in which 8 lanes store consecutive vectors of the lines
 * together. */
static int of_copies(const banks *b)
{
    const int vector = 4 * b->pack, in_line = b->length / vector;
    int most = 0;
    for (int v = 0; v < 64 * in_line; v += 8) {
        int places[8];
        for (int l = 0; l < 8; l++)
            places[l] = b->place(b->pack, b->pitch, (v + l) / in_line, (v + l) % in_line * vector);
        const int here = busiest(b->pack, places);
        most = here > most ? here : most;
    }
    return most;
}

/* Swizzled, 8 lanes never access the same bank. Without swizzling such blocks have conflicts: in
 * loads if lines are not padded, and in copies of 64-byte lines if they are. */
TEST(blocks_without_bank_conflicts)
{
    for (int pack = 1; pack <= 4; pack *= 2)
        for (int vectors = 2; vectors <= 32; vectors *= 2) {
            const int length = 4 * pack * vectors;
            const banks swizzled = {matrix_swizzled, pack, length, length},
                        plain = {without_swizzle, pack, length, length},
                        padded = {without_swizzle, pack, length, length + 4 * pack};
            assert_int_equal(of_copies(&swizzled), 1);
            assert_int_equal(of_loads(&swizzled, false), 1);
            assert_int_equal(of_loads(&plain, false), vectors < 8 ? vectors : 8);
            if (vectors == 4)
                assert_int_equal(of_copies(&padded), 2);
            if (pack == 2) { /* the only size that ldmatrix transposes */
                assert_int_equal(of_loads(&swizzled, true), 1);
                assert_int_equal(of_loads(&plain, true), vectors < 8 ? vectors : 8);
            }
        }
}

/* Each element of a swizzled block has a unique place in its line, and the elements of a vector
 * stay together. */
TEST(swizzled_lines_keep_their_vectors)
{
    for (int pack = 1; pack <= 4; pack *= 2)
        for (int length = 4 * pack; length <= 128; length *= 2) {
            bool held[16 * MOST] = {false};
            for (int line = 0; line < 16; line++)
                for (int at = 0; at < length; at++) {
                    const int place = matrix_swizzled(pack, length, line, at),
                              first = matrix_swizzled(pack, length, line, at & -4 * pack);
                    assert_int_equal(place - first, at % (4 * pack));
                    assert_int_equal(place / length, line);
                    assert_false(held[place]);
                    held[place] = true;
                }
        }
}

/* Returns how many of 16 lanes with 8 bytes each access the busiest bank. */
static int busiest_of_pairs(const int places[16])
{
    int wanted[32] = {0}, most = 0;
    for (int lane = 0; lane < 16; lane++)
        for (int word = 0; word < 2; word++) {
            int *bank = &wanted[(places[lane] + word) % 32];
            most = ++*bank > most ? *bank : most;
        }
    return most;
}

/* Returns the worst conflict of lanes that store their pairs of sums, for all tiles of a row. */
static int of_sums_written(int width, int pitch)
{
    int most = 0;
    for (int x = 0; x < width * 16 / 32; x += 2)
        for (int first = 0; first < 32; first += 16) {
            const int i = x % 4, col = x / 4 * 8;
            int places[16];
            for (int l = 0; l < 16; l++)
                places[l] =
                    matrix_sum_place(pitch, width, matrix_d_row(MATRIX_NVIDIA, first + l, i),
                                     col + matrix_d_col(MATRIX_NVIDIA, first + l, i));
            const int here = busiest_of_pairs(places);
            most = here > most ? here : most;
        }
    return most;
}

/* Returns the worst conflict of 8 lanes that each load `count` sums, 4 at a time. */
static int of_sums_read(int width, int pitch, int count)
{
    int most = 0;
    for (int x = 0; x < 16 * width; x += 8 * count)
        for (int part = 0; part < count; part += 4) {
            int places[8];
            for (int l = 0; l < 8; l++)
                places[l] = matrix_sum_place(pitch, width, (x + l * count) / width,
                                             (x + l * count) % width + part);
            const int here = busiest(1, places);
            most = here > most ? here : most;
        }
    return most;
}

/* NVIDIA's sums are staged in shared memory before they are stored to d; rows 4 banks apart would
 * conflict. */
TEST(sums_without_bank_conflicts)
{
    for (int width = 32; width <= 64; width *= 2) {
        bool held[16 * MOST] = {false};
        assert_int_equal(of_sums_written(width, width + 8), 1);
        assert_int_equal(of_sums_written(width, width + 4), 2);
        assert_int_equal(of_sums_read(width, width + 8, 8), 1);
        assert_int_equal(of_sums_read(width, width + 8, 4), 1);
        for (int i = 0; i < 16 * width; i++) {
            const int place = matrix_sum_place(width + 8, width, i / width, i % width);
            assert_in_range(place, i / width * (width + 8), i / width * (width + 8) + width - 1);
            assert_false(held[place]);
            held[place] = true;
        }
    }
}

/* Returns the worst conflict of 32 lanes that store one sum each, for all sums of a lane: columns
 * of d with `rows` elements. */
static int of_columns_written(int unit, int rows, int pitch)
{
    int most = 0;
    for (int i = 0; i < 64; i++)
        for (int first = 0; first < MATRIX_LANES(unit); first += 32) {
            int wanted[32] = {0};
            for (int l = 0; l < 32; l++) {
                const int row = matrix_d_row(unit, first + l, i % MATRIX_D_COUNT(unit)),
                          col = matrix_d_col(unit, first + l, i % MATRIX_D_COUNT(unit));
                int *bank = &wanted[matrix_sum_place(pitch, rows, col, row) % 32];
                most = ++*bank > most ? *bank : most;
            }
        }
    return most;
}

/* Sums that are staged as columns. wgmma's columns have 64 rows, and their vectors are loaded
 * without conflicts; those of mma.sync have 16, and two lanes may access the same bank. */
TEST(columns_without_bank_conflicts)
{
    assert_int_equal(of_columns_written(MATRIX_WGMMA, 64, 68), 1);
    assert_int_equal(of_columns_written(MATRIX_WGMMA, 64, 64), 4);
    assert_int_equal(of_columns_written(MATRIX_NVIDIA, 16, 20), 1);
    assert_int_equal(of_sums_read(64, 68, 8), 1);
    assert_int_equal(of_sums_read(16, 20, 8), 2);
}
