"""Samples the posterior of `lgcp16` with a dense covariance, independently of sshmc: no line of it is shared.

    python3 -m venv venv && venv/bin/pip install numpy==2.1.3 scipy==1.14.1
    OMP_NUM_THREADS=1 venv/bin/python tests/data/lgcp16/reference_dense.py [SWEEPS]

The model, from its formulas: counts y of 16 x 16 cells of area a = 1/256 are Poisson with mean a exp(x), x is Gaussian with mean mu and
covariance sigma^2 R. R is exp(-d / range) summed over all images of a torus of 32 x 32 cells and scaled to variance one, seen at the 256
cells of the window (the same field as that of `sshmc fit lgcp --torus full`); ranges above two sides of the window are excluded. Priors: log sigma ~ N(0.2, 0.3^2), log range ~
N(-2.3, 0.4^2), mu ~ N(log(N / area), 5^2) with N the number of points and area 1.

The sampler: Metropolis within Gibbs, with z = L^-1 (x - mu) / sigma, L L' = R.
  1. z given the rest by Hamiltonian Monte Carlo with a random number of leapfrog steps;
  2. (log sigma, log range, mu) given z, and given x, in turn (interweaving), by random walks whose covariance is learnt in the warm-up.
Four chains from seeds 1 to 4; writes reference.json and reference_latents.csv beside itself. Effective sizes and R-hat are those of
rank-normalised split chains (Vehtari et al. 2021).
"""

import csv
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.special import ndtri

HERE = Path(__file__).parent
SIDE, PERIOD, CELL = 16, 32, 1 / 16
SWEEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
WARMUP, KEEP_EVERY = 2000, 5
LONGEST = 2.0
PRIOR_MEAN = np.array([0.2, -2.3])
PRIOR_SD = np.array([0.3, 0.4])

with open(HERE / "data.csv", newline="") as rows:
    table = list(csv.DictReader(rows))
assert [(int(r["i"]), int(r["j"])) for r in table] == [(i, j) for i in range(SIDE) for j in range(SIDE)]
Y = np.array([float(r["y"]) for r in table])
AREA = CELL * CELL
MU_MEAN, MU_SD = np.log(Y.sum()), 5.0


def lags(images):
    """Distances of a cell from the images of another, by how many rows and columns lie between them."""
    lag = np.arange(SIDE)
    shifts = PERIOD * np.arange(-images, images + 1)
    di = lag[:, None, None, None] + shifts[None, None, :, None]
    dj = lag[None, :, None, None] + shifts[None, None, None, :]
    return CELL * np.hypot(di, dj).reshape(SIDE * SIDE, -1)


# The nearest image left out is below 1e-12 for these ranges, and 1e-6 at the longest that the model allows.
IMAGES = [(0.1, lags(1)), (0.25, lags(3)), (LONGEST, lags(14))]
cells = np.array([(i, j) for i in range(SIDE) for j in range(SIDE)])
between = np.abs(cells[:, None, :] - cells[None, :, :])
INDEX = between[..., 0] * SIDE + between[..., 1]


def factor(log_range):
    """The lower Cholesky factor of R, or nothing outside of the model."""
    reach = np.exp(log_range)
    if not reach <= LONGEST:
        return None
    distances = next(distances for longest, distances in IMAGES if reach <= longest)
    by_lag = np.exp(-distances / reach).sum(axis=1)
    lower, info = lapack.dpotrf((by_lag / by_lag[0])[INDEX], lower=1, clean=1)
    return lower if info == 0 else None


def log_prior(theta):
    z = (theta[:2] - PRIOR_MEAN) / PRIOR_SD
    return -0.5 * (z @ z) - 0.5 * ((theta[2] - MU_MEAN) / MU_SD) ** 2


def log_likelihood(x):
    return Y @ x - AREA * np.exp(x).sum()


def move_z(rng, theta, lower, z, step):
    """One trajectory; the state, and how likely it was to be taken."""
    sigma, mu = np.exp(theta[0]), theta[2]

    def slope(z):
        x = mu + sigma * (lower @ z)
        return log_likelihood(x) - 0.5 * (z @ z), sigma * (lower.T @ (Y - AREA * np.exp(x))) - z

    value, g = slope(z)
    p = rng.standard_normal(z.size)
    start = value - 0.5 * (p @ p)
    new = z
    for _ in range(rng.integers(3, 14)):
        p = p + 0.5 * step * g
        new = new + step * p
        value, g = slope(new)
        p = p + 0.5 * step * g
    ratio = value - 0.5 * (p @ p) - start
    chance = np.exp(min(0.0, ratio)) if np.isfinite(ratio) else 0.0
    return (new if rng.random() < chance else z), chance


def move_given_z(rng, state, jump):
    """Hyperparameters while z rests: the likelihood decides."""
    theta, lower, z = state
    new = theta + jump @ rng.standard_normal(3)
    other = factor(new[1])
    if other is None:
        return state, 0.0
    old_x, new_x = theta[2] + np.exp(theta[0]) * (lower @ z), new[2] + np.exp(new[0]) * (other @ z)
    with np.errstate(over="ignore"):
        ratio = log_prior(new) + log_likelihood(new_x) - log_prior(theta) - log_likelihood(old_x)
    chance = np.exp(min(0.0, ratio)) if np.isfinite(ratio) else 0.0
    return ((new, other, z), chance) if rng.random() < chance else (state, chance)


