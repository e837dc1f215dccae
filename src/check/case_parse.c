/* Parser of cases. */
#include "base/platform.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "check/case.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED TENON_ERROR_INVALID_ARGUMENT

static bool has_family(const tn_operation *operation, const char *name, size_t length)
{
    const char *family = operation->family->name;
    return strlen(family) == length && strncmp(family, name, length) == 0;
}

/* Appends a valid call of the operation to the error message, with f32 for T. Returns REFUSED. */
static tenon_status append_example(const tn_operation *operation)
{
    char text[TN_CASE_TEXT_SIZE];
    size_t used = (size_t)snprintf(text, sizeof text, "; example: ");
    for (const char *at = operation->examples[0]; *at != '\0' && used + 4 < sizeof text;) {
        const bool is_type = at[0] == '=' && (at[1] == 'T' || at[1] == 'S') && at[2] == ':';
        used += (size_t)snprintf(text + used, sizeof text - used, is_type ? "=f32" : "%c", *at);
        at += is_type ? 2 : 1;
    }
    tn_fail_append(text);
    return REFUSED;
}

/* Returns the first operation of a family that exists. */
static const tn_operation *first_of(const tn_registry *registry, const char *solver, size_t length)
{
    uint32_t i = 0;
    while (!has_family(registry->operations[i], solver, length))
        i++;
    return registry->operations[i];
}

/* Finds the operation by the solver's family and, if it is a name, the word after it. */
static tenon_status find_operation(const tn_registry *registry, const char *asked,
                                   const char *solver, const char *word, tn_case *out, bool *named)
{
    const size_t length = strcspn(solver, "/");
    const bool has_word = word != NULL && strchr(word, '=') == NULL && word[0] != '-';
    bool known = false;
    *named = has_word;
    for (uint32_t i = 0; i < registry->operation_count && out->operation == NULL; i++)
        if (has_family(registry->operations[i], solver, length)) {
            known = true;
            if (!has_word || strcmp(registry->operations[i]->name, word) == 0)
                out->operation = registry->operations[i];
        }
    if (!known)
        return tn_fail(REFUSED,
                       "%s: solver: unknown operation \"%.*s\"; \"tenon solvers\" lists them",
                       asked, (int)length, solver);
    if (out->operation == NULL) {
        tn_fail(REFUSED, "%s: \"%s\" is neither OPERAND=VIEW nor an operation of %.*s", asked, word,
                (int)length, solver);
        return append_example(first_of(registry, solver, length));
    }
    if (strlen(solver) >= sizeof out->solver)
        return tn_fail(REFUSED, "%s: solver: the name is too long", asked);
    tn_problem problem;
    snprintf(out->solver, sizeof out->solver, "%s", solver);
    memset(&problem, 0, sizeof problem);
    return solver[length] == '\0'
               ? TENON_OK
               : tn_solver_force(asked, out->operation->family, solver, &problem);
}

static tenon_status malformed(const char *asked, const char *name, const char *text,
                              const char *why)
{
    return tn_fail(REFUSED, "%s: %s: \"%s\" %s", asked, name, text, why);
}

/* Reads at most TENON_MAX_RANK numbers separated by `between`. */
static bool read_sizes(const char **text, char between, int64_t *sizes, uint32_t *count)
{
    *count = 0;
    while (**text >= '0' && **text <= '9') {
        char *end;
        if (*count == TENON_MAX_RANK)
            return false;
        errno = 0;
        sizes[(*count)++] = strtoll(*text, &end, 10);
        *text = end;
        if (errno != 0)
            return false;
        if (**text != between)
            return true;
        (*text)++;
    }
    return *count == 0; /* otherwise the text ends with a separator */
}

static tenon_dtype read_type(const char *text, size_t length, tenon_dtype type)
{
    if (length == 1 && *text == 'T')
        return type;
    if (length == 1 && *text == 'S' && type != TENON_DTYPE_INVALID)
        return type == TENON_DTYPE_F64 ? type : TENON_DTYPE_F32;
    for (tenon_dtype i = TENON_DTYPE_F64; tn_dtype_valid(i); i = (tenon_dtype)(i + 1)) {
        const char *name = tenon_dtype_string(i);
        if (strlen(name) == length && strncmp(name, text, length) == 0)
            return i;
    }
    return TENON_DTYPE_INVALID;
}

