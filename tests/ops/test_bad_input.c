/*
 * Tests every operation with every kind of invalid argument except views, which test_bad_views.c
 * tests. Each must be refused with the correct status, a message that names operation and argument,
 * and an untouched output.
 */
#include "offer.h"
#include "ops/common/epilogue.h"
#include "ops/registry.h"

#include <math.h>

TEST(sound_calls_are_accepted)
{
    for (size_t i = 0; i < tn_operation_count; i++) {
        offer o;
        tenon_plan *plan;
        prepare(&o, tn_operations[i]);
        assert_ok(
            tn_operation_call_plan(tn_operations[i], test_context, &o.params, o.arguments, &plan));
        assert_int_equal(tenon_plan_operands(plan), tn_operations[i]->operand_count);
        tenon_plan_release(plan);
        dismiss(&o);
        prepare(&o, tn_operations[i]);
        assert_ok(tn_operation_call(tn_operations[i], test_stream, &o.params, o.arguments, NULL));
        for (uint32_t a = 0; a < tn_operations[i]->operand_count; a++) {
            if (o.arguments[a] == NULL || !tn_operation_writes(tn_operations[i], a))
                continue;
            assert_false(test_untouched(&o.tensors[a]));
            test_upload(&o.tensors[a]);
        }
        dismiss(&o);
    }
}

TEST(null_arguments)
{
    for (size_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        offer o;
        prepare(&o, op);
        for (uint32_t a = 0; a < op->operand_count; a++) {
            if (op->operands[a].optional)
                continue;
            o.arguments[a] = NULL;
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, op->operands[a].name);
            o.arguments[a] = &o.views[a];
        }
        tenon_plan *plan = NULL;
        assert_refused(tn_operation_call(op, NULL, &o.params, o.arguments, NULL),
                       TENON_ERROR_INVALID_ARGUMENT, op->name, "stream");
        assert_refused(tn_operation_call_plan(op, NULL, &o.params, o.arguments, &plan),
                       TENON_ERROR_INVALID_ARGUMENT, plan_name(op), "context");
        assert_refused(tn_operation_call_plan(op, test_context, &o.params, o.arguments, NULL),
                       TENON_ERROR_INVALID_ARGUMENT, plan_name(op), "plan");
        dismiss(&o);
    }
}

TEST(impossible_struct_sizes)
{
    for (size_t i = 0; i < tn_operation_count; i++) {
        offer o;
        prepare(&o, tn_operations[i]);
        const uint32_t known = o.params.head.struct_size;
        assert_int_equal(known, tn_operations[i]->params_size);
        const uint32_t sizes[] = {0, 1, known - 1, known + 2, 8192, UINT32_MAX};
        for (int s = 0; s < 6; s++) {
            o.params.head.struct_size = sizes[s];
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "struct_size");
            if (tn_operations[i]->initializer != NULL)
                assert_contains(tenon_last_error(), tn_operations[i]->initializer);
        }
        o.params.head.struct_size = known;
        o.params.head.flags = 1U << 31;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "flags");
        dismiss(&o);
    }
}

static void accept_plan(offer *o)
{
    tenon_plan *plan;
    assert_ok(tn_operation_call_plan(o->op, test_context, &o->params, o->arguments, &plan));
    tenon_plan_release(plan);
}

/* The struct of an older caller is shorter, and the library must not read the memory after it; that
 * of a newer caller is longer, with zeros where it requests nothing new. */
TEST(structs_of_other_versions)
{
    for (size_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        offer o;
        prepare(&o, op);
        const uint32_t known = o.params.head.struct_size;
        assert_true(known + 8 <= sizeof o.params.bytes);
        memset(o.params.bytes + known, 0, 8);
        o.params.head.struct_size = known + 8;
        accept_plan(&o);
        o.params.bytes[known + 7] = 1;
        refuse(&o, TENON_ERROR_UNSUPPORTED, "struct_size");
        dismiss(&o);
        if (op->params_size < sizeof(tn_params_head) + 8 || op->epilogue_at != 0)
            continue; /* epilogues_of_other_versions tests those with an epilogue */
        /* The last member takes its default, which no example of these operations changes. */
        prepare(&o, op);
        memcpy(o.params.bytes, op->defaults, known);
        tenon_plan *plan;
        tenon_status expected =
            tn_operation_call_plan(op, test_context, &o.params, o.arguments, &plan);
        tenon_plan_release(plan);
        o.params.head.struct_size = known - 8;
        memset(o.params.bytes + known - 8, 0xFF, 8);
        assert_int_equal(tn_operation_call_plan(op, test_context, &o.params, o.arguments, &plan),
                         expected);
        tenon_plan_release(plan);
        dismiss(&o);
    }
}

