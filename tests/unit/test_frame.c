/* Tests frames: mapping the operands, scalars and workspace of nested launches, and allocating a
 * workspace to pieces with lifetimes. */
#include "common/testing.h"

#include "runtime/queue/frame.h"

typedef struct args {
    int64_t a_offset, b_offset, work_offset, alpha, beta;
} args;

/* A kernel that reads operands 0 and 1 in elements of 4 bytes, uses workspace and two scalars. */
static const tn_patch patches[] = {
    {TN_PATCH_OFFSET, 0, offsetof(args, a_offset), 4},
    {TN_PATCH_OFFSET, 1, offsetof(args, b_offset), 4},
    {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(args, work_offset), 4},
    {TN_PATCH_SCALAR_F32, 0, offsetof(args, alpha), 1},
    {TN_PATCH_SCALAR_F64, 1, offsetof(args, beta), 1},
};
enum { PATCHES = sizeof patches / sizeof *patches };

static tn_launch launch_of(const args *template)
{
    return (tn_launch){.operands = {0, 1, TN_WORKSPACE},
                       .operand_count = 3,
                       .args = template,
                       .args_size = sizeof *template,
                       .patches = patches,
                       .patch_count = PATCHES};
}

static double bits_of_f64(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float bits_of_f32(int64_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(launch_without_frame_is_unchanged)
{
    const args template = {1, 2, 3, 4, 5};
    const tn_launch launch = launch_of(&template);
    tn_framed_launch framed;
    assert_ptr_equal(tn_frame_resolve(NULL, &launch, &framed), &launch);
    assert_int_equal(tn_frame_workspace(NULL), 0);
}

TEST(operands_and_workspace_are_mapped_with_their_offsets)
{
    const args template = {10, 20, 30, 0, 0};
    const tn_launch launch = launch_of(&template);
    tn_framed_launch framed;
    tn_frame frame = tn_frame_after(1000); /* the next boundary is 1024 */
    args resolved;
    tn_frame_operand(&frame, 0, 3, -8);
    tn_frame_operand(&frame, 1, TN_WORKSPACE, 256);
    const tn_launch *l = tn_frame_resolve(&frame, &launch, &framed);
    memcpy(&resolved, l->args, sizeof resolved);
    assert_int_equal(l->operands[0], 3);
    assert_int_equal(l->operands[1], TN_WORKSPACE);
    assert_int_equal(l->operands[2], TN_WORKSPACE);
    assert_int_equal(resolved.a_offset, 10 - 2);
    assert_int_equal(resolved.b_offset, 20 + 64);
    assert_int_equal(resolved.work_offset, 30 + 256);
    assert_int_equal(l->patch_count, PATCHES);
    assert_int_equal(l->patches[0].source, 3);
    assert_int_equal(l->patches[1].source, TN_WORKSPACE);
    assert_int_equal(tn_frame_workspace(&frame), 1024);
    assert_int_equal(template.a_offset, 10);
}

TEST(constant_scalars_are_written_and_others_renumbered)
{
    const args template = {0};
    const tn_launch launch = launch_of(&template);
    const double ones[] = {1, 0.5};
    tn_framed_launch framed;
    tn_frame frame = tn_frame_after(0), outer = tn_frame_after(0);
    args resolved;
    tn_frame_constants(&frame, ones, 1);
    frame.scalars[1].number = 4;
    outer.scalars[4].number = 7;
    frame.outer = &outer;
    const tn_launch *l = tn_frame_resolve(&frame, &launch, &framed);
    memcpy(&resolved, l->args, sizeof resolved);
    assert_true(bits_of_f32(resolved.alpha) == 1);
    assert_int_equal(l->patch_count, PATCHES - 1);
    assert_int_equal(l->patches[PATCHES - 2].kind, TN_PATCH_SCALAR_F64);
    assert_int_equal(l->patches[PATCHES - 2].source, 7);
    tn_frame_constants(&outer, ones, 2);
    outer.scalars[4].is_constant = true;
    outer.scalars[4].value = 0.25; /* a constant of the parent's own frame */
    l = tn_frame_resolve(&frame, &launch, &framed);
    memcpy(&resolved, l->args, sizeof resolved);
    assert_int_equal(l->patch_count, 3);
    assert_true(bits_of_f64(resolved.beta) == 0.25);
}

TEST(frames_nest)
{
    const args template = {0};
    const tn_launch launch = launch_of(&template);
    tn_recording recording = {.context = NULL};
    tn_framed_launch framed;
    tn_frame outer = tn_frame_after(128), inner = tn_frame_after(256);
    args resolved;
    tn_frame_operand(&outer, 0, 5, 40);
    tn_frame_operand(&outer, 2, TN_WORKSPACE, 512);
    tn_frame_operand(&inner, 0, 2, 4);            /* the parent's 2 is the call's workspace */
    tn_frame_operand(&inner, 1, TN_WORKSPACE, 8); /* in the parent's workspace */
    tn_frame_enter(&recording, &outer);
    tn_frame_enter(&recording, &inner);
    const tn_launch *l = tn_frame_resolve(recording.frame, &launch, &framed);
    memcpy(&resolved, l->args, sizeof resolved);
    assert_int_equal(l->operands[0], TN_WORKSPACE);
    assert_int_equal(4 * resolved.a_offset, 4 + 512);
    assert_int_equal(4 * resolved.b_offset, 8 + 128);
    assert_int_equal(4 * resolved.work_offset, 256 + 128);
    assert_int_equal(tn_frame_workspace(recording.frame), 384);
    tn_frame_leave(&recording);
    assert_ptr_equal(recording.frame, &outer);
    tn_frame_leave(&recording);
    assert_null(recording.frame);
}

TEST(an_offset_within_an_element_is_refused)
{
    const args template = {0};
    tn_launch launch = launch_of(&template);
    tn_recording recording = {.context = NULL};
    tn_framed_launch framed;
    tn_frame frame = tn_frame_after(0);
    tn_frame_operand(&frame, 1, 1, 6);
    assert_null(tn_frame_resolve(&frame, &launch, &framed));
    launch.kernel = "kernel";
    tn_frame_enter(&recording, &frame);
    assert_int_equal(tn_record("test", &recording, &launch), TENON_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tenon_last_error(), "kernel kernel: an operand begins within"));
    tn_frame_leave(&recording);
    tn_frame_operand(&frame, 1, 1, -8);
    assert_non_null(tn_frame_resolve(&frame, &launch, &framed));
}

TEST(too_many_patches_or_arguments_are_refused)
{
    const args template = {0};
    tn_launch launch = launch_of(&template);
    tn_recording recording = {.context = NULL};
    launch.kernel = "kernel";
    launch.patch_count = TN_MAX_PATCHES + 1;
    assert_int_equal(tn_record("test", &recording, &launch), TENON_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tenon_last_error(), "33 patches"));
    launch.patch_count = PATCHES;
    launch.args_size = TN_MAX_ARGS_SIZE + 1;
    assert_int_equal(tn_record("test", &recording, &launch), TENON_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tenon_last_error(), "897 bytes"));
}

