/*
 * Prices call options by Monte Carlo simulation: a European option, and Asian options on the
 * geometric and on the arithmetic mean of the stock's prices on 16 dates. The first two have closed
 * forms, from which the estimates must differ by less than four standard errors. The stock follows
 * a geometric Brownian motion (F. Black and M. Scholes, "The pricing of options and corporate
 * liabilities", 1973; for the geometric mean A. Kemna and A. Vorst, "A pricing method for options
 * based on average asset values", 1990). options.py is the same program in Python.
 */
#include "try.h"

#include <math.h>

enum { PATHS = 1 << 18, DATES = 16 };
static const double START = 100, STRIKE = 105, RATE = 0.03, VOLATILITY = 0.25; /* for one year */

/* Returns the value of a call on a price whose logarithm is normal. */
static double closed_form(double mean, double variance)
{
    const double deviation = sqrt(variance), d = (mean - log(STRIKE)) / deviation;
    return exp(-RATE) * (exp(mean + variance / 2) * erfc(-(d + deviation) / sqrt(2)) / 2 -
                         STRIKE * erfc(-d / sqrt(2)) / 2);
}

static tenon_tensor new_tensor(tenon_context *context, uint32_t rank, const int64_t *shape)
{
    tenon_tensor made;
    TRY(tenon_tensor_create(context, TENON_DTYPE_F32, rank, shape, &made));
    return made;
}

/* Prints the discounted mean of the payoffs max(price - strike, 0), which replace the prices, and
 * its standard error. Returns whether it agrees with the expected value; 0: none is known. */
static int value(tenon_stream *stream, const char *name, const tenon_tensor *prices,
                 const tenon_tensor *results, double expected)
{
    const tenon_tensor mean = tenon_tensor_slice(*results, 0, 0, 1),
                       variance = tenon_tensor_slice(*results, 0, 1, 1);
    float host[2];
    TRY(tenon_elementwise_chain(
        stream,
        &tenon_elementwise_chain_params(.step_count = 2,
                                        .steps = {{TENON_CHAIN_SUBTRACT, .alpha = STRIKE},
                                                  {TENON_CHAIN_MAX, .alpha = 0}}),
        prices, NULL, NULL, NULL, prices, NULL));
    TRY(tenon_moments(stream, NULL, prices, &mean, &variance, NULL));
    TRY(tenon_tensor_download(stream, results, host, sizeof host, NULL));
    const double price = exp(-RATE) * host[0], error = exp(-RATE) * sqrt(host[1] / PATHS);
    printf("%-16s %7.4f, standard error %.4f", name, price, error);
    printf(expected > 0 ? ", closed form %7.4f\n" : "\n", expected);
    return expected > 0 ? fabs(price - expected) < 4 * error : price > 0;
}

/* Replaces logarithms of prices, relative to the first, by prices. */
static void to_prices(tenon_stream *stream, const tenon_tensor *x)
{
    TRY(tenon_elementwise_chain(
        stream,
        &tenon_elementwise_chain_params(.step_count = 2,
                                        .steps = {{TENON_CHAIN_ADD, .alpha = log(START)},
                                                  {TENON_CHAIN_EXP}}),
        x, NULL, NULL, NULL, x, NULL));
}

int main(void)
{
    const double step = 1.0 / DATES, drift = RATE - VOLATILITY * VOLATILITY / 2;
    const int64_t shape[] = {DATES, PATHS}, two = 2;
    const tenon_reduce_params mean =
        tenon_reduce_params(.kind = TENON_REDUCE_MEAN, .axis_count = 1, .axes = {0});
    tenon_context *context;
    tenon_stream *stream;
    TRY(tenon_context_create(NULL, &context));
    TRY(tenon_stream_create(context, NULL, &stream));
    tenon_tensor paths = new_tensor(context, 2, shape),
                 geometric = new_tensor(context, 1, shape + 1),
                 arithmetic = new_tensor(context, 1, shape + 1),
                 results = new_tensor(context, 1, &two);
    const tenon_tensor last = tenon_tensor_squeeze(tenon_tensor_slice(paths, 0, DATES - 1, 1), 0);

    /* From date to date, the logarithm of the price moves by a normal number. */
    TRY(tenon_random(stream,
                     &tenon_random_params(.kind = TENON_RANDOM_NORMAL, .seed = 1,
                                          .mean = drift * step,
                                          .deviation = VOLATILITY * sqrt(step)),
                     &paths, NULL));
    TRY(tenon_scan(stream, &tenon_scan_params(.axis = 0), &paths, &paths, NULL));
    TRY(tenon_reduce(stream, &mean, &paths, &geometric, NULL));
    to_prices(stream, &geometric);
    to_prices(stream, &paths);
    TRY(tenon_reduce(stream, &mean, &paths, &arithmetic, NULL));

    const double square = VOLATILITY * VOLATILITY, n = DATES;
    int well = value(stream, "European", &last, &results, closed_form(log(START) + drift, square));
    well &= value(stream, "Asian geometric", &geometric, &results,
                  closed_form(log(START) + drift * (n + 1) / (2 * n),
                              square * (n + 1) * (2 * n + 1) / (6 * n * n)));
    well &= value(stream, "Asian arithmetic", &arithmetic, &results, 0);

    tenon_tensor *const made[] = {&paths, &geometric, &arithmetic, &results};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        tenon_tensor_destroy(made[i]);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    return well ? 0 : 1;
}
