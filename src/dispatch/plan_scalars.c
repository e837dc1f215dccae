#include "dispatch/plan_scalars.h"

#include "dispatch/operation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An element of a parameter field that a run can set. */
typedef struct place {
    const tn_field *field;
    const char *name;
    size_t offset; /* offset in the parameter struct */
} place;

static bool is_place(const tenon_plan *plan, const tn_field *field, uint32_t element, place *out)
{
    if (field->type != TN_FIELD_F64 && field->type != TN_FIELD_U64)
        return false;
    out->field = field;
    out->name = field->element_names != NULL ? field->element_names[element] : field->name;
    out->offset = field->offset + element * field->step;
    return field->is_used == NULL ||
           field->is_used(plan->params, (const char *)plan->params + out->offset);
}

/* Finds the next such element from the given field and element on, and advances both. Returns
 * false past the last one. */
static bool next_place(const tenon_plan *plan, uint32_t *field, uint32_t *element, place *out)
{
    const tn_operation *operation = plan->operation;
    for (; *field < operation->field_count; (*field)++, *element = 0)
        while (*element < operation->fields[*field].count)
            if (is_place(plan, &operation->fields[*field], (*element)++, out))
                return true;
    return false;
}

static bool find_place(const tenon_plan *plan, const char *name, place *out)
{
    uint32_t field = 0, element = 0;
    while (next_place(plan, &field, &element, out))
        if (strcmp(out->name, name) == 0)
            return true;
    return false;
}

/* Writes the scalars' names, for messages. */
static const char *list_names(const tenon_plan *plan, char text[512])
{
    uint32_t field = 0, element = 0;
    size_t used = 0;
    snprintf(text, 512, "none");
    for (place p; next_place(plan, &field, &element, &p) && used < 512;)
        used += (size_t)snprintf(text + used, 512 - used, "%s%s", used > 0 ? ", " : "", p.name);
    return text;
}

TENON_API tenon_scalar tenon_scalar_f64(const char *name, double value)
{
    return (tenon_scalar){.name = name, .kind = TENON_SCALAR_F64, .real = value};
}

TENON_API tenon_scalar tenon_scalar_u64(const char *name, uint64_t value)
{
    return (tenon_scalar){.name = name, .kind = TENON_SCALAR_U64, .integer = value};
}

static tenon_scalar value_at(const place *p, const void *params)
{
    tenon_scalar scalar = {.name = p->name};
    const char *at = (const char *)params + p->offset;
    scalar.kind = p->field->type == TN_FIELD_F64 ? TENON_SCALAR_F64 : TENON_SCALAR_U64;
    if (scalar.kind == TENON_SCALAR_F64)
        memcpy(&scalar.real, at, sizeof scalar.real);
    else
        memcpy(&scalar.integer, at, sizeof scalar.integer);
    return scalar;
}

TENON_API tenon_scalar tenon_plan_scalar(const tenon_plan *plan, uint32_t index)
{
    uint32_t field = 0, element = 0;
    place p = {0};
    while (plan != NULL && next_place(plan, &field, &element, &p))
        if (index-- == 0)
            return value_at(&p, plan->params);
    return (tenon_scalar){0};
}

/* All integers up to this one are exact in a double. */
#define MAX_EXACT (UINT64_C(1) << 53)

/* Writes a value to its place. */
static tenon_status put(const char *caller, uint32_t number, const tenon_scalar *given,
                        const place *p, unsigned char *params)
{
    const bool is_real = given->kind == TENON_SCALAR_F64;
    if ((!is_real && given->kind != TENON_SCALAR_U64) || given->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: scalars[%u]: \"%s\": kind is %u and reserved is %u; create it with "
                       "tenon_scalar_f64 or tenon_scalar_u64",
                       caller, number, given->name, given->kind, given->reserved);
    if (p->field->type == TN_FIELD_U64 && is_real)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: scalars[%u]: \"%s\" is the double %.17g, must be an integer of 64 bits: "
            "tenon_scalar_u64",
            caller, number, given->name, given->real);
    if (p->field->type == TN_FIELD_F64 && !is_real && given->integer > MAX_EXACT)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: scalars[%u]: \"%s\" is the integer %" PRIu64 ", must be a double "
                       "(tenon_scalar_f64), or at most 2^53",
                       caller, number, given->name, given->integer);
    const double real = is_real ? given->real : (double)given->integer;
    memcpy(params + p->offset,
           p->field->type == TN_FIELD_F64 ? (const void *)&real : &given->integer, sizeof real);
    return TENON_OK;
}