static tenon_status read_view(const char *asked, const char *name, const char *text,
                              tenon_dtype type, tenon_tensor *view)
{
    const char *at = strchr(text, ':');
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
    uint32_t rank, strides;
    if (at == NULL)
        return malformed(asked, name, text, "is not a view, TYPE:SHAPE[/STRIDES][+OFFSET]");
    const tenon_dtype dtype = read_type(text, (size_t)(at - text), type);
    if (dtype == TENON_DTYPE_INVALID)
        return malformed(asked, name, text, "does not begin with a type");
    at++;
    if (!read_sizes(&at, 'x', shape, &rank))
        return malformed(asked, name, text, "has a malformed shape");
    *view = tenon_tensor_view(dtype, rank, shape);
    if (*at == '/') {
        at++;
        if (!read_sizes(&at, ',', stride, &strides) || strides != rank)
            return malformed(asked, name, text, "must have one stride per dimension");
        memcpy(view->stride, stride, rank * sizeof *stride);
    }
    if (*at == '+' && at[1] >= '0' && at[1] <= '9') {
        char *end;
        view->offset = strtoull(at + 1, &end, 10) * tenon_dtype_size(dtype);
        at = end;
    }
    if (*at != '\0')
        return malformed(asked, name, text, "has unexpected text at the end");
    return tn_tensor_check(asked, name, view);
}

/* Returns true if `length` characters are an operand's name, with underscores for blanks. */
static bool is_name(const char *name, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (name[i] == '\0' || (name[i] == ' ' ? '_' : name[i]) != text[i])
            return false;
    return name[length] == '\0';
}

static uint32_t find_operand(const tn_operation *operation, const char *name, size_t length)
{
    uint32_t i = 0;
    while (i < operation->operand_count && !is_name(operation->operands[i].name, name, length))
        i++;
    return i;
}

static tenon_status read_operand(const char *asked, tn_case *out, uint32_t number, const char *text,
                                 tenon_dtype type)
{
    const tn_operation *operation = out->operation;
    const char *name = operation->operands[number].name;
    if (out->views[number].dtype != TENON_DTYPE_INVALID || out->same[number] != 0)
        return malformed(asked, name, text, "is a second view of this operand");
    if (*text != '@')
        return read_view(asked, name, text, type, &out->views[number]);
    const uint32_t other = find_operand(operation, text + 1, strlen(text + 1));
    if (other == operation->operand_count || other == number)
        return malformed(asked, name, text, "does not name another operand");
    out->same[number] = other + 1;
    return TENON_OK;
}

/* Reads one element. Returns false if it is malformed. */
static bool read_element(const tn_field *field, const char **text, unsigned char *at)
{
    char *end = NULL;
    errno = 0;
    for (uint32_t i = 0; field->words != NULL && field->words[i] != NULL; i++) {
        const size_t length = strlen(field->words[i]);
        if (strcspn(*text, ",") == length && strncmp(*text, field->words[i], length) == 0) {
            memcpy(at, &i, sizeof i);
            *text += length;
            return true;
        }
    }
    if (field->type == TN_FIELD_F64) {
        const double value = strtod(*text, &end);
        memcpy(at, &value, sizeof value);
        errno = 0; /* strtod sets it for denormals */
    } else if (field->type == TN_FIELD_U64) {
        const uint64_t value = strtoull(*text, &end, 10);
        memcpy(at, &value, sizeof value);
    } else if (field->type == TN_FIELD_I64) {
        const int64_t value = strtoll(*text, &end, 10);
        memcpy(at, &value, sizeof value);
    } else {
        const int64_t value = strtoll(*text, &end, 10);
        const uint32_t bits = (uint32_t)value;
        const bool fits = field->type == TN_FIELD_I32 ? value == (int32_t)value : value == bits;
        memcpy(at, &bits, sizeof bits);
        errno = fits ? errno : ERANGE;
    }
    const bool read = end != *text && errno == 0;
    *text = end;
    return read;
}

