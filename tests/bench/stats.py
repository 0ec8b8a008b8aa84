# SPDX-License-Identifier: Apache-2.0
"""Intervals of paired ratios, and whether they answer a target."""

import math
import random
import statistics

RESAMPLES = 4000
FEWEST = 6  # with fewer values not even their whole range is a 95 % interval
MET, MISSED, OPEN = 'met', 'missed', 'cannot tell'


def bootstrap(values, seed=1):
    """The median of VALUES with its 95 % percentile-bootstrap interval."""
    point = statistics.median(values)
    rng = random.Random(seed)
    n = len(values)
    medians = sorted(statistics.median(rng.choices(values, k=n))
                     for _ in range(RESAMPLES))
    return (point, medians[int(0.025 * RESAMPLES)],
            medians[int(0.975 * RESAMPLES) - 1])


def ratio(ours, theirs):
    """
    The median ratio of pairs with its 95 % interval. Pairs are runs of the
    same round, so a disturbance that lasts longer than a round cancels out;
    logarithms make the interval of a/b the inverse of that of b/a.
    """
    logs = [math.log(a / b) for a, b in zip(ours, theirs)]
    return tuple(map(math.exp, bootstrap(logs)))


def verdict(count, interval, sense, bound):
    """
    MET or MISSED where the whole interval, of COUNT values, lies on one side
    of BOUND.
    """
    _, low, high = interval
    if count < FEWEST:
        return OPEN
    if sense == '>=':
        return MET if low >= bound else MISSED if high < bound else OPEN
    return MET if high <= bound else MISSED if low > bound else OPEN
