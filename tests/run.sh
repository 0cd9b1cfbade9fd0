#!/usr/bin/env bash
# Installs what is missing and runs every check; stops at the first that fails.
#
# Needs Rust with cargo, and on Debian nothing else: a C linker, the lint and format tools and, where no GPU answers, a driver
# that imitates one are fetched if they are not there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

begun=$SECONDS

step() {
    echo
    echo "== $* ($((SECONDS - begun)) s)"
}

run() {
    step "$@"
    "$@"
}

fail() {
    echo "error: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n "$@"
    else
        fail "cannot run '$*' without root; run it yourself, then start again"
    fi
}

# Rust is looked for where its installer puts it, because a shell without a profile does not know.
[ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ] && PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
command -v cargo >/dev/null || fail "cargo is missing; install Rust 1.89 or later"

if ! command -v cc >/dev/null; then
    command -v apt-get >/dev/null || fail "a C linker is missing; install one that answers to 'cc'"
    export DEBIAN_FRONTEND=noninteractive
    run as_root apt-get update
    run as_root apt-get install --yes --no-install-recommends gcc libc6-dev
fi

for tool in fmt clippy; do
    if ! cargo "$tool" --version >/dev/null 2>&1; then
        command -v rustup >/dev/null || fail "cargo $tool is missing; install it beside your Rust"
        run rustup component add "$([ "$tool" = fmt ] && echo rustfmt || echo clippy)"
    fi
done

if ! command -v chromium chromium-browser google-chrome chrome >/dev/null; then
    command -v apt-get >/dev/null || fail "Chromium is missing; install it, so that reports can be opened"
    export DEBIAN_FRONTEND=noninteractive
    run as_root apt-get update
    run as_root apt-get install --yes --no-install-recommends chromium
fi

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

if ! python3 -m venv "$directory/python" >/dev/null 2>&1; then
    command -v apt-get >/dev/null || fail "Python with venv is missing; install it, so that draws can be opened with ArviZ"
    export DEBIAN_FRONTEND=noninteractive
    run as_root apt-get update
    run as_root apt-get install --yes --no-install-recommends python3 python3-venv
    rm -rf "$directory/python"
    run python3 -m venv "$directory/python"
fi
run "$directory/python/bin/pip" install --quiet -r tests/resume/requirements.txt
# Mesa's Vulkan driver complains where there is no such directory, and keeps compiled shaders in its cache.
export XDG_RUNTIME_DIR="${XDG_RUNTIME_DIR:-$directory}"

has_adapter() {
    cargo run --locked --quiet -- devices | grep -q '^gpu'
}

if ! has_adapter; then
    command -v apt-get >/dev/null || fail "no GPU answers; install a Vulkan driver, for instance Mesa's software one (lavapipe)"
    export DEBIAN_FRONTEND=noninteractive
    run as_root apt-get update
    run as_root apt-get install --yes --no-install-recommends libvulkan1 mesa-vulkan-drivers
    has_adapter || fail "a Vulkan driver is installed but no adapter answers; 'cargo run -- devices' lists what there is"
fi

run cargo --version
run cargo fmt --check
run cargo clippy --locked --all-targets -- -D warnings
# The numeric core alone, without files of results, pictures, GPUs and the program.
run cargo clippy --locked --no-default-features --lib -- -D warnings
RUSTDOCFLAGS=-Dwarnings run cargo doc --locked --no-deps
run cargo test --locked
# Reports are opened in a browser.
run cargo test --locked --test points -- --ignored browser
# Draws are opened with ArviZ.
SSHMC_PYTHON="$directory/python/bin/python" run cargo test --locked --test resume -- --ignored arviz
# Each bench runs once, to show that it works; `cargo bench` measures.
run cargo test --locked --bench gradient --bench transition --bench device
# With what is built already: an optimised build of its own would take as long as all the tests.
run cargo run --locked -- demo --no-open --out "$directory/demo"

step "the demo wrote its results"
for file in report.html summary.json hyperparameters.csv field.csv maps/intensity_mean.tif maps/intensity_mean.png; do
    [ -s "$directory/demo/fit/$file" ] || fail "the demo did not write $file"
done

run cargo run --locked -- paper --quick --quiet --out "$directory/paper"

step "the paper was reproduced"
for file in paper.md paper.html figure1.png figure2.png figure3.png; do
    [ -s "$directory/paper/$file" ] || fail "the reproduction did not write $file"
done

# The checks that users can run, at a size that takes minutes; docs/TRUST.md has what larger ones found.
for model in lgcp sv logistic funnel; do
    run cargo run --locked -- check joint "$model" --replicates 1000 --transitions 250
done
calibrate() {
    run cargo run --locked -- check calibrate "$@" --out "$directory/calibrate-$((calibrations += 1))"
}
calibrations=0
calibrate lgcp --grid 8 --replicates 60
calibrate sv --replicates 100
calibrate logistic --replicates 60
calibrate funnel --replicates 100
calibrate sv --length 40 --coordinates whitened --replicates 40
calibrate logistic --method nuts --replicates 40
calibrate lgcp --grid 4 --device gpu --replicates 3 --chains 2 --warmup 150 --draws 60 --among 7
run cargo run --locked -- check device

step "all checks passed"