/* Checks parameters that are `more` bytes longer than the library's, with an epilogue that is
 * `more_of_epilogue` bytes longer. */
static void check_sizes(const tn_operation *op, int32_t more, int32_t more_of_epilogue)
{
    offer o;
    prepare(&o, op);
    unsigned char *epilogue = o.params.bytes + op->epilogue_at,
                  *end = epilogue + sizeof(tenon_epilogue),
                  *unknown = more_of_epilogue < 0 ? end + more_of_epilogue
                                                  : o.params.bytes + op->params_size;
    const uint32_t size = (uint32_t)((int32_t)sizeof(tenon_epilogue) + more_of_epilogue);
    memset(o.params.bytes + op->params_size, 0, 8);
    if (more < 0) /* memory after an older caller's struct does not belong to it */
        memset(end + more, 0xFF, (size_t)-more);
    memcpy(epilogue, &size, sizeof size);
    o.params.head.struct_size += (uint32_t)more;
    if (more_of_epilogue > more) {
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "params: epilogue: struct_size is ");
    } else {
        accept_plan(&o);
        unknown[7] = 1;
        if (more > 0 || more_of_epilogue < more)
            refuse(&o, TENON_ERROR_UNSUPPORTED, "is not 0");
    }
    dismiss(&o);
}

/* Callers with a shorter or longer epilogue than the library's: missing members take their
 * defaults, and additional ones must be 0. An epilogue that does not fit into its struct belongs to
 * no version. */
TEST(epilogues_of_other_versions)
{
    int tried = 0;
    for (size_t i = 0; i < tn_operation_count; i++)
        for (int32_t more = -8; tn_operations[i]->epilogue_at != 0 && more <= 8; more += 8)
            for (int32_t of_epilogue = -8; of_epilogue <= 8; of_epilogue += 8, tried++)
                check_sizes(tn_operations[i], more, of_epilogue);
    /* gemm, also with i8, mixed types, ragged and packed; conv, also with i8, mixed types and
     * packed, and its transpose; and all but five of them with terms after the activation */
    assert_int_equal(tried, 9 * 15);
}

/* `.epilogue = {.beta = 1}` leaves alpha and struct_size at 0. */
TEST(epilogues_without_the_defaults)
{
    const tenon_epilogue bare = {.beta = 1};
    for (size_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        if (op->epilogue_at == 0)
            continue;
        offer o;
        prepare(&o, op);
        memcpy(o.params.bytes + op->epilogue_at, &bare, sizeof bare);
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "params: epilogue: struct_size is 0, must be");
        assert_contains(tenon_last_error(), "TENON_EPILOGUE_INIT");
        assert_contains(tenon_last_error(), "tenon_epilogue(.beta = 1)");
        dismiss(&o);
    }
}

TEST(solver_names)
{
    static const char *const names[] = {
        "", "nothing", "gemm/", "gemm/none", "conv/none", "im2col/rows:x1", "activation/dense,"};
    for (size_t i = 0; i < tn_operation_count; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            offer o;
            prepare(&o, tn_operations[i]);
            o.params.head.solver = names[n];
            refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "solver");
            dismiss(&o);
        }
}

static void refuse_geometry(offer *o, tenon_conv_geometry *geometry, int64_t *entry, int64_t value)
{
    const tenon_conv_geometry sound = *geometry;
    *entry = value;
    refuse(o, TENON_ERROR_INVALID_ARGUMENT, "");
    *geometry = sound;
}

TEST(geometries)
{
    for (int i = 0; i < 2; i++) {
        offer o;
        prepare(&o, i == 0 ? &tn_operation_conv : &tn_operation_im2col);
        tenon_conv_geometry *g = i == 0 ? &o.params.conv.geometry : &o.params.im2col.geometry;
        for (int d = 0; d < 2; d++) {
            refuse_geometry(&o, g, &g->stride[d], 0);
            refuse_geometry(&o, g, &g->stride[d], -1);
            refuse_geometry(&o, g, &g->dilation[d], 0);
            if (d == 0) /* along the other dimension im2col's filter has one tap */
                refuse_geometry(&o, g, &g->dilation[d], INT64_MAX);
            refuse_geometry(&o, g, &g->pad_begin[d], -1);
            refuse_geometry(&o, g, &g->pad_end[d], -1);
            refuse_geometry(&o, g, &g->pad_end[d], INT64_MAX);
            refuse_geometry(&o, g, &g->pad_end[d], 1); /* the shape of y no longer matches */
        }
        dismiss(&o);
    }
}

