#include "instructions.h"

#include "base/processor.h"
#include "runtime.h"
#include "runtime/context/context.h"
#include "runtime/probe/capability_trials.h"

/* Instructions by the features of a processor on which they are the first to be tried. */
static const struct instruction {
    const char *name, *features;
    int form;         /* of the capability */
    uint32_t longest; /* vector, in words */
} instructions[] = {
    {"vpdpbusd with the EVEX prefix", "avx512_vnni avx512vl", 0, 16},
    {"vpmaddwd of AVX-512", "avx512bw avx512vl", 1, 16},
    {"vpdpbusd with the VEX prefix", "avx_vnni", 0, 8},
    {"vpmaddwd of AVX2", "avx2", 1, 8},
};
#define INSTRUCTIONS (sizeof instructions / sizeof *instructions)

static tenon_context *usual_context;
static tenon_stream *usual_stream;

void test_begin_processor(const char *features, uint32_t lanes)
{
    usual_context = test_context;
    usual_stream = test_stream;
    test_context = test_new_context(NULL);
    test_context->capabilities.processor_features = features;
    if (lanes != 0)
        test_context->device.info.vector_width_f32 = lanes;
    test_stream = test_new_stream(test_context);
}

void test_end_processor(void)
{
    tenon_stream_destroy(test_stream);
    tenon_context_release(test_context);
    test_context = usual_context;
    test_stream = usual_stream;
}

void test_each_instruction(void (*run)(test_random *random), test_random *random)
{
    if (!test_context->device.is_host ||
        tn_trials[TENON_CAPABILITY_X86_DOT].ruled_out(&test_context->device) != NULL)
        skip();
    const uint32_t widest = test_context->device.info.vector_width_f32;
    for (size_t i = 0; i < INSTRUCTIONS; i++) {
        const struct instruction *in = &instructions[i];
        if (!tn_processor_has(NULL, in->features)) {
            print_message("the processor does not have %s\n", in->name);
            continue;
        }
        for (uint32_t lanes = 4; lanes <= widest && lanes <= in->longest; lanes *= 2) {
            test_begin_processor(in->features, lanes);
            assert_int_equal(tn_capability_form(test_context, TENON_CAPABILITY_X86_DOT), in->form);
            run(random);
            test_end_processor();
        }
    }
}
