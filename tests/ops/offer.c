#include "offer.h"

#include "ops/registry.h"

static void fill(const tn_operation *op, const void *params, test_tensor *tensors)
{
    test_random random = test_random_for(601);
    const tenon_tensor *host[TN_MAX_OPERANDS] = {0};
    uint64_t seed = 1;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (tensors[i].image != NULL) {
            test_fill_reals(&tensors[i], &random);
            host[i] = &tensors[i].host;
        }
    if (op->fill_valid != NULL)
        op->fill_valid(params, host, &seed);
    for (uint32_t i = 0; i < op->operand_count; i++) /* a skipped call would write nothing */
        if (tensors[i].image != NULL && strcmp(op->operands[i].name, "skip") == 0)
            test_set(&tensors[i], 0, 0);
}

void prepare(offer *o, const tn_operation *op)
{
    tn_case sound;
    memset(o, 0, sizeof *o);
    assert_ok(tn_case_parse_line(op->examples[0], TENON_DTYPE_F32, &sound));
    o->op = op;
    memcpy(o->params.bytes, sound.params.bytes, sizeof o->params.bytes);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tenon_tensor *view = &sound.views[i];
        if (view->dtype != TENON_DTYPE_INVALID)
            test_tensor_create(&o->tensors[i], view->dtype, view->rank, view->shape, view->stride,
                               0);
    }
    fill(op, o->params.bytes, o->tensors);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (o->tensors[i].image != NULL) {
            test_upload(&o->tensors[i]);
            o->views[i] = o->tensors[i].view;
            o->arguments[i] = &o->views[i];
        }
}

void dismiss(offer *o)
{
    for (uint32_t i = 0; i < o->op->operand_count; i++) {
        if (o->tensors[i].image == NULL)
            continue;
        if (!test_untouched(&o->tensors[i]))
            fail_msg("%s: %s was written to by a refused call", o->op->name,
                     o->op->operands[i].name);
        test_tensor_destroy(&o->tensors[i]);
    }
}

const char *plan_name(const tn_operation *op)
{
    static char name[128];
    snprintf(name, sizeof name, "%s_plan", op->name);
    return name;
}

void refuse(offer *o, tenon_status status, const char *argument)
{
    tenon_plan *plan = (tenon_plan *)(uintptr_t)1;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    assert_refused(tn_operation_call(o->op, test_stream, &o->params, o->arguments, &sync), status,
                   o->op->name, argument);
    assert_null(event);
    assert_refused(tn_operation_call_plan(o->op, test_context, &o->params, o->arguments, &plan),
                   status, plan_name(o->op), argument);
    assert_null(plan);
}

void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs)
{
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        for (uint32_t a = 0; a < op->operand_count; a++) {
            offer o;
            prepare(&o, op);
            if ((inputs || tn_operation_writes(op, a)) && o.arguments[a] != NULL &&
                o.views[a].rank > 0) {
                spoil(&o.views[a]);
                refuse(&o, status, op->operands[a].name);
            }
            dismiss(&o);
        }
    }
}