static tenon_status read_field(const char *asked, tn_case *out, const tn_field *field,
                               const char *text)
{
    const char *at = text;
    for (uint32_t i = 0;; i++) {
        if (i == field->count)
            return malformed(asked, field->name, text, "has too many values");
        if (!read_element(field, &at, out->params.bytes + field->offset + i * field->step))
            return malformed(asked, field->name, text, "is not a valid value");
        if (*at == '\0')
            return TENON_OK;
        if (*at++ != ',')
            return malformed(asked, field->name, text, "has unexpected text at the end");
    }
}

static tenon_status read_word(const char *asked, tn_case *out, const char *word, tenon_dtype type)
{
    const tn_operation *operation = out->operation;
    const char *equals = strchr(word, '=');
    if (equals == NULL) {
        tn_fail(REFUSED, "%s: \"%s\" is neither OPERAND=VIEW nor FIELD=VALUE", asked, word);
        return append_example(operation);
    }
    const size_t length = (size_t)(equals - word);
    const uint32_t operand = find_operand(operation, word, length);
    if (operand < operation->operand_count)
        return read_operand(asked, out, operand, equals + 1, type);
    for (uint32_t i = 0; i < operation->field_count; i++)
        if (strlen(operation->fields[i].name) == length &&
            strncmp(operation->fields[i].name, word, length) == 0)
            return read_field(asked, out, &operation->fields[i], equals + 1);
    return tn_fail(REFUSED, "%s: %s has no operand or field \"%.*s\"", asked, operation->name,
                   (int)length, word);
}

static tenon_status read_seed(const char *asked, tn_case *out, const char *text)
{
    char *end;
    errno = 0;
    out->seed = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return malformed(asked, "--seed", text, "is not a number");
    return TENON_OK;
}

/* Copies the views of operands given as @NAME. Fails if a required operand is missing. */
static tenon_status resolve_operands(const char *asked, tn_case *out)
{
    const tn_operation *operation = out->operation;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (out->same[i] != 0 && out->same[out->same[i] - 1] != 0)
            return tn_fail(REFUSED, "%s: %s: \"@%s\" must be an operand with a view of its own",
                           asked, operation->operands[i].name,
                           operation->operands[out->same[i] - 1].name);
        if (out->same[i] != 0)
            out->views[i] = out->views[out->same[i] - 1];
        if (out->views[i].dtype == TENON_DTYPE_INVALID && !operation->operands[i].optional) {
            tn_fail(REFUSED, "%s: %s is missing", asked, operation->operands[i].name);
            return append_example(operation);
        }
    }
    return TENON_OK;
}

tenon_status tn_case_read(const tn_registry *registry, const char *asked, const char *const *words,
                          uint32_t count, tenon_dtype type, tn_case *out)
{
    bool named;
    memset(out, 0, sizeof *out);
    out->seed = 1;
    if (count == 0)
        return tn_fail(REFUSED, "%s: SOLVER is missing", asked);
    TN_TRY(find_operation(registry, asked, words[0], count > 1 ? words[1] : NULL, out, &named));
    tn_operation_defaults(out->operation, out->params.bytes);
    for (uint32_t i = named ? 2 : 1; i < count; i++) {
        if (strcmp(words[i], "--integers") == 0)
            out->integers = true;
        else if (strcmp(words[i], "--seed") != 0)
            TN_TRY(read_word(asked, out, words[i], type));
        else if (++i < count)
            TN_TRY(read_seed(asked, out, words[i]));
        else
            return tn_fail(REFUSED, "%s: --seed needs a number", asked);
    }
    return resolve_operands(asked, out);
}

#define MAX_WORDS 64

tenon_status tn_case_read_line(const tn_registry *registry, const char *line, tenon_dtype type,
                               tn_case *out)
{
    static const char asked[] = "tenon check";
    const char *words[MAX_WORDS];
    uint32_t count = 0;
    char *copy = tn_text_copy(line);
    if (copy == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", asked);
    char *rest = copy;
    for (const char *word; count < MAX_WORDS && (word = tn_next_word(&rest)) != NULL;)
        words[count++] = word;
    tenon_status status = tn_case_read(registry, asked, words, count, type, out);
    free(copy);
    return status;
}