TEST(parameters_of_convolution)
{
    static const int64_t groups[] = {0, -1, 2, 3, INT64_MAX};
    offer o;
    prepare(&o, &tn_operation_conv);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        o.params.conv.groups = groups[i];
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
    }
    dismiss(&o);
    prepare(&o, &tn_operation_im2col);
    o.params.im2col.filter[1] = 0;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "filter");
    o.params.im2col.filter[1] = INT64_MAX;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "");
    dismiss(&o);
}

TEST(epilogues)
{
    for (int i = 0; i < 2; i++) {
        offer o;
        prepare(&o, i == 0 ? &tn_operation_gemm : &tn_operation_conv);
        tenon_epilogue *e = i == 0 ? &o.params.gemm.epilogue : &o.params.conv.epilogue;
        e->activation.kind = 99;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "99");
        e->activation.kind = 0;
        e->activation.reserved = 1;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "reserved");
        e->activation.reserved = 0;
        e->reserved = 7;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "epilogue: reserved is 7, must be 0");
        e->reserved = 0;
        e->beta = 2;
        const tenon_tensor *c = o.arguments[2];
        o.arguments[2] = NULL;
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT,
               "c is NULL, but beta is 2; without c it must be 1");
        e->beta = 1;
        accept_plan(&o);
        e->beta = 0;
        accept_plan(&o);
        o.arguments[2] = c;
        e->scale[1] = &o.views[0];
        refuse(&o, TENON_ERROR_UNSUPPORTED, "scale");
        e->scale[1] = NULL;
        e->zero_point[2] = &o.views[0];
        refuse(&o, TENON_ERROR_UNSUPPORTED, "zero point");
        dismiss(&o);
    }
    offer o;
    prepare(&o, &tn_operation_activation);
    o.params.activation.activation.kind = TN_ACTIVATION_KINDS;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "which is not a tenon_activation_kind");
    o.params.activation.activation.kind = TENON_ACTIVATION_CELU;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "celu");
    o.params.activation.activation.alpha = -1;
    refuse(&o, TENON_ERROR_INVALID_ARGUMENT, "alpha");
    dismiss(&o);
}

/* Returns the address of a field in an offer's parameters, or NULL if the operation has no such
 * field. */
static void *field_of(offer *o, const char *name)
{
    for (uint32_t f = 0; f < o->op->field_count; f++)
        if (strcmp(o->op->fields[f].name, name) == 0)
            return o->params.bytes + o->op->fields[f].offset;
    return NULL;
}

/* Returns true for parameters that may have any value: the factors of BLAS, the scalars of a
 * chain's steps, and the padding value. */
static bool takes_every_number(const tn_operation *op, const char *field)
{
    static const char *const taken[] = {"alpha", "beta", "value", "extrapolation", "on", "off"};
    const bool is_norm = op == &tn_operation_lrn || op == &tn_operation_lrn_backward;
    for (size_t i = 0; i < sizeof taken / sizeof *taken && !is_norm; i++)
        if (strcmp(field, taken[i]) == 0)
            return true;
    return false;
}

/* Makes the operation use a number that is otherwise ignored. */
static void use_number(offer *o, const char *field)
{
    uint32_t *activation = field_of(o, "activation"), *kind = field_of(o, "kind");
    if (activation != NULL && strncmp(field, "activation.", 11) == 0) {
        *activation = TENON_ACTIVATION_HARD_SIGMOID;
        *(double *)field_of(o, "activation.alpha") = 0.2;
        *(double *)field_of(o, "activation.beta") = 0.5;
    }
    if (o->op == &tn_operation_pool || o->op == &tn_operation_pool_backward)
        *kind = TENON_POOL_LP;
    if (o->op == &tn_operation_random)
        *kind = strcmp(field, "probability") == 0    ? TENON_RANDOM_BERNOULLI
                : field[0] == 'm' || field[0] == 'd' ? TENON_RANDOM_NORMAL
                                                     : TENON_RANDOM_UNIFORM;
}

