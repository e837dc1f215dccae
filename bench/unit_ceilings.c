/* Measures how fast matrix units multiply operands in registers, or in the memory that they read.
 */
#include "device.h"
#include "device_limits.h"
#include "matrix/layout.h"
#include "runtime/probe/capability.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/context/context.h"

#include <stdio.h>

static const struct {
    const char *name;
    uint32_t plus, minus; /* a word with elements 1 and -1 */
} unit_types[] = {
    [MATRIX_F16] = {"f16", 0x3c003c00, 0xbc00bc00},
    [MATRIX_BF16] = {"bf16", 0x3f803f80, 0xbf80bf80},
    [MATRIX_TF32] = {"tf32", 0x3f800000, 0xbf800000},
    [MATRIX_I8] = {"i8", 0x01010101, 0xffffffff},
    [MATRIX_F32] = {"f32", 0x3f800000, 0xbf800000},
};

/* The forms of a unit, and the kernel of its products: how many products a group of lanes computes
 * at once, and in how many steps. */
typedef struct unit_kind {
    tenon_capability capability;
    int units[2];
    const char *what, *kernel;
    int products, steps;
} unit_kind;

#define PEAK "matrix_peak"
static const unit_kind kinds[] = {
    {TENON_CAPABILITY_NVIDIA_MMA, {MATRIX_NVIDIA}, "unit", PEAK, 8, 1},
    {TENON_CAPABILITY_NVIDIA_WGMMA, {MATRIX_WGMMA}, "unit wgmma", "wgmma_peak", 1, 4},
    {TENON_CAPABILITY_AMD_MFMA, {MATRIX_MFMA}, "unit", PEAK, 8, 1},
    {TENON_CAPABILITY_AMD_WMMA, {MATRIX_WMMA_11, MATRIX_WMMA_12}, "unit", PEAK, 8, 1},
    {TENON_CAPABILITY_INTEL_MATRIX, {MATRIX_XMX_16, MATRIX_XMX_8}, "unit", PEAK, 8, 1}};

/* A product of the kernel. For wgmma_peak.cl it is the largest one, and includes types that Tenon's
 * own kernels do not use. */
typedef struct product {
    int m, n, k, lanes;
} product;

static bool product_of(int unit, int type, product *p)
{
    if (unit == MATRIX_WGMMA) {
        *p = (product){64, 256, 256 / MATRIX_BITS(type), 128};
        return type >= MATRIX_F16 && type <= MATRIX_I8;
    }
    if (!MATRIX_HAS(unit, type))
        return false;
    *p = (product){MATRIX_M(unit), MATRIX_N(unit), MATRIX_K(unit, type), MATRIX_LANES(unit)};
    return true;
}

static void measure_products(bench_limits *c, const unit_kind *kind, const char *name,
                             const product *p, int type, const char *options)
{
    const int sums = p->m * p->n / p->lanes, k = kind->steps * p->k;
    const double products = 2.0 * kind->products * sums * k;
    char all[640];
    snprintf(all, sizeof all, "%s -DTENON_UNIT_TYPE=%d -DTENON_EMULATE=%d", options, type,
             c->session->options->emulated);
    const bench_arithmetic a = {.name = name,
                                .source = kind->kernel,
                                .kernel = kind->kernel,
                                .options = all,
                                .kind = "matrix",
                                .dtype = unit_types[type].name,
                                .may_lack = kind->capability == TENON_CAPABILITY_NVIDIA_WGMMA,
                                .operations = 2 * products,
                                .once = products,
                                .result = (float)(kind->products * sums * (3 + k))};
    bench_measure_arithmetic(c, &a, unit_types[type].plus, unit_types[type].minus);
}

/* Returns true if the probe of this type failed. Probes that do not distinguish types say nothing
 * about one type. */
static bool tried_and_failed(const bench_limits *c, tenon_capability capability, int type)
{
    return tn_trials[capability].types != NULL &&
           !tn_capability_has_type(c->session->context, capability, type);
}

static void measure_types(bench_limits *c, const unit_kind *kind, int unit, const char *options)
{
    char name[64];
    product p;
    const bool emulated = c->session->options->emulated;
    for (int type = MATRIX_F16; type <= MATRIX_F32; type++) {
        snprintf(name, sizeof name, "matrix %s %s%s", kind->what, unit_types[type].name,
                 emulated ? ", emulated" : "");
        if (!product_of(unit, type, &p) || !bench_limit_wanted(c, name))
            continue;
        if (!emulated && tried_and_failed(c, kind->capability, type))
            bench_limit_left_out(c, name, "the probe of this type failed");
        else
            measure_products(c, kind, name, &p, type, options);
    }
}

void bench_measure_units(bench_limits *c)
{
    tenon_context *context = c->session->context;
    const size_t items = c->items, group = c->group;
    const bool emulated = c->session->options->emulated;
    char options[512];
    c->group = BENCH_GROUP;
    c->items = emulated ? BENCH_GROUP : items;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const int has = tn_capability_form(context, kinds[i].capability);
        for (int form = 0; form < 2; form++) {
            const int unit = kinds[i].units[form];
            if (unit == 0 || (!emulated && form != has))
                continue;
            if (emulated)
                snprintf(options, sizeof options, TN_MIN_VERSION " -DTENON_UNIT=%d", unit);
            else
                tn_build_options_with(context, kinds[i].capability, options, "-DTENON_UNIT=%d",
                                      unit);
            measure_types(c, &kinds[i], unit, options);
        }
    }
    c->items = items;
    c->group = group;
}
