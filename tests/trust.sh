#!/usr/bin/env bash
# Runs what docs/TRUST.md promises at full size and says of each command whether it passed and how long it took.
#
#   bash tests/trust.sh                 every promise; hours on two cores
#   bash tests/trust.sh joint device    those whose name contains one of the words
#   bash tests/trust.sh --list          names and commands
#
# What a command prints is kept in a directory of its own, named first. Exits with 1 if any of them failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sshmc="cargo run --locked --quiet --release --"
tests="cargo test --locked --release"
promises=(
    "joint-lgcp|$sshmc check joint lgcp"
    "joint-sv|$sshmc check joint sv"
    "joint-logistic|$sshmc check joint logistic"
    "joint-funnel|$sshmc check joint funnel"
    "calibrate-lgcp|$sshmc check calibrate lgcp --grid 8 --out OUT"
    "calibrate-lgcp-16|$sshmc check calibrate lgcp --grid 16 --out OUT"
    "calibrate-sv|$sshmc check calibrate sv --out OUT"
    "calibrate-logistic|$sshmc check calibrate logistic --out OUT"
    "calibrate-funnel|$sshmc check calibrate funnel --out OUT"
    "calibrate-gpu|$sshmc check calibrate lgcp --grid 8 --device gpu --replicates 20 --chains 2 --warmup 150 --draws 80 --among 15 --out OUT"
    "calibrate-matrix|env SSHMC_MATRIX_REPLICATES=20 $tests --test check matrix -- --nocapture"
    "device|$sshmc check device"
    "kernels|$tests --test check joint -- --nocapture"
    "mutants|$tests --test check mutants -- --nocapture"
    "coverage|$tests --test points two_hundred -- --ignored --nocapture"
    "references|$tests --test posterior references -- --nocapture"
    "nuts|$tests --test posterior -- --ignored nuts --nocapture"
    "torus|$tests --test posterior smaller_torus -- --ignored --nocapture"
    "closed-forms|$tests --test posterior grids -- --nocapture"
    "closed-forms-large|$tests --test posterior -- --ignored a_field_of --nocapture"
    "gpu|$tests --test gpu -- --nocapture"
    "gpu-grids|$tests --test gpu a_grid_of -- --ignored --nocapture"
    "resume|$tests --test resume"
    "points-ten-million|$tests --test extremes ten_million -- --ignored --nocapture"
    "fuzz|env SSHMC_FUZZ_CASES=80000 $tests --test fuzz -- --nocapture"
    "soak-short-runs|env SSHMC_SOAK_RUNS=10000 $tests --test soak short_runs -- --nocapture"
    "soak-hour|env SSHMC_SOAK_DRAWS=6400000 $tests --test soak long_run -- --nocapture"
    "soak-gpu|env SSHMC_SOAK_GPU_RUNS=1500 $tests --test gpu soak -- --nocapture"
)

wanted() {
    [ "$#" = 1 ] && return 0
    local name=$1 word
    shift
    for word in "$@"; do
        [[ $name == *"$word"* ]] && return 0
    done
    return 1
}

if [ "${1:-}" = --list ]; then
    printf '%s\n' "${promises[@]}" | sed 's/|/\t/'
    exit 0
fi

directory=$(mktemp -d)
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
echo "outputs in $directory, of commit $commit"
failed=0
ran=0
for promise in "${promises[@]}"; do
    name=${promise%%|*}
    wanted "$name" "$@" || continue
    ran=$((ran + 1))
    begun=$SECONDS
    command=${promise#*|}
    if ${command//OUT/$directory/$name} >"$directory/$name.log" 2>&1 </dev/null; then
        verdict=passed
        # A filter that no test answers to proves nothing.
        grep -q '^test result: ok. 0 passed' "$directory/$name.log" && verdict="FAILED: no test has that name"
    else
        verdict="FAILED with code $?"
    fi
    [ "$verdict" = passed ] || failed=$((failed + 1))
    echo "$name: $verdict in $((SECONDS - begun)) s"
done
if [ "$ran" = 0 ]; then
    echo "error: no promise is named like that; 'bash tests/trust.sh --list' has them" >&2
    exit 2
fi
echo "$((ran - failed)) passed, $failed failed"
[ "$failed" = 0 ]
