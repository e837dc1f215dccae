/*
 * Walks the registry: a family that lacks what "Adding an operation" asks for fails here. The tree
 * is found through TENON_SOURCE_ROOT, which the build sets.
 */
#include "support.h"

#include "ops/registry.h"
#include "runtime/kernel_sources.h"

#include <ctype.h>

/* An operation that has no folder of its own lives in another family's. */
static const char *home_of(const tn_family *family)
{
    /* clang-format off */
    static const char *const homes[][2] = {
        {"gemm_int8", "gemm"},
        {"im2col", "conv"},
        {"col2im", "conv"},
        {"conv_backward_data", "conv"},
        {"conv_backward_filter", "conv"},
        {"conv_backward_bias", "conv"},
        {"conv_transpose", "conv"},
        {"gemm_ragged", "gemm"},
        {"gemm_packed", "packed"},
        {"copy", "elementwise"},
        {"elementwise_chain", "elementwise"},
        {"gated_backward", "gated"},
        {"prelu_backward", "prelu"},
        {"activation_backward", "activation"},
        {"norm_backward", "norm"},
        {"gather_backward", "gather"},
        {"pool_backward", "pool"},
        {"softmax_backward", "softmax"},
        {"cross_entropy", "loss"},
        {"cross_entropy_backward", "loss"},
        {"mse", "loss"},
        {"mse_backward", "loss"},
        {"sgd", "optimizer"},
        {"adam", "optimizer"},
        {"square_sum", "optimizer"},
        {"clip", "optimizer"},
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++)
        if (strcmp(family->name, homes[i][0]) == 0)
            return homes[i][1];
    return family->name;
}

/* The whole of a file of the tree; the caller frees it. NULL where there is none. */
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

static void every_family_is_whole(void **state)
{
    (void)state;
    assert_true(tn_family_count > 0);
    for (uint32_t i = 0; i < tn_family_count; i++) {
        const tn_family *family = tn_families[i];
        assert_true(family->solver_count > 0 &&
                    (family->awkward != NULL || family->self_check != NULL));
        assert_true(islower((unsigned char)family->name[0]));
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(family->name, tn_families[j]->name);
    }
}

static void every_solver_is_whole(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_family_count; i++)
        for (uint32_t s = 0; s < tn_families[i]->solver_count; s++) {
            const tn_solver *solver = tn_families[i]->solvers[s];
            assert_true(solver->configure != NULL
                            ? solver->launch != NULL
                            : solver->refuses != NULL && solver->estimate != NULL &&
                                  solver->options != NULL && solver->record != NULL);
            assert_true(solver->parameter_count <= TN_MAX_PARAMETERS);
            /* Parameters without constraints or defaults could be forced to anything. */
            if (solver->parameter_count > 0)
                assert_true(solver->configure != NULL ||
                            (solver->tune != NULL && solver->constrains != NULL));
            for (uint32_t p = 0; p < solver->parameter_count; p++)
                assert_true(solver->parameters[p].low >= 1 &&
                            solver->parameters[p].low <= solver->parameters[p].high);
        }
}

/* The grammar cannot be read if a name ends in a digit or has one of its separators. */
static void every_name_fits_the_grammar(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_family_count; i++)
        for (uint32_t s = 0; s < tn_families[i]->solver_count; s++) {
            const tn_solver *solver = tn_families[i]->solvers[s];
            assert_null(strpbrk(solver->name, "/:, "));
            for (uint32_t p = 0; p < solver->parameter_count; p++) {
                const char *name = solver->parameters[p].name;
                assert_true(isalpha((unsigned char)name[strlen(name) - 1]));
                assert_null(strpbrk(name, "/:, 0123456789"));
            }
        }
}

static void every_family_has_its_places(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_family_count; i++) {
        need_file(tn_families[i], "include/tenon/%s.h");
        need_file(tn_families[i], "src/ops/%s/reference.c");
        need_file(tn_families[i], "tests/ops/test_%s.c");
    }
}

static void every_family_has_a_kernel(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_family_count; i++) {
        const char *home = home_of(tn_families[i]);
        bool found = false;
        for (size_t k = 0; k < tenon_kernel_sources.count; k++) {
            const char *name = tenon_kernel_sources.files[k].name;
            found |= strncmp(name, home, strlen(home)) == 0 && name[strlen(home)] == '/';
        }
        if (!found)
            fail_msg("no kernel in cl_kernels/%s", home);
    }
}

/* What the public call of a family is named after, if not the family. */
static const char *call_of(const tn_family *family)
{
    return strcmp(family->name, "gemm_int8") == 0 ? "gemm" : family->name;
}

static void every_family_is_documented(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < tn_family_count; i++) {
        char function[64], path[256];
        snprintf(function, sizeof function, "tenon_%s", call_of(tn_families[i]));
        snprintf(path, sizeof path, "include/tenon/%s.h", home_of(tn_families[i]));
        need_mention(tn_families[i], path, function);
        need_mention(tn_families[i], "CHANGELOG.md", tn_families[i]->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_is_whole),
        cmocka_unit_test(every_solver_is_whole),
        cmocka_unit_test(every_name_fits_the_grammar),
        cmocka_unit_test(every_family_has_its_places),
        cmocka_unit_test(every_family_has_a_kernel),
        cmocka_unit_test(every_family_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL); /* needs no device */
}
