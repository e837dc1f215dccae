#include "rnn_case.h"

#include <string.h>

static const rnn_operand *operands_of(const tn_operation *operation)
{
    return operation == &tn_operation_rnn                 ? tn_rnn_operands
           : operation == &tn_operation_rnn_backward_data ? tn_rnn_data_operands
                                                          : tn_rnn_weights_operands;
}

static bool is_given(const rnn_case *r, const rnn_operand *operand)
{
    const bool is_lstm = r->params.kind == TENON_RNN_LSTM;
    if (!is_lstm && (operand->shape == RNN_SHAPE_C0 || operand->shape == RNN_SHAPE_PEEPHOLE))
        return false;
    if (operand->shape == RNN_SHAPE_PROJECTION && r->output == 0)
        return false;
    return operand->flag == RNN_HAS_PROJECTION || (operand->flag & ~r->has) == 0;
}

void rnn_begin(test_fixture *f, const rnn_case *r, tenon_dtype dtype, const tn_operation *operation)
{
    const rnn_operand *operands = operands_of(operation);
    const rnn_sizes s = {.directions = r->params.direction == TENON_RNN_BIDIRECTIONAL ? 2 : 1,
                         .steps = r->steps,
                         .batch = r->batch,
                         .inputs = r->inputs,
                         .hidden = r->hidden,
                         .output = r->output > 0 ? r->output : r->hidden};
    test_begin(f, operation);
    *test_params(f, tenon_rnn_params) = r->params;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        const rnn_shape which = operands[i].shape;
        const bool is_own = which == RNN_SHAPE_RESERVE || which == RNN_SHAPE_DGATES;
        int64_t shape[RNN_RANK];
        const uint32_t rank =
            tn_rnn_shape(which, tn_rnn_cell(&r->params), &s, r->output > 0, shape);
        if (is_given(r, &operands[i]))
            f->c.views[i] = test_view(tn_rnn_dtype(which, dtype),
                                      r->layout == 0 || is_own || rank < 2
                                          ? TEST_ROW
                                          : (test_layout)((r->layout + i) % TEST_LAYOUTS),
                                      r->layout % 2 != 0 && !is_own, rank, shape, (int64_t)i + 1);
    }
}

void rnn_check(const rnn_case *r, const tn_operation *operation, test_extent extent,
               test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        test_fixture f;
        rnn_begin(&f, r, *type, operation);
        test_run_fixture(&f, TEST_BOUND, extent, random);
    }
}

rnn_case rnn_random_case(test_random *random, uint32_t has)
{
    rnn_case r = {.params = TENON_RNN_PARAMS_INIT};
    r.params.kind = (uint32_t)test_between(random, TENON_RNN_TANH, TENON_RNN_GRU);
    r.params.direction = (uint32_t)test_between(random, 0, 2);
    r.params.order = (uint32_t)test_between(random, 0, 1);
    if (r.params.kind == TENON_RNN_GRU && test_one_in(random, 2))
        r.params.flags = TENON_RNN_RESET_AFTER;
    if (test_one_in(random, 4))
        r.params.clip = test_real(random, 0.1, 2);
    r.steps = test_between(random, 0, 12);
    r.batch = test_one_in(random, 3) ? 1 : test_between(random, 1, 20);
    r.inputs = test_between(random, 1, 40);
    r.hidden = test_between(random, 1, test_one_in(random, 4) ? 130 : 40);
    if (r.params.kind == TENON_RNN_LSTM && test_one_in(random, 3))
        r.output = test_between(random, 1, 40);
    r.has = (uint32_t)test_between(random, 0, has) & has;
    r.layout = test_one_in(random, 2) ? 0 : (uint32_t)test_between(random, 1, 9);
    return r;
}

static bool have_same_name(const test_fixture *a, uint32_t i, const test_fixture *b, uint32_t k)
{
    return a->operands[i].image != NULL && b->operands[k].image != NULL &&
           strcmp(a->c.operation->operands[i].name, b->c.operation->operands[k].name) == 0;
}

void rnn_share(test_fixture *from, test_fixture *to)
{
    for (uint32_t i = 0; i < from->c.operation->operand_count; i++)
        for (uint32_t k = 0; k < to->c.operation->operand_count; k++)
            if (have_same_name(from, i, to, k) && !tn_operation_writes(from->c.operation, i) &&
                !tn_operation_writes(to->c.operation, k))
                for (int64_t j = 0; j < tenon_tensor_elements(&from->operands[i].view); j++)
                    test_set(&to->operands[k], j, test_get(&from->operands[i], j));
}

void rnn_pass(const test_fixture *from, test_fixture *to)
{
    const tn_bounded *e = from->expected;
    for (uint32_t i = 0; i < from->c.operation->operand_count; i++) {
        if (from->operands[i].image == NULL || !tn_operation_writes(from->c.operation, i))
            continue;
        const int64_t count = tenon_tensor_elements(&from->operands[i].view);
        for (uint32_t k = 0; k < to->c.operation->operand_count; k++)
            for (int64_t j = 0; j < count && have_same_name(from, i, to, k); j++)
                test_set(&to->operands[k], j, e[j].value);
        e += count;
    }
}