def move_given_x(rng, state, jump):
    """Hyperparameters while the field rests: its Gaussian density decides."""
    theta, lower, z = state
    x = theta[2] + np.exp(theta[0]) * (lower @ z)
    new = theta + jump @ rng.standard_normal(3)
    other = factor(new[1])
    if other is None:
        return state, 0.0
    other_z = solve_triangular(other, x - new[2], lower=True) / np.exp(new[0])

    def density(theta, lower, z):
        return log_prior(theta) - 0.5 * (z @ z) - z.size * theta[0] - np.log(np.diag(lower)).sum()

    ratio = density(new, other, other_z) - density(theta, lower, z)
    chance = np.exp(min(0.0, ratio))
    return ((new, other, other_z), chance) if rng.random() < chance else (state, chance)


def chain(seed):
    rng = np.random.default_rng(seed)
    theta = np.array([0.2, -2.3, np.log(Y.sum())]) + 0.2 * rng.standard_normal(3)
    state = (theta, factor(theta[1]), 0.1 * rng.standard_normal(Y.size))
    step, scales, jump = 0.1, np.array([0.0, 0.0]), 0.1 * np.eye(3)
    seen, kept, fields = [], [], []
    accepted = np.zeros(3)
    for sweep in range(WARMUP + SWEEPS):
        theta, lower, z = state
        z, first = move_z(rng, theta, lower, z, step)
        state, second = move_given_z(rng, (theta, lower, z), np.exp(scales[0]) * jump)
        state, third = move_given_x(rng, state, np.exp(scales[1]) * jump)
        if sweep < WARMUP:
            seen.append(state[0])
            pace = min(0.2, 3.0 / np.sqrt(sweep + 1.0))
            step *= np.exp(pace * (first - 0.8))
            scales += pace * (np.array([second, third]) - 0.3)
            if sweep in (500, 1000, 1500):
                jump = np.linalg.cholesky(np.cov(np.array(seen[sweep // 2 :]).T) + 1e-8 * np.eye(3))
        else:
            accepted += (first, second, third)
            if sweep % KEEP_EVERY == 0:
                theta, lower, z = state
                kept.append((np.exp(theta[0]), np.exp(theta[1]), theta[2]))
                fields.append(theta[2] + np.exp(theta[0]) * (lower @ z))
    print(f"chain {seed}: accepted {accepted / SWEEPS}, step {step:.3f}, scales {np.exp(scales)}", flush=True)
    return np.array(kept), np.array(fields)


def split(draws):
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def normal(draws):
    ranks = draws.ravel().argsort().argsort().reshape(draws.shape) + 1
    return ndtri((ranks - 0.375) / (draws.size + 0.25))


def ess(chains):
    """Geyer's initial monotone sequence over several chains."""
    m, n = chains.shape
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + chains.mean(axis=1).var(ddof=1)
    rho = 1 - (within - covariance) / total
    rho[0] = 1.0
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    end = np.argmax(pairs < 0) if (pairs < 0).any() else pairs.size
    return m * n / max(2 * np.minimum.accumulate(pairs[:end]).sum() - 1, 1 / np.log10(m * n))


def rhat(chains):
    n = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    return np.sqrt((n - 1) / n + chains.mean(axis=1).var(ddof=1) / within)


def describe(draws):
    parts = split(draws)
    low, high = np.quantile(draws, [0.05, 0.95])
    bulk, own = ess(normal(parts)), ess(parts)
    tail = min(ess((parts <= low).astype(float)), ess((parts <= high).astype(float)))
    sd = draws.std(ddof=1)
    folded = np.abs(parts - np.median(parts))
    return {
        "mean": draws.mean(),
        "sd": sd,
        "mcse_mean": sd / np.sqrt(own),
        "q05_50_95": list(np.quantile(draws, [0.05, 0.5, 0.95])),
        "ess_bulk": bulk,
        "ess_tail": tail,
        "ess_of_quantile_run": min(bulk, tail),
        "rhat": max(rhat(normal(parts)), rhat(normal(folded))),
    }


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(chain, [1, 2, 3, 4]))
    kept, fields = (np.array([run[k] for run in runs]) for k in (0, 1))
    hyper = {name: describe(kept[:, :, k]) for k, name in enumerate(["sigma", "range", "mu"])}
    least = min(ess(normal(split(fields[:, :, k]))) for k in range(Y.size))
    reference = {
        "hyper": hyper,
        "least_ess_of_latents": least,
        "run": {"script": "reference_dense.py", "seeds": [1, 2, 3, 4], "warmup": WARMUP, "sweeps": SWEEPS, "keep_every": KEEP_EVERY},
    }
    print(json.dumps(reference, indent=1))
    (HERE / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
    with open(HERE / "reference_latents.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["index", "post_mean", "post_sd"])
        for k in range(Y.size):
            x = fields[:, :, k]
            writer.writerow([k, f"{x.mean():.7g}", f"{x.std(ddof=1):.7g}"])
