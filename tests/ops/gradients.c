#include "fixture.h"

#include <math.h>
#include <string.h>

static double weighted_sum(test_fixture *f, const test_tensor *weights)
{
    test_expect(f);
    return test_dot(f->expected, weights);
}

void test_slopes(test_fixture *f, uint32_t input, const test_tensor *weights,
                 const tn_bounded *gradient, double absolute, double relative)
{
    const double step = 1e-5;
    char text[TN_CASE_TEXT_SIZE];
    test_tensor *x = test_operand(f, input);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++) {
        const double at = test_get(x, i);
        test_set(x, i, at + step);
        const double above = weighted_sum(f, weights);
        test_set(x, i, at - step);
        const double slope = (above - weighted_sum(f, weights)) / (2 * step);
        test_set(x, i, at);
        /* The bound is tiny, except where several inputs are equal maxima. */
        const double most = gradient[i].bound + absolute + relative * fabs(slope);
        if (!(fabs(slope - gradient[i].value) <= most))
            fail_msg("%s: %s[%lld]: the gradient is %.9g, by finite differences %.9g",
                     tn_case_text(&f->c, text), f->c.operation->operands[input].name, (long long)i,
                     gradient[i].value, slope);
    }
}

void test_fill_gradients(test_fixture *y, test_fixture *dx, test_random *random)
{
    dx->c.params = y->c.params;
    test_make(y);
    test_make(dx);
    test_fill_inputs(y, TEST_BOUND, random);
    test_fill_inputs(dx, TEST_BOUND, random);
}

static uint32_t operand_named(const test_fixture *f, const char *name)
{
    uint32_t i = 0;
    while (i < f->c.operation->operand_count && strcmp(f->c.operation->operands[i].name, name) != 0)
        i++;
    return i;
}

/* Copies the values of an operand of y, which for an output are the expected ones. */
static void copy_values(test_tensor *to, const test_fixture *y, uint32_t operand)
{
    const tn_bounded *expected = y->expected;
    for (uint32_t i = test_first_output(y->c.operation); i < operand; i++)
        expected += y->operands[i].image != NULL ? tenon_tensor_elements(&y->operands[i].view) : 0;
    for (int64_t e = 0; e < tenon_tensor_elements(&to->view); e++)
        test_set(to, e,
                 operand < test_first_output(y->c.operation) ? test_get(&y->operands[operand], e)
                                                             : expected[e].value);
}

void test_check_gradients(test_fixture *y, test_fixture *dx, double absolute, double relative)
{
    const tn_operation *backward = dx->c.operation;
    const test_tensor *weights = NULL;
    test_expect(y);
    for (uint32_t i = 0; i < test_first_output(dx->c.operation); i++) {
        const char *name = backward->operands[i].name;
        const uint32_t same = operand_named(y, name);
        if (same < y->c.operation->operand_count && dx->operands[i].image != NULL)
            copy_values(&dx->operands[i], y, same);
        if (strcmp(name + 1, y->c.operation->operands[test_first_output(y->c.operation)].name) == 0)
            weights = &dx->operands[i];
    }
    test_expect(dx);
    const tn_bounded *gradient = dx->expected;
    for (uint32_t i = test_first_output(dx->c.operation); i < backward->operand_count; i++) {
        if (dx->operands[i].image == NULL)
            continue;
        test_slopes(y, operand_named(y, backward->operands[i].name + 1), weights, gradient,
                    absolute, relative);
        gradient += tenon_tensor_elements(&dx->operands[i].view);
    }
    test_release(y);
    test_release(dx);
}
