/* Merging the steps of a sequence into the epilogues of the steps before them. */
#include "base/grow.h"
#include "base/shape.h"
#include "dispatch/operation.h"
#include "dispatch/prepare.h"
#include "ops/post/post.h"
#include "ops/registry.h"
#include "ops/sequence/internal.h"
#include "runtime/memory/memory.h"

#include <tenon/epilogue.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A step and the one after it, which may be merged into it. */
typedef struct merge_pair {
    tenon_sequence *sequence;
    sequence_step *first, *second;
    uint32_t output, input; /* operands: what the first step writes and the second one reads */
    uint32_t c, bias;       /* operands of the first step; TN_MAX_OPERANDS: none */
    uint32_t post;          /* the first operand for the terms after the activation */
    tn_any_params params;   /* of the merged plan */
    char solver[TN_SOLVER_NAME_SIZE]; /* its solver, if the family has changed */
    tenon_epilogue *epilogue;         /* in `params` */
    bool has_constants;               /* the last ones of the sequence are those of this pair */
    tenon_tensor views[TN_MAX_OPERANDS];
    const tenon_tensor *given[TN_MAX_OPERANDS]; /* by operand; NULL: absent */
} merge_pair;

/* Returns the epilogue in an operation's parameters, or NULL. Its members are found by the names of
 * the operation's fields. */
static tenon_epilogue *find_epilogue(const tn_operation *operation, void *params)
{
    static const size_t distance =
        offsetof(tenon_epilogue, activation) - offsetof(tenon_epilogue, alpha);
    const tn_field *alpha = NULL, *activation = NULL;
    for (uint32_t i = 0; i < operation->field_count; i++) {
        const tn_field *field = &operation->fields[i];
        alpha = strcmp(field->name, "alpha") == 0 ? field : alpha;
        activation = strcmp(field->name, "activation") == 0 ? field : activation;
    }
    if (alpha == NULL || activation == NULL || activation->offset != alpha->offset + distance)
        return NULL;
    return (tenon_epilogue *)((char *)params + alpha->offset - offsetof(tenon_epilogue, alpha));
}

static uint32_t find_operand(const tenon_plan *plan, const char *name)
{
    uint32_t i = 0;
    while (i < plan->operand_count && strcmp(plan->operands[i].name, name) != 0)
        i++;
    return i < plan->operand_count ? i : TN_MAX_OPERANDS;
}

/* Returns the only output of a plan, or TN_MAX_OPERANDS. */
static uint32_t only_output(const tenon_plan *plan)
{
    uint32_t found = TN_MAX_OPERANDS;
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        if (!plan->operands[i].output)
            continue;
        if (found != TN_MAX_OPERANDS)
            return TN_MAX_OPERANDS;
        found = i;
    }
    return found;
}

static bool is_floating(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F16 ||
           dtype == TENON_DTYPE_BF16;
}

/* Begins with the first step's own plan. Returns false if that has no epilogue to change. */
static bool begin(merge_pair *p)
{
    const tenon_plan *plan = p->first->plan;
    p->output = only_output(plan);
    if (plan->problem == NULL || p->output == TN_MAX_OPERANDS || p->second->label != NULL ||
        p->second->given_count > 0 || !tn_sequence_has(p->first, p->output))
        return false;
    memcpy(&p->params, plan->params, plan->operation->params_size);
    p->params.head.solver = plan->name;
    p->epilogue = find_epilogue(plan->operation, &p->params);
    p->c = find_operand(plan, "c");
    p->bias = find_operand(plan, "bias");
    p->post = find_operand(plan, tn_post_names[POST_SCALE]);
    p->post = p->post != TN_MAX_OPERANDS ? p->post : plan->operand_count;
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        p->views[i] = plan->operands[i].view;
        if (plan->operands[i].given && tn_sequence_has(p->first, i))
            p->views[i] = tn_sequence_view(p->first, i);
        p->given[i] = plan->operands[i].given ? &p->views[i] : NULL;
    }
    return p->epilogue != NULL && p->post + POST_TERMS <= TN_MAX_OPERANDS &&
           is_floating(p->views[p->output].dtype);
}

