#!/usr/bin/env python3
"""Finite-size trend of parallel tempering.

    figures/tempering/trend.py RUN/comparison.csv > figures/tempering/sizes-trend.csv

For each α (to two digits), theory (steps of replica-symmetry breaking) and quantity: samples minus theory at several N,
fitted by a + b N^-p with weights from the standard errors, for p = 1 and p = 2/3. `a` is the difference that is left in the
limit of large N, z = a / its standard error, and chi2 the sum of squared residuals over `freedom` degrees of freedom.
"""

import csv
import math
import sys


def fit(points, power):
    """Weighted least squares of y = a + b n^-power; a, its standard error, and chi squared."""
    sums = [0.0] * 5
    for n, y, error in points:
        x, weight = n ** -power, error ** -2
        for i, term in enumerate((1, x, x * x, y, x * y)):
            sums[i] += weight * term
    one, x, xx, y, xy = sums
    determinant = one * xx - x * x
    a, b = (xx * y - x * xy) / determinant, (one * xy - x * y) / determinant
    residuals = (((y - a - b * n ** -power) / error) ** 2 for n, y, error in points)
    return a, math.sqrt(xx / determinant), sum(residuals)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    cases = {}
    with open(sys.argv[1], newline="") as file:
        for row in csv.DictReader(file):
            key = (f"{float(row['alpha']):.1f}", row["rsb"], row["quantity"])
            difference = float(row["simulation"]) - float(row["theory"])
            point = (int(row["n"]), difference, float(row["standard_error"]))
            cases.setdefault(key, []).append(point)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow("alpha rsb quantity sizes power a standard_error z chi2 freedom".split())
    for (alpha, rsb, quantity), points in cases.items():
        if len(points) < 3:
            continue
        sizes = "+".join(str(n) for n, _, _ in points)
        for name, power in (("1", 1.0), ("2/3", 2.0 / 3.0)):
            a, error, chi2 = fit(points, power)
            numbers = (f"{x:.6g}" for x in (a, error, a / error, chi2))
            out.writerow([alpha, rsb, quantity, sizes, name, *numbers, len(points) - 2])


if __name__ == "__main__":
    main()
