/*
 * Trains a small network with Adam and dropout, and continues where an earlier run has ended:
 *
 *     resume FILE [STEPS]     1000 steps, if they are not given
 *
 * FILE is a checkpoint with the parameters, the moments of Adam, the step and the seed. It is saved
 * every 100 steps, at the end, and when the process is asked to end: by SIGTERM, which batch
 * systems send before they kill it. However often the program is ended and started again, its last
 * line is the same: the random numbers of a step depend only on the seed and the step.
 */
#include "regression.h"

#include <inttypes.h>

#define SAVING 100 /* steps between two checkpoints */

static void save(const char *path, uint64_t step, uint64_t seed)
{
    char step_text[24], seed_text[24];
    snprintf(step_text, sizeof step_text, "%" PRIu64, step);
    snprintf(seed_text, sizeof seed_text, "%" PRIu64, seed);
    const tenon_named_text texts[] = {{"step", step_text}, {"seed", seed_text}};
    TRY(tenon_checkpoint_save(stream, path, states, STATES, texts, 2));
    printf("saved step %" PRIu64 "\n", step);
    fflush(stdout);
}

static uint64_t number(const tenon_checkpoint *checkpoint, const char *name)
{
    const char *text = tenon_checkpoint_text(checkpoint, name);
    char *end = NULL;
    const uint64_t value = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0') {
        fprintf(stderr, "resume: the checkpoint has no number \"%s\"\n", name);
        exit(1);
    }
    return value;
}

/* Reads the checkpoint, if the file exists. */
static void load(const char *path, uint64_t *step, uint64_t *seed)
{
    tenon_checkpoint *checkpoint;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return;
    fclose(file);
    TRY(tenon_checkpoint_open(path, &checkpoint));
    TRY(tenon_checkpoint_load(stream, checkpoint, states, STATES));
    *step = number(checkpoint, "step");
    *seed = number(checkpoint, "seed");
    tenon_checkpoint_close(checkpoint);
    printf("resumed step %" PRIu64 "\n", *step);
}

/* Prints the loss and a hash (FNV-1a) of the bits of the parameters. */
static void print_result(uint64_t step)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    float last;
    TRY(tenon_tensor_download(stream, &loss, &last, sizeof last, NULL));
    for (int i = 0; i < PARAMETERS; i++) {
        unsigned char bytes[INPUTS * HIDDEN * sizeof(float)];
        const size_t size = (size_t)tenon_tensor_elements(&states[i].tensor) * sizeof(float);
        TRY(tenon_tensor_download(stream, &states[i].tensor, bytes, size, NULL));
        for (size_t b = 0; b < size; b++)
            hash = (hash ^ bytes[b]) * UINT64_C(0x100000001b3);
    }
    printf("step %" PRIu64 "  loss %.4f  bits %016" PRIx64 "\n", step, last, hash);
}

int main(int argc, char **argv)
{
    const long steps = argc > 2 ? atol(argv[2]) : 1000;
    uint64_t step = 0, seed = 2024;
    if (argc < 2 || argc > 3 || steps < 1) {
        fprintf(stderr, "usage: resume FILE [STEPS], at least 1\n");
        return 2;
    }
    TRY(tenon_termination_watch());
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    make_tensors();
    load(argv[1], &step, &seed);
    while (step < (uint64_t)steps && !tenon_termination_requested()) {
        train(++step, seed);
        if (step % SAVING == 0 && step < (uint64_t)steps)
            save(argv[1], step, seed);
    }
    save(argv[1], step, seed);
    print_result(step);
    destroy_tensors();
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    return 0;
}
