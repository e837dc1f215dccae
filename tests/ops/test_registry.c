/*
 * Checks that each registered family has everything that "Adding an operation" requires. Finds the
 * source tree by TENON_SOURCE_ROOT, which the build sets.
 */
#include "dispatch/select.h"
#include "support.h"

#include "ops/registry.h"
#include "runtime/program/kernel_sources.h"

#include <ctype.h>
#include <dirent.h>

static const struct {
    const tn_operation *operation;
    const char *name;
} described[] = {
#define X(name) {&tn_operation_##name, #name},
#include "ops/operation_list.h"
#undef X
};

/* Returns the contents of a file of the source tree, which the caller frees; NULL if it does not
 * exist. */
static char *read_file(const char *path)
{
    char name[1024];
    const char *root = getenv("TENON_SOURCE_ROOT");
    snprintf(name, sizeof name, "%s/%s", root != NULL ? root : ".", path);
    FILE *file = fopen(name, "rb");
    if (file == NULL)
        return NULL;
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t length = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    text[length] = '\0';
    return text;
}

/* Returns true if a file of the folder src/ops/HOME defines the operation of that name. */
static bool is_described_in(const char *home, const char *name)
{
    static const char *const files[] = {"operations", "gradient_operations", "conv_operations",
                                        "scaling_operations", "draw_operations"};
    char path[512], words[128];
    bool found = false;
    snprintf(words, sizeof words, "const tn_operation tn_operation_%s =", name);
    for (size_t i = 0; i < sizeof files / sizeof *files && !found; i++) {
        snprintf(path, sizeof path, "src/ops/%s/%s.c", home, files[i]);
        char *text = read_file(path);
        found = text != NULL && strstr(text, words) != NULL;
        free(text);
    }
    return found;
}

static const char *name_of(const tn_family *family)
{
    for (size_t i = 0; i < sizeof described / sizeof *described; i++)
        if (described[i].operation == tn_operation_of_family(family))
            return described[i].name;
    return NULL;
}

/* Returns the folder under src/ops that defines the family's operation, valid until the next call.
 */
static const char *home_of(const tn_family *family)
{
    static char home[256];
    char folder[512];
    const char *root = getenv("TENON_SOURCE_ROOT");
    snprintf(folder, sizeof folder, "%s/src/ops", root != NULL ? root : ".");
    DIR *all = opendir(folder);
    assert_non_null(all);
    bool found = false;
    for (const struct dirent *entry; !found && (entry = readdir(all)) != NULL;) {
        snprintf(home, sizeof home, "%s", entry->d_name);
        found = home[0] != '.' && is_described_in(home, name_of(family));
    }
    closedir(all);
    if (!found)
        fail_msg("family %s: no folder of src/ops describes it", family->name);
    return home;
}

static void need_mention(const tn_family *family, const char *path, const char *word)
{
    char *text = read_file(path);
    if (text == NULL)
        fail_msg("family %s: there is no %s", family->name, path);
    else if (strstr(text, word) == NULL)
        fail_msg("family %s: %s does not mention %s", family->name, path, word);
    free(text);
}

static void need_file(const tn_family *family, const char *format)
{
    char path[256];
    snprintf(path, sizeof path, format, home_of(family));
    need_mention(family, path, "");
}

TEST(every_family_is_whole)
{
    assert_non_null(tn_family_at(0));
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        const tn_family *family = tn_family_at(i);
        assert_in_range(family->solver_count, 1, TN_MAX_SOLVERS);
        assert_ptr_equal(family->registry, &tn_library_registry);
        assert_true(family->solver_count > 0 &&
                    (family->awkward != NULL || family->self_check != NULL));
        assert_true(islower((unsigned char)family->name[0]));
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(family->name, tn_family_at(j)->name);
    }
}

TEST(every_solver_is_whole)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++)
        for (uint32_t s = 0; s < tn_family_at(i)->solver_count; s++) {
            const tn_solver *solver = tn_family_at(i)->solvers[s];
            assert_true(solver->configure != NULL && solver->launch != NULL);
            assert_non_null(solver->serves);
            assert_true(solver->parameter_count <= TN_MAX_PARAMETERS);
            for (uint32_t p = 0; p < solver->parameter_count; p++)
                assert_true(solver->parameters[p].low >= 1 &&
                            solver->parameters[p].low <= solver->parameters[p].high);
        }
}

/* Solver names must not contain the grammar's separators; parameter names must not contain digits
 * either. */
TEST(every_name_fits_the_grammar)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++)
        for (uint32_t s = 0; s < tn_family_at(i)->solver_count; s++) {
            const tn_solver *solver = tn_family_at(i)->solvers[s];
            assert_null(strpbrk(solver->name, "/:, "));
            for (uint32_t p = 0; p < solver->parameter_count; p++) {
                const char *name = solver->parameters[p].name;
                assert_true(isalpha((unsigned char)name[strlen(name) - 1]));
                assert_null(strpbrk(name, "/:, 0123456789"));
            }
        }
}

TEST(every_family_has_its_places)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        need_file(tn_family_at(i), "include/tenon/%s.h");
        assert_non_null(tn_operation_of_family(tn_family_at(i))->reference);
        need_file(tn_family_at(i), "tests/ops/test_%s.c");
    }
}

TEST(every_family_has_a_kernel)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        const char *home = home_of(tn_family_at(i));
        bool found = false;
        for (size_t k = 0; k < tenon_kernel_sources.count; k++) {
            const char *name = tenon_kernel_sources.files[k].name;
            found |= strncmp(name, home, strlen(home)) == 0 && name[strlen(home)] == '/';
        }
        if (!found)
            fail_msg("no kernel in cl_kernels/%s", home);
    }
}

/* Returns the name in the family's public call. */
static const char *call_of(const tn_family *family)
{
    static const char *const calls[][2] = {{"gemm_int8", "gemm"},
                                           {"gemm_mixed", "gemm"},
                                           {"conv_mixed", "conv_forward"},
                                           {"gemm_post", "gemm"},
                                           {"sgd_guarded", "sgd"},
                                           {"adam_guarded", "adam"},
                                           {"clip_guarded", "clip"},
                                           {"gemm_packed_post", "gemm_packed"},
                                           {"conv_post", "conv_forward"},
                                           {"conv_int8", "conv_forward"},
                                           {"conv_transpose_post", "conv_transpose_forward"},
                                           {"conv_packed", "conv_forward_packed"},
                                           {"conv_packed_post", "conv_forward_packed"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(family->name, calls[i][0]) == 0)
            return calls[i][1];
    return family->name;
}

TEST(every_family_is_documented)
{
    for (uint32_t i = 0; tn_family_at(i) != NULL; i++) {
        char function[64], path[256];
        snprintf(function, sizeof function, "tenon_%s", call_of(tn_family_at(i)));
        snprintf(path, sizeof path, "include/tenon/%s.h", home_of(tn_family_at(i)));
        need_mention(tn_family_at(i), path, function);
        need_mention(tn_family_at(i), "CHANGELOG.md", tn_family_at(i)->name);
    }
}
