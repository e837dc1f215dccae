/* Trains on eight members with three kinds of parallel training together: two copies of the network
 * (data parallel), each of two stages (pipeline parallel), each of which divides its products
 * between two members (tensor parallel). The parameters have the same bits as after training on one
 * device that computes the parts of the products one after the other, and adds their sums, and the
 * gradients of the copies, in the same order.
 *
 *     cc three_kinds.c -o three_kinds -ltenon -lm && ./three_kinds
 *     mpicc -DWITH_MPI three_kinds.c -o three_kinds -ltenon -lm && mpirun -n 8 ./three_kinds
 */
#include "members.h"
#include "three_kinds.h"

/* Makes the groups along an axis of the grid. */
static void open_lines(const members *all, int axis, tenon_group **lines)
{
    const uint32_t a = axis == DATA ? strides[PIPELINE] : strides[DATA],
                   b = axis == TENSOR ? strides[PIPELINE] : strides[TENSOR];
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t first = i / 2 * a + i % 2 * b, ranks[] = {first, first + strides[axis]};
        lines[i] = members_group(all, 2, ranks);
    }
}

/* Takes a step with the stages of this process. `sums`: the groups along the copies. */
static void train(stage *own, uint32_t count, tenon_group *const *sums, uint64_t step)
{
    tenon_pipeline_step steps[2 * STAGES * MICRO_BATCHES];
    const uint32_t length = sizeof steps / sizeof *steps;
    TRY(tenon_one_forward_one_backward(STAGES, MICRO_BATCHES, length, steps));
    for (uint32_t k = 0; k < COPIES * length; k++)
        for (uint32_t s = 0; s < count; s++) {
            const tenon_pipeline_step *now = &steps[k % length];
            if (own[s].copy != k / length || own[s].number != now->stage)
                continue;
            if (now->is_forward)
                forward(&own[s], step, now->micro_batch);
            else
                backward(&own[s], now->micro_batch);
        }
    for (uint32_t line = 0; line < STAGES * PARTS; line++) {
        tenon_tensor x[COPIES * DIVIDED_PARAMETERS];
        uint32_t found = 0;
        for (uint32_t s = 0; s < count; s++)
            for (uint32_t i = 0; i < own[s].count; i++)
                if (own[s].number * PARTS + own[s].part + i == line)
                    memcpy(&x[DIVIDED_PARAMETERS * found++], own[s].members[i].sums,
                           sizeof own[s].members[i].sums);
        if (found > 0)
            TRY(tenon_group_all_reduce_many(sums[line], TENON_GROUP_SUM, DIVIDED_PARAMETERS, x, x,
                                            NULL));
    }
    for (uint32_t s = 0; s < count; s++)
        update(&own[s], step);
}

/* Takes a step with both stages on one device. */
static void train_alone(stage *one, uint64_t step)
{
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        one[0].copy = one[1].copy = copy;
        for (uint32_t micro = 0; micro < MICRO_BATCHES; micro++) {
            forward(&one[0], step, micro);
            forward(&one[1], step, micro);
            backward(&one[1], micro);
            backward(&one[0], micro);
        }
        for (uint32_t s = 0; s < STAGES; s++)
            for (uint32_t i = 0; i < PARTS; i++)
                divided_keep(&one[s].members[i], copy == 0);
    }
    for (uint32_t s = 0; s < STAGES; s++)
        update(&one[s], step);
}

/* Prints how many parameters of each member differ. Returns 1 if any does, otherwise 0. */
static int report(const stage *s, const stage *one)
{
    int failed = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const int64_t different =
            divided_differences(&s->members[i], &one[s->number].members[s->part + i]);
        printf("copy %u, stage %u, part %u: %lld parameters differ from one device\n",
               (unsigned)s->copy, (unsigned)s->number, (unsigned)(s->part + i),
               (long long)different);
        failed |= different != 0;
    }
    return failed;
}

int main(int argc, char **argv)
{
    members all = members_open(&argc, &argv, MEMBERS, false);
    const uint32_t each = all.local < PARTS ? 1 : PARTS, count = all.local / each;
    static stage own[COPIES * STAGES], one[STAGES];
    tenon_group *lines[AXES][4];
    tenon_stream *stream;
    float first = 0;
    int failed = 0;
    if (all.size != MEMBERS) {
        fprintf(stderr, "three_kinds: %u members, must be %d\n", (unsigned)all.size, MEMBERS);
        return 2;
    }
    for (int axis = 0; axis < AXES; axis++)
        open_lines(&all, axis, lines[axis]);
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t rank = all.first + k * each, in_flight = STAGES - rank / PARTS % STAGES;
        own[k] = stage_open(&all.streams[k * each], rank, each, in_flight);
        own[k].sums = lines[TENSOR][rank / PARTS];
        for (uint32_t i = 0; i < each; i++)
            own[k].pipelines[i] = lines[PIPELINE][own[k].copy * PARTS + own[k].part + i];
    }
    TRY(tenon_stream_create(all.alone, NULL, &stream));
    for (uint32_t s = 0; s < STAGES; s++)
        one[s] = stage_open((tenon_stream *[]){stream, stream}, s * PARTS, PARTS, 1);
    one[0].other = &one[1], one[1].other = &one[0];
    for (uint64_t step = 1; step <= STEPS; step++) {
        train(own, count, lines[DATA], step);
        train_alone(one, step);
        if (step == 1)
            first = stage_error(&one[1]);
    }
    for (int line = 0; line < AXES * 4; line++)
        if (lines[line / 4][line % 4] != NULL)
            TRY(tenon_group_wait(lines[line / 4][line % 4]));
    for (uint32_t k = 0; k < count; k++)
        failed |= report(&own[k], one);
    const float last = stage_error(&one[1]);
    printf("error %.3g, at first %.3g\n", (double)last, (double)first);
    for (int line = 0; line < AXES * 4; line++)
        tenon_group_destroy(lines[line / 4][line % 4]);
    for (uint32_t k = 0; k < count; k++)
        stage_close(&own[k]);
    for (uint32_t s = 0; s < STAGES; s++)
        stage_close(&one[s]);
    tenon_stream_destroy(stream);
    members_close(&all);
    return failed != 0 || !(last < first / 10);
}