static bool has_term(const merge_pair *p, int term)
{
    return p->given[p->post + (uint32_t)term] != NULL;
}

/* Returns true if the first step ends with the product, c and the bias. */
static bool ends_before_activation(const merge_pair *p)
{
    return p->epilogue->activation.kind == TENON_ACTIVATION_IDENTITY && !has_term(p, POST_SCALE) &&
           !has_term(p, POST_SHIFT) && !has_term(p, POST_RESIDUAL);
}

/* Returns true if two views are the same elements in the same order; their shapes may differ if
 * both are dense. */
static bool is_reshaped(const tenon_tensor *a, const tenon_tensor *b)
{
    return a->dtype == b->dtype && a->offset == b->offset && tn_tensor_dense(a) &&
           tn_tensor_dense(b) && tenon_tensor_elements(a) == tenon_tensor_elements(b);
}

/* Returns true if the second step is an activation of a reshaped intermediate, which it writes to a
 * dense result. */
static bool is_activation_of_reshaped(const merge_pair *p)
{
    const tenon_tensor result = tn_sequence_view(p->second, only_output(p->second->plan));
    return p->second->plan->operation == &tn_operation_activation && tn_tensor_dense(&result);
}

/* Returns true if the second step's operand is exactly what the first one writes, and nothing else
 * uses that intermediate except, if `in_place`, later steps after the second one has replaced it.
 */
static bool is_own_intermediate(const merge_pair *p, uint32_t input)
{
    const tenon_tensor written = tn_sequence_view(p->first, p->output);
    const tenon_tensor result = tn_sequence_view(p->second, only_output(p->second->plan));
    const sequence_memory *memory = tn_sequence_memory(p->sequence, &written.memory);
    if (memory == NULL || !tn_sequence_has(p->second, input))
        return false;
    const tenon_tensor read = tn_sequence_view(p->second, input);
    if (read.memory.u.svm != memory ||
        (!tn_tensor_same_view(&written, &read) &&
         !(is_activation_of_reshaped(p) && is_reshaped(&written, &read))))
        return false;
    if (result.memory.kind == TENON_MEMORY_SEQUENCE && result.memory.u.svm == memory)
        return tn_tensor_same_view(&written, &result) || is_reshaped(&written, &result);
    return memory->name == NULL && memory->uses == 2;
}

/* Returns the operand of a binary second step that is not the first one's intermediate, or
 * TN_MAX_OPERANDS. It must not be in the same memory, which the merged step has not yet written. */
static uint32_t other_operand(const merge_pair *p)
{
    const uint32_t input = is_own_intermediate(p, 0) ? 0 : 1, other = 1 - input;
    if (!is_own_intermediate(p, input) || !tn_sequence_has(p->second, other))
        return TN_MAX_OPERANDS;
    const tenon_tensor written = tn_sequence_view(p->first, p->output),
                       added = tn_sequence_view(p->second, other);
    return tn_memory_is_same(&written.memory, &added.memory) ? TN_MAX_OPERANDS : other;
}

/* Sets the activation of the merged plan. */
static bool take_activation(merge_pair *p)
{
    const tenon_activation_params *params = p->second->plan->params;
    if (p->second->plan->operation != &tn_operation_activation || !ends_before_activation(p) ||
        !is_own_intermediate(p, 0))
        return false;
    p->epilogue->activation = params->activation;
    return true;
}

/* Makes a sum with a tensor the operand c of the merged plan. Only if the product itself is added,
 * without a factor or a bias, is the sum rounded as often as in two steps. */
static bool take_sum(merge_pair *p)
{
    const tenon_elementwise_params *params = p->second->plan->params;
    if (p->second->plan->operation != &tn_operation_elementwise || !ends_before_activation(p) ||
        params->kind != TENON_ELEMENTWISE_ADD || p->c == TN_MAX_OPERANDS ||
        p->given[p->c] != NULL || (p->bias != TN_MAX_OPERANDS && p->given[p->bias] != NULL) ||
        p->epilogue->alpha != 1 || p->first->label != NULL || p->first->given_count > 0)
        return false;
    const uint32_t other = other_operand(p);
    if (other == TN_MAX_OPERANDS)
        return false;
    const tenon_tensor added = tn_sequence_view(p->second, other);
    if (!tn_tensor_same_shape(&added, &p->views[p->output]))
        return false;
    p->views[p->c] = added;
    p->given[p->c] = &p->views[p->c];
    p->epilogue->beta = 1;
    return true;
}