TEST(room_excludes_the_parents_workspace)
{
    assert_int_equal(tn_frame_room(1024, 0), 1024);
    assert_int_equal(tn_frame_room(1024, 1), 1024 - 128);
    assert_int_equal(tn_frame_room(1024, 1024), 0);
    assert_int_equal(tn_frame_room(1000, 990), 0);
    assert_int_equal(tn_frame_room(0, 0), 0);
}

TEST(pieces_with_disjoint_lifetimes_share_memory)
{
    tn_piece piece[5];
    tn_pieces pieces = {.piece = piece};
    assert_int_equal(tn_pieces_add(&pieces, 1000, 0, 1), 0);
    assert_int_equal(tn_pieces_add(&pieces, 300, 1, 2), 1024);
    assert_int_equal(tn_pieces_add(&pieces, 500, 2, 2), 0); /* the first has ended */
    assert_int_equal(tn_pieces_add(&pieces, 512, 2, 3), 512);
    assert_int_equal(tn_pieces_add(&pieces, 1, 2, 2), 1024 + 384);
    assert_int_equal(pieces.bytes, 1024 + 384 + 128);
}

TEST(random_pieces_do_not_overlap)
{
    test_random random = test_random_for(2711);
    for (int round = 0; round < 200; round++) {
        enum { PIECES = 32 };
        tn_piece piece[PIECES];
        tn_pieces pieces = {.piece = piece};
        for (int i = 0; i < PIECES; i++) {
            const uint32_t first = (uint32_t)test_one_in(&random, 2) * 3 + (uint32_t)(i % 5);
            const uint64_t bytes = (uint64_t)(1 + (i * 37 + round * 101) % 700);
            (void)tn_pieces_add(&pieces, bytes, first, first + (uint32_t)((i + round) % 3));
        }
        for (uint32_t i = 0; i < pieces.count; i++)
            for (uint32_t j = 0; j < i; j++) {
                const tn_piece *a = &pieces.piece[i], *b = &pieces.piece[j];
                assert_true(a->last < b->first || b->last < a->first || a->at >= b->at + b->bytes ||
                            b->at >= a->at + a->bytes);
                assert_true(a->at % TN_WORKSPACE_ALIGNMENT == 0 &&
                            a->at + a->bytes <= pieces.bytes);
            }
    }
}
