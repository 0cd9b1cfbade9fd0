"""Writes expected.json: what ArviZ says of test series that tests/diagnose.rs generates alike.

Inputs use only integer arithmetic and + - * / on doubles, which are exact or correctly rounded in
both languages, so that the series agree to the last bit and only figures need storing.

    pip install arviz arviz-stats
    python make.py > expected.json
"""

import json
import math
import warnings

import arviz
import arviz_stats
import numpy as np
import scipy
from arviz.stats import diagnostics as classic
from arviz_stats.base import array_stats as current

warnings.simplefilter("ignore")
MASK = 2**64 - 1


class Lcg:
    """Knuth's 64-bit congruential generator; the top 53 bits make a uniform in (0, 1)."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return ((self.state >> 11) + 0.5) * 2.0**-53

    def bell(self):
        """Nearly normal, unit variance: twelve uniforms less six."""
        total = 0.0
        for _ in range(12):
            total += self.uniform()
        return total - 6.0


def ar1(phi):
    def draw(rng, previous, chain):
        return phi * previous + rng.bell()

    return draw


def shifted(rng, previous, chain):
    return rng.bell() + (0.5 if chain == 3 else 0.0)


def wider(rng, previous, chain):
    return rng.bell() * (2.0 if chain == 0 else 1.0)


def heavy(rng, previous, chain):
    return rng.bell() / rng.bell()


def ties(rng, previous, chain):
    return math.floor(rng.uniform() * 40.0) * 0.1


def coarse(rng, previous, chain):
    return float(math.floor(rng.uniform() * 3.0))


# name: (chains, draws, seed, rule); the rule gets generator, previous draw and number of the chain.
CASES = {
    "iid": (4, 1000, 1, ar1(0.0)),
    "ar_positive": (4, 500, 2, ar1(0.9)),
    "ar_negative": (4, 500, 3, ar1(-0.5)),
    "ar_antithetic": (4, 250, 4, ar1(-0.95)),
    "shifted": (4, 400, 5, shifted),
    "wider": (4, 400, 6, wider),
    "heavy": (4, 1000, 7, heavy),
    "ties": (4, 500, 8, ties),
    "coarse": (4, 300, 9, coarse),
    "odd": (4, 501, 10, ar1(0.4)),
    "one_chain": (1, 1000, 11, ar1(0.6)),
    "short": (2, 37, 12, ar1(0.3)),
    "shortest": (3, 4, 13, ar1(0.0)),
    "offset": (2, 200, 14, lambda rng, previous, chain: 1.0e6 + rng.bell()),
}


def generate(chains, draws, seed, rule):
    out = np.empty((chains, draws))
    for chain in range(chains):
        rng = Lcg(seed * 1000 + chain)
        previous = 0.0
        for draw in range(draws):
            previous = rule(rng, previous, chain)
            out[chain, draw] = previous
    return out


def figures(x):
    """ArviZ's figures; the sd error from the classic package (see arviz-stats issue 428)."""
    return {
        # Added one by one, to show that the series are the same to the last bit; as an integer,
        # because JSON readers may round doubles.
        "sum_bits": int(np.cumsum(x)[-1].view(np.uint64)),
        "mean": x.mean(),
        "sd": x.std(ddof=1),
        "q05": np.quantile(x, 0.05),
        "q50": np.quantile(x, 0.50),
        "q95": np.quantile(x, 0.95),
        "rhat": current._rhat_rank(x),
        "ess_bulk": current._ess_bulk(x),
        "ess_tail": current._ess_tail(x, (0.05, 0.95)),
        "ess_mean": current._ess_mean(x),
        "mcse_mean": current._mcse_mean(x),
        "mcse_sd": classic._mcse_sd(x),
        "mcse_q05": current._mcse_quantile(x, 0.05),
        "mcse_q50": current._mcse_quantile(x, 0.50),
        "mcse_q95": current._mcse_quantile(x, 0.95),
        "split_rhat_plain": current._rhat_split(x),
        "ebfmi": list(current._bfmi(x)),
        # What an implementation that forgets to split would say; the tests must tell it apart.
        "unsplit_rhat": current._rhat(current._z_scale(x)) if len(x) > 1 else math.nan,
        "unsplit_ess_bulk": current._ess(current._z_scale(x)),
        "unsplit_ess_mean": current._ess(x),
    }


def plain(value):
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, int):
        return value
    return None if math.isnan(value) else float(value)


def main():
    cases = {}
    for name, (chains, draws, seed, rule) in CASES.items():
        found = figures(generate(chains, draws, seed, rule))
        cases[name] = {"chains": chains, "draws": draws, "seed": seed}
        cases[name] |= {key: plain(value) for key, value in found.items()}
    versions = {m.__name__: m.__version__ for m in (arviz, arviz_stats, np, scipy)}
    print(json.dumps({"versions": versions, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