/* Reduces a view that is broadcast to the output to what post_scale and post_shift accept: any such
 * view for products, and one element for each channel, of rank 1, for convolutions. */
static bool take_channels(const merge_pair *p, tenon_tensor *view)
{
    const tenon_tensor *output = &p->views[p->output];
    int64_t stride[TENON_MAX_RANK];
    if (tn_broadcast("merge", "term", view, output->rank, output->shape, stride) != TENON_OK)
        return false;
    if (!p->first->plan->operation->operands[p->output].image)
        return true;
    for (uint32_t d = 0; d < output->rank; d++)
        if (d != 1 && stride[d] != 0)
            return false;
    view->rank = 1;
    view->shape[0] = output->shape[1];
    view->stride[0] = stride[1];
    return output->shape[1] == 1 || stride[1] != 0;
}

/* Returns the term that the second step would be, or POST_TERMS. Terms are applied in the order of
 * their numbers. */
static int find_term(const merge_pair *p, uint32_t kind, const tenon_tensor *other)
{
    const bool is_full = tn_tensor_same_shape(other, &p->views[p->output]);
    if (has_term(p, POST_RESIDUAL))
        return POST_TERMS;
    if (kind == TENON_ELEMENTWISE_ADD && is_full)
        return POST_RESIDUAL;
    if (has_term(p, POST_SHIFT))
        return POST_TERMS;
    if (kind == TENON_ELEMENTWISE_ADD)
        return POST_SHIFT;
    return kind == TENON_ELEMENTWISE_MULTIPLY && !has_term(p, POST_SCALE) ? POST_SCALE : POST_TERMS;
}

/* Names the same solver in the family of the calls with terms. Returns false if a solver would only
 * pass the call on to another family, in which another one might be chosen. */
static bool name_post_solver(merge_pair *p)
{
    const char *name = p->first->plan->name;
    const size_t family = strcspn(name, "/");
    const bool is_post = p->first->plan->operand_count > p->post;
    if (strncmp(name + family, "/dense", 6) == 0 || strncmp(name + family, "/two_steps", 10) == 0)
        return false;
    snprintf(p->solver, sizeof p->solver, "%.*s%s%s", (int)family, name, is_post ? "" : "_post",
             name + family);
    p->params.head.solver = p->solver;
    return true;
}

/* Makes a product with or a sum with a tensor a term after the activation of the merged plan. */
static bool take_term(merge_pair *p)
{
    const tenon_elementwise_params *params = p->second->plan->params;
    const tenon_tensor **members[] = {&p->epilogue->post_scale, &p->epilogue->post_shift,
                                      &p->epilogue->residual};
    if (p->second->plan->operation != &tn_operation_elementwise)
        return false;
    const uint32_t other = other_operand(p);
    if (other == TN_MAX_OPERANDS)
        return false;
    tenon_tensor view = tn_sequence_view(p->second, other);
    const int term = find_term(p, params->kind, &view);
    if (term == POST_TERMS || (term != POST_RESIDUAL && !take_channels(p, &view)) ||
        !name_post_solver(p))
        return false;
    const uint32_t operand = p->post + (uint32_t)term;
    p->views[operand] = view;
    p->given[operand] = &p->views[operand];
    *members[term] = &p->views[operand];
    return true;
}

/* Returns the term that a step of a chain with a scalar would be, or POST_TERMS. */
static int term_of_step(const tenon_chain_step *step)
{
    const bool is_scalar = step->operand == TENON_CHAIN_SCALAR;
    return is_scalar && step->op == TENON_CHAIN_MULTIPLY ? POST_SCALE
           : is_scalar && step->op == TENON_CHAIN_ADD    ? POST_SHIFT
                                                         : POST_TERMS;
}

