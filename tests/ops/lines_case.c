#include "lines_case.h"

static bool present(const lines_case *p, uint32_t i)
{
    return p->dtype[i] != TENON_DTYPE_INVALID && !(i == 0 && p->in_place);
}

void lines_lay(lines_case *p, test_layout layout, bool gap)
{
    for (uint32_t i = 0; i < p->of->operand_count; i++)
        test_strides(layout, gap, p->rank, p->shape, p->stride[i]);
}

void lines_draw(lines_case *p, test_random *random, int64_t most)
{
    p->rank = (uint32_t)test_between(random, 0, 4);
    for (uint32_t d = p->rank; d-- > 0; most /= p->shape[d] > 0 ? p->shape[d] : 1)
        p->shape[d] = test_between(random, test_one_in(random, 40) ? 0 : 1, most < 1 ? 1 : most);
    for (uint32_t i = 0; i < p->of->operand_count; i++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                     p->rank, p->shape, p->stride[i]);
    p->offset = test_between(random, 0, 5);
}

void lines_make(lines_run *run, const lines_case *p)
{
    static const int64_t one[] = {1};
    *run = (lines_run){.problem = *p};
    for (uint32_t i = 0; i < p->of->operand_count; i++) {
        if (!present(p, i))
            continue;
        if ((p->single >> i & 1) != 0)
            test_tensor_create(&run->operands[i], p->dtype[i], 1, one, one, p->offset);
        else
            test_tensor_create(&run->operands[i], p->dtype[i], p->rank, p->shape, p->stride[i],
                               p->offset);
    }
}

static void views_of(const lines_run *run, bool host, const tenon_tensor **views)
{
    for (uint32_t i = 0; i < run->problem.of->operand_count; i++) {
        const bool same = i == 0 && run->problem.in_place;
        const test_tensor *operand = &run->operands[same ? run->problem.of->operand_count - 1 : i];
        views[i] = operand->image == NULL ? NULL : host ? &operand->host : &operand->view;
    }
}

static tenon_status call(const void *user, const char *solver)
{
    const lines_run *run = user;
    const tn_operation *of = run->problem.of;
    const tenon_tensor *views[LINES_MOST];
    tn_case_params params;
    memcpy(&params, run->problem.params, of->params_size);
    params.head.solver = solver;
    views_of(run, false, views);
    return test_call_views(of, &params, views);
}

static const char *describe(const void *user)
{
    static char text[1536];
    const lines_run *run = user;
    const lines_case *p = &run->problem;
    char shape[160];
    size_t used =
        (size_t)snprintf(text, sizeof text, "%s, shape %s, offset %lld%s: ", p->of->family->name,
                         tn_shape_text(p->rank, p->shape, shape), (long long)p->offset,
                         p->in_place ? ", in place" : "");
    for (uint32_t i = 0; i < p->of->operand_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s by %s, ",
                                 tenon_dtype_string(p->dtype[i]),
                                 tn_shape_text(p->rank, p->stride[i], shape));
    p->describe(p->params, text + used, sizeof text - used);
    return text;
}

static size_t results_of(const lines_run *run)
{
    size_t count = 1;
    for (uint32_t i = 0; i < run->problem.of->operand_count; i++)
        if (run->operands[i].image != NULL)
            count += (size_t)tenon_tensor_elements(&run->operands[i].view);
    return count;
}

void lines_check(lines_run *run, test_judge judge, bool all)
{
    const lines_case *p = &run->problem;
    const tenon_tensor *views[LINES_MOST];
    tn_bounded *expected = calloc(results_of(run), sizeof *expected);
    assert_non_null(expected);
    views_of(run, true, views);
    assert_true(p->of->reference(p->params, views, expected));
    const test_subject subject = {.family = p->of->family,
                                  .call = call,
                                  .describe = describe,
                                  .data = run,
                                  .operands = run->operands,
                                  .operand_count = p->of->operand_count,
                                  .expected = expected,
                                  .judge = judge,
                                  .outputs = p->of->output_count};
    if (all) {
        test_run_all(&subject);
    } else {
        for (uint32_t i = 0; i < p->of->operand_count - p->of->output_count; i++)
            if (run->operands[i].image != NULL)
                test_upload(&run->operands[i]);
        assert_true(test_run(&subject, NULL));
    }
    for (uint32_t i = 0; i < p->of->operand_count; i++)
        if (run->operands[i].image != NULL)
            test_tensor_destroy(&run->operands[i]);
    free(expected);
}

uint32_t lines_plans(void)
{
    return tn_dispatch_of(test_context)->plans.count;
}
