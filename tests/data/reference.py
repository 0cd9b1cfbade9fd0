"""Turns the results of a long run into a reference: `reference.py FIT DIRECTORY` reads FIT/summary.json and FIT/field.csv and
writes reference.json and reference_latents.csv into DIRECTORY, beside the data that were fitted."""

import csv
import json
import sys
from pathlib import Path

fit, out = map(Path, sys.argv[1:3])
summary = json.loads((fit / "summary.json").read_text())
hyper = {}
for name, p in summary["parameters"].items():
    hyper[name] = {
        "mean": p["mean"],
        "sd": p["sd"],
        "mcse_mean": p["mcse_mean"],
        "q05_50_95": [p["q05"], p["q50"], p["q95"]],
        "ess_of_quantile_run": min(p["ess_bulk"], p["ess_tail"]),
        "rhat": p["rhat"],
    }
reference = {
    "hyper": hyper,
    "least_ess_of_latents": summary["field"]["ess_bulk"]["min"],
    "run": {key: summary[key] for key in ("method", "coordinates", "seed", "chains", "warmup", "draws")},
}
(out / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")
with open(fit / "field.csv", newline="") as rows, open(out / "reference_latents.csv", "w", newline="") as latents:
    writer = csv.writer(latents, lineterminator="\n")
    writer.writerow(["index", "post_mean", "post_sd"])
    for index, row in enumerate(csv.DictReader(rows)):
        writer.writerow([index, f"{float(row['mean']):.7g}", f"{float(row['sd']):.7g}"])