/* Returns true if the steps of a chain can be terms: a product, a sum, or both in this order. */
static bool has_terms(const merge_pair *p, const tenon_elementwise_chain_params *params)
{
    int next = has_term(p, POST_SHIFT) ? POST_RESIDUAL : has_term(p, POST_SCALE) ? POST_SHIFT : 0;
    if (has_term(p, POST_RESIDUAL) || params->step_count == 0)
        return false;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const int term = term_of_step(&params->steps[n]);
        if (term == POST_TERMS || term < next)
            return false;
        next = term + 1;
    }
    return true;
}

/* Stores two numbers in the type of the output, f32 or f64, in memory of the sequence. */
static bool store_constants(merge_pair *p, const double values[2])
{
    tenon_sequence *sequence = p->sequence;
    const float singles[] = {(float)values[0], (float)values[1]};
    const bool is_double = p->views[p->output].dtype == TENON_DTYPE_F64;
    tenon_memory memory;
    if (!tn_grow(&sequence->constants, sequence->constant_count, &sequence->constant_capacity,
                 sizeof *sequence->constants) ||
        tn_memory_constants("tenon_sequence_finish", sequence->context,
                            is_double ? (const void *)values : singles,
                            is_double ? 2 * sizeof *values : sizeof singles, &memory) != TENON_OK)
        return false;
    sequence->constants[sequence->constant_count++] = memory;
    p->has_constants = true;
    return true;
}

/* Makes a term an element that is repeated along the channels or all of the output. */
static void set_constant(merge_pair *p, int term, const tenon_tensor **member)
{
    const tenon_tensor *output = &p->views[p->output];
    const uint32_t operand = p->post + (uint32_t)term;
    const bool is_image = p->first->plan->operation->operands[p->output].image;
    const int64_t shape[] = {is_image ? output->shape[1] : 1};
    tenon_tensor view = tenon_tensor_view(output->dtype, 1, shape);
    view.stride[0] = 0;
    view.memory = p->sequence->constants[p->sequence->constant_count - 1];
    view.offset = (uint64_t)term * tenon_dtype_size(output->dtype);
    p->views[operand] = view;
    p->given[operand] = &p->views[operand];
    *member = &p->views[operand];
}

/* Makes a chain of a product and a sum with scalars terms after the activation. The scalars of f16
 * and bf16 chains are f32, which terms cannot be. */
static bool take_chain(merge_pair *p)
{
    const tenon_elementwise_chain_params *params = p->second->plan->params;
    const tenon_tensor **members[] = {&p->epilogue->post_scale, &p->epilogue->post_shift};
    const tenon_dtype dtype = p->views[p->output].dtype;
    double values[2] = {0};
    if (p->second->plan->operation != &tn_operation_elementwise_chain ||
        (dtype != TENON_DTYPE_F32 && dtype != TENON_DTYPE_F64) || !has_terms(p, params) ||
        !is_own_intermediate(p, 0) || !name_post_solver(p))
        return false;
    for (uint32_t n = 0; n < params->step_count; n++)
        values[term_of_step(&params->steps[n])] = params->steps[n].alpha;
    if (!store_constants(p, values))
        return false;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const int term = term_of_step(&params->steps[n]);
        set_constant(p, term, members[term]);
    }
    return true;
}

static void drop_constants(const merge_pair *p)
{
    if (p->has_constants)
        tenon_memory_destroy(&p->sequence->constants[--p->sequence->constant_count]);
}

static void release_plan(void *plan)
{
    tenon_plan_release(plan);
}

/* Makes the merged plan. NULL if its solver does not support it. Memory that the first plan holds
 * is held by a reference to that plan. */