static bool is_repeated(const tenon_scalar *given, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (strcmp(given[i].name, given[number].name) == 0)
            return true;
    return false;
}

/* Writes a scalar to a copy of the plan's parameters. */
static tenon_status take_scalar(const char *caller, const tenon_plan *plan,
                                const tenon_scalar *given, uint32_t number, unsigned char *params)
{
    char names[512];
    place p = {0};
    if (given[number].name == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: scalars[%u]: name is NULL", caller,
                       number);
    if (!find_place(plan, given[number].name, &p))
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: scalars[%u]: \"%s\" is not a scalar of this plan of %s, whose scalars are %s",
            caller, number, given[number].name, plan->caller, list_names(plan, names));
    if (is_repeated(given, number))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: scalars[%u]: \"%s\" is given twice",
                       caller, number, given[number].name);
    return put(caller, number, &given[number], &p, params);
}

/* Prepares the plan's call again with other parameters. */
static tenon_status prepare(const tenon_plan *plan, const void *params, tn_call *call,
                            bool *is_same_problem)
{
    tn_any_problem problem;
    bool empty = false;
    *call = (tn_call){plan->caller, plan->operation, plan->recording.context, params,
                      .operand_count = plan->operand_count};
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        const tn_plan_operand *x = &plan->operands[i];
        call->operands[i] =
            (tn_argument){x->name, x->given ? &plan->operands[x->same].view : NULL, x->role};
    }
    problem.head = (tn_problem){.size = plan->operation->problem_size, .forced = -1};
    TN_TRY(plan->operation->prepare(params, call, &problem.head, &empty));
    /* The head only matters for selecting a solver, which is done. */
    *is_same_problem = empty || plan->problem == NULL
                           ? empty && plan->problem == NULL
                           : problem.head.size == plan->problem->size &&
                                 memcmp(&problem.head + 1, plan->problem + 1,
                                        plan->problem->size - sizeof(tn_problem)) == 0;
    return TENON_OK;
}

/* Returns true if this scalar alone would change the problem. */
static bool changes_problem(const char *caller, const tenon_plan *plan, const tenon_scalar *given,
                            place *p)
{
    tn_any_params params;
    tn_call call;
    bool is_same = true;
    memcpy(&params, plan->params, plan->operation->params_size);
    return take_scalar(caller, plan, given, 0, params.bytes) == TENON_OK &&
           find_place(plan, given->name, p) &&
           prepare(plan, &params, &call, &is_same) == TENON_OK && !is_same;
}

static tenon_status refuse_problem(const char *caller, const tenon_plan *plan,
                                   const tenon_scalar *given, uint32_t count)
{
    place p = {0};
    uint32_t i = 0;
    while (i + 1 < count && !changes_problem(caller, plan, &given[i], &p))
        i++;
    if (!find_place(plan, given[i].name, &p))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: scalars[%u]: \"%s\" is unknown", caller,
                       i, given[i].name);
    const tenon_scalar planned = value_at(&p, plan->params);
    const double value =
        given[i].kind == TENON_SCALAR_F64 ? given[i].real : (double)given[i].integer;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: scalars[%u]: \"%s\" is %g, must %s: the plan of %s was made with %g, and "
                   "this value requires other kernels; create another plan",
                   caller, i, p.name, value,
                   planned.real == 0 ? "be 0"
                   : value == 0      ? "not be 0"
                                     : "need the same kernels",
                   plan->caller, planned.real);
}

tenon_status tn_scalars_take(const char *caller, const tenon_plan *plan, const tenon_scalar *given,
                             uint32_t count, double scalars[TN_MAX_SCALARS])
{
    tn_any_params params;
    tn_call call;
    bool is_same;
    memcpy(&params, plan->params, plan->operation->params_size);
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(take_scalar(caller, plan, given, i, params.bytes));
    TN_TRY(prepare(plan, &params, &call, &is_same));
    if (!is_same)
        return refuse_problem(caller, plan, given, count);
    memcpy(scalars, call.scalars, sizeof call.scalars);
    return TENON_OK;
}

const char *tn_scalars_text(const tenon_scalar *given, uint32_t count,
                            char text[TN_SCALARS_TEXT_SIZE])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count && used < TN_SCALARS_TEXT_SIZE; i++) {
        char *at = text + used;
        const size_t room = TN_SCALARS_TEXT_SIZE - used;
        used += given[i].kind == TENON_SCALAR_F64
                    ? (size_t)snprintf(at, room, " %s=%.17g", given[i].name, given[i].real)
                    : (size_t)snprintf(at, room, " %s=%" PRIu64, given[i].name, given[i].integer);
    }
    return text;
}