static void offer_number(const tn_operation *op, const tn_field *field, double value)
{
    const char *dot = strrchr(field->name, '.');
    offer o;
    prepare(&o, op);
    use_number(&o, field->name);
    memcpy(o.params.bytes + field->offset, &value, sizeof value);
    if (!takes_every_number(op, field->name)) {
        refuse(&o, TENON_ERROR_INVALID_ARGUMENT, dot != NULL ? dot + 1 : field->name);
        assert_contains(tenon_last_error(), isnan(value) ? "nan" : "inf");
    } else if (op != &tn_operation_gemm_int8) { /* accepts only values with exact sums */
        accept_plan(&o);
    }
    dismiss(&o);
}

/* Every floating-point parameter either refuses NaN and infinity or gives them a meaning. */
TEST(numbers_that_are_none)
{
    for (size_t i = 0; i < tn_operation_count; i++)
        for (uint32_t f = 0; f < tn_operations[i]->field_count; f++) {
            const tn_field *field = &tn_operations[i]->fields[f];
            if (field->type != TN_FIELD_F64)
                continue;
            offer_number(tn_operations[i], field, (double)NAN);
            offer_number(tn_operations[i], field, (double)INFINITY);
        }
}

/* An activation with only its kind set is refused if its formula uses constants; with the usual
 * constants it is accepted. */
TEST(activations_without_constants)
{
    static const struct {
        tenon_activation_kind kind;
        const char *message;
    } kinds[] = {
        {TENON_ACTIVATION_LEAKY_RELU, "leaky_relu is 0, must be finite and not 0; usually 0.01"},
        {TENON_ACTIVATION_CLIPPED_RELU, "clipped_relu is 0, must be above 0; usually 6"},
        {TENON_ACTIVATION_ELU, "elu is 0, must be finite and not 0; usually 1"},
        {TENON_ACTIVATION_CELU, "celu is 0, must be from 1e-30 to 1e30; usually 1"},
        {TENON_ACTIVATION_HARD_SIGMOID, "hard_sigmoid is 0 and beta is 0, must be finite"},
        {TENON_ACTIVATION_HARD_TANH, "hard_tanh is 0 and beta is 0, alpha must be below"}};
    for (size_t i = 0; i < tn_operation_count; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            offer o;
            prepare(&o, tn_operations[i]);
            uint32_t *kind = field_of(&o, "activation");
            double *alpha = field_of(&o, "activation.alpha"),
                   *beta = field_of(&o, "activation.beta");
            if (kind != NULL && alpha != NULL) {
                const tenon_activation usual = tenon_activation_default(kinds[k].kind);
                *kind = kinds[k].kind;
                refuse(&o, TENON_ERROR_INVALID_ARGUMENT, kinds[k].message);
                *alpha = usual.alpha;
                *beta = usual.beta;
                if (!tn_activation_is_build(*kind)) /* the others would be compiled */
                    accept_plan(&o);
            }
            dismiss(&o);
        }
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    assert_true(relu.kind == TENON_ACTIVATION_RELU && relu.alpha == 0 && relu.beta == 0);
}

TEST(wait_lists)
{
    static const cl_event none[] = {NULL};
    static const tenon_sync wrong[] = {{.wait_list = none, .wait_count = 1},
                                       {.wait_list = NULL, .wait_count = 2},
                                       {.wait_list = none, .wait_count = 0}};
    for (size_t i = 0; i < tn_operation_count; i++)
        for (int s = 0; s < 3; s++) {
            offer o;
            prepare(&o, tn_operations[i]);
            assert_refused(
                tn_operation_call(tn_operations[i], test_stream, &o.params, o.arguments, &wrong[s]),
                TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->name, "wait_list");
            dismiss(&o);
        }
}

TEST(reserved_members_of_sync)
{
    static const tenon_sync wrong = {.reserved = 3};
    float value = 1;
    for (size_t i = 0; i < tn_operation_count; i++) {
        offer o;
        prepare(&o, tn_operations[i]);
        assert_refused(
            tn_operation_call(tn_operations[i], test_stream, &o.params, o.arguments, &wrong),
            TENON_ERROR_INVALID_ARGUMENT, tn_operations[i]->name, "sync: reserved is 3, must be 0");
        dismiss(&o);
    }
    test_tensor x;
    test_tensor_create(&x, TENON_DTYPE_F32, 0, NULL, NULL, 0);
    assert_invalid(tenon_tensor_upload(test_stream, &value, sizeof value, &x.view, &wrong),
                   "sync: reserved is 3");
    test_tensor_destroy(&x);
}