static tenon_status make_plan(const merge_pair *p, tenon_plan **merged)
{
    tenon_plan *first = p->first->plan;
    tenon_status status = tn_operation_plan_as(first->caller, first->operation,
                                               p->sequence->context, &p->params, p->given, merged);
    if (status == TENON_OK)
        status = tn_plan_await(*merged);
    if (status != TENON_OK) {
        tenon_plan_release(*merged);
        *merged = NULL;
        return status == TENON_ERROR_OUT_OF_MEMORY || status == TENON_ERROR_PROCESS ? status
                                                                                    : TENON_OK;
    }
    for (uint32_t i = 0; i < first->operand_count; i++)
        if (first->operands[i].is_bound) {
            tenon_plan_retain(first);
            tn_plan_bind(*merged, i, first->operands[i].view.memory, first, release_plan);
        }
    return TENON_OK;
}

/* Writes the merged step. Its operands are those of the first step, with the output of the second
 * one and what it adds. */
static sequence_step merged_step(const merge_pair *p, tenon_plan *plan)
{
    sequence_step step = *p->first;
    step.plan = plan;
    for (uint32_t i = 0; i < plan->operand_count; i++)
        if (p->given[i] != NULL && !plan->operands[i].is_bound)
            step.operands[i] = (tn_operand){p->views[i].memory, p->views[i].offset};
    return step;
}

/* Replaces both steps by a merged one. */
static void replace(merge_pair *p, const sequence_step *step)
{
    tenon_sequence *sequence = p->sequence;
    const uint32_t at = (uint32_t)(p->second - sequence->steps);
    tenon_plan_release(p->first->plan);
    tn_sequence_drop_step(p->second);
    *p->first = *step;
    memmove(p->second, p->second + 1, (sequence->step_count - at - 1) * sizeof *p->second);
    sequence->step_count--;
    tn_sequence_count_uses(sequence);
}

/* Merges a pair whose merged plan is known. Returns false, without changes, if the outputs of the
 * merged step would overlap its inputs. */
static bool merge_pair_with(const char *caller, merge_pair *p, tenon_plan *plan)
{
    sequence_step step = merged_step(p, plan);
    if (tn_sequence_scalars(caller, &step, NULL, 0, step.scalars) != TENON_OK ||
        tn_sequence_check_apart(caller, &step) != TENON_OK)
        return false;
    replace(p, &step);
    return true;
}

/* Makes the result of the second step that of the first one. Returns false if it has another type
 * or shape. */
static bool take_result(merge_pair *p)
{
    const tenon_tensor result = tn_sequence_view(p->second, only_output(p->second->plan));
    tenon_tensor *output = &p->views[p->output];
    if (result.dtype != output->dtype)
        return false;
    if (tn_tensor_same_shape(&result, output)) {
        *output = result;
        return true;
    }
    if (!is_activation_of_reshaped(p) || !tn_tensor_dense(output))
        return false;
    output->memory = result.memory;
    output->offset = result.offset;
    return true;
}

/* Merges the step after number `s` into it, if possible. */
static tenon_status merge_one(const char *caller, tenon_sequence *sequence, uint32_t s,
                              bool *is_merged)
{
    merge_pair p = {sequence, &sequence->steps[s], &sequence->steps[s + 1]};
    tenon_plan *plan = NULL;
    *is_merged = false;
    if (!begin(&p) || (!take_activation(&p) && !take_sum(&p) && !take_term(&p) && !take_chain(&p)))
        return TENON_OK;
    tenon_status status = TENON_OK;
    if (take_result(&p))
        status = make_plan(&p, &plan);
    *is_merged = plan != NULL && merge_pair_with(caller, &p, plan);
    if (!*is_merged) {
        tenon_plan_release(plan);
        drop_constants(&p);
    }
    return status;
}

/* Merges all steps that can be merged. */
static tenon_status merge_all(const char *caller, tenon_sequence *sequence)
{
    for (uint32_t s = 0; s + 1 < sequence->step_count;) {
        bool is_merged;
        TN_TRY(merge_one(caller, sequence, s, &is_merged));
        s += is_merged ? 0 : 1;
    }
    return TENON_OK;
}

tenon_status tn_sequence_merge(const char *caller, tenon_sequence *sequence)
{
    tn_kept_message kept; /* a pair that cannot be merged is no failure */
    if (!tn_message_keep(&kept))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a sequence", caller);
    return tn_message_end(&kept, merge_all(caller, sequence));
}
