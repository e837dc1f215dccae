#!/usr/bin/env python3
"""Prices call options by Monte Carlo simulation: a European option, and Asian options on the geometric and on the
arithmetic mean of the stock's prices on 16 dates. The first two have closed forms, from which the estimates must differ
by less than four standard errors. options.c is the same program in C, and names the sources of the formulas.

    pip install ./python && python examples/options.py
"""
from math import erf, exp, log, sqrt

import tenon

PATHS, DATES = 1 << 18, 16
START, STRIKE, RATE, VOLATILITY = 100, 105, 0.03, 0.25  # for one year


def normal_below(x):
    return (1 + erf(x / sqrt(2))) / 2


def closed_form(mean, variance):
    """Returns the value of a call on a price whose logarithm is normal."""
    deviation = sqrt(variance)
    d = (mean - log(STRIKE)) / deviation
    return exp(-RATE) * (exp(mean + variance / 2) * normal_below(d + deviation) - STRIKE * normal_below(d))


def value(name, prices, expected=None):
    """Prints the discounted mean of the payoffs and its standard error; compares it with the expected value."""
    payoffs = tenon.elementwise_chain(prices, steps=[{"op": "subtract", "alpha": STRIKE}, {"op": "max", "alpha": 0}])
    mean, variance = (float(moment.numpy()) for moment in tenon.moments(payoffs, kind="variance"))
    mean, error = exp(-RATE) * mean, exp(-RATE) * sqrt(variance / PATHS)
    print(f"{name:16} {mean:7.4f}, standard error {error:.4f}", end="")
    print("" if expected is None else f", closed form {expected:7.4f}")
    if expected is not None and abs(mean - expected) >= 4 * error:
        raise SystemExit(f"options: the {name} option differs from the closed form")


def to_prices(logarithms):
    return tenon.elementwise_chain(logarithms, steps=[{"op": "add", "alpha": log(START)}, {"op": "exp"}])


def main():
    step, drift, square = 1 / DATES, RATE - VOLATILITY**2 / 2, VOLATILITY**2
    # From date to date, the logarithm of the price moves by a normal number.
    moves = tenon.random(y=(DATES, PATHS), kind="normal", seed=1, mean=drift * step,
                         deviation=VOLATILITY * sqrt(step))
    paths = tenon.scan(moves, axis=0)
    prices = to_prices(paths)
    value("European", prices[-1], closed_form(log(START) + drift, square))
    value("Asian geometric", to_prices(tenon.reduce(paths, kind="mean", axes=0)),
          closed_form(log(START) + drift * (DATES + 1) / (2 * DATES),
                      square * (DATES + 1) * (2 * DATES + 1) / (6 * DATES**2)))
    value("Asian arithmetic", tenon.reduce(prices, kind="mean", axes=0))


if __name__ == "__main__":
    main()
