"""Opens a run's draws.zarr with xarray, lets ArviZ sum it up, and compares with summary.json and field.csv. Exit code 1: they differ."""

import argparse
import csv
import json
import sys
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import arviz
    import numpy
    import xarray

options = argparse.ArgumentParser()
options.add_argument("directory")
options.add_argument("--move", type=float, default=0.0, help="standard deviations to move the draws by")
options = options.parse_args()

tree = xarray.open_datatree(f"{options.directory}/draws.zarr", engine="zarr", consolidated=False).load()
with open(f"{options.directory}/summary.json") as file:
    ours = json.load(file)
posterior = tree["posterior"].to_dataset()
names = list(posterior.attrs["hyperparameters"])
draws = posterior[names]
draws = draws + options.move * draws.std()
faults = []


def expect(what, theirs, mine, tolerance):
    scale = max(1.0, float(numpy.max(numpy.abs(mine))))
    if not numpy.max(numpy.abs(numpy.asarray(theirs) - numpy.asarray(mine))) <= tolerance * scale:
        faults.append(f"{what}: {theirs} in ArviZ, {mine} here")


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    theirs = arviz.summary(draws, round_to="none")
for name in names:
    for key, column in [("mean", "mean"), ("sd", "sd"), ("ess_bulk", "ess_bulk"), ("ess_tail", "ess_tail"), ("rhat", "r_hat")]:
        # Both are in double precision; sums are taken in another order.
        expect(f"{name}.{key}", float(theirs.loc[name, column]), ours["parameters"][name][key], 1e-9)

statistics = tree["sample_stats"].to_dataset()
expect("divergences", int(statistics["diverging"].sum()), ours["sampler"]["divergences"], 0)
expect("acceptance", float(statistics["acceptance_rate"].mean()), ours["sampler"]["accept"], 1e-12)
expect("steps", float(statistics["n_steps"].mean()), ours["sampler"]["steps"], 1e-12)
expect("chains", posterior.sizes["chain"], ours["chains"], 0)
expect("draws", posterior.sizes["draw"], ours["draws"], 0)

with open(f"{options.directory}/field.csv") as file:
    rows = list(csv.DictReader(file))
mean, sd = (numpy.array([float(row[key]) for row in rows]) for key in ("mean", "sd"))
field = posterior["field"]
assert field.dims[0] == "chain" and not field.isnull().any()
if field.dims[1] == "draw":
    flat = field.values.astype(float).reshape(-1, len(rows))
    # Draws are kept in single precision, the moments are not.
    expect("field mean", flat.mean(axis=0), mean, 1e-6)
    expect("field sd", flat.std(axis=0, ddof=1), sd, 1e-5)
else:
    assert field.dims[1] == "field_draw" and posterior["field_draw"].values[0] == 0
    sites = posterior["site"].values
    kept = posterior["field_sites"].values.astype(float).reshape(-1, len(sites))
    expect("mean at sites", kept.mean(axis=0), mean[sites], 1e-6)
    whole = field.isel(chain=0, field_draw=0).values.ravel()
    expect("first field", whole[sites], posterior["field_sites"].isel(chain=0, draw=0).values, 0)

if ours["model"] == "lgcp":
    assert field.dims[2:] == ("y", "x") and tree["constant_data"]["window_share"].dims == ("y", "x")
    assert set(tree["observed_data"].data_vars) == {"counts"}
elif ours["model"] == "sv":
    assert field.dims[2:] == ("time",) and tree["observed_data"]["returns"].size == len(rows)

print("\n".join(faults) or "same")
sys.exit(1 if faults else 0)
