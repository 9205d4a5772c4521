#!/usr/bin/env bash
# Measures refold beside its peers. They must be in the same run: a machine drifts by tens of percent within an hour.
# The harness is copied to build/peerbench, where environments and the peers' histories stay for the next run.
#   PYTHON      an interpreter to make environments with
#   PEERBENCH   the harness
#   PEERS       the peers; one that cannot be installed is left out, and shown as such
#   REPS        repetitions
# Arguments go to the harness's bench.py: --scenarios A,B  --only append
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

peers="$PEERS refold_adapter"
bench=build/peerbench

mkdir -p "$bench"
cp -R "$PEERBENCH/." "$bench"
chmod -R u+w "$bench"
cp benchmarks/peers/refold_adapter.py "$bench/peers/"
cp benchmarks/peers/refold_adapter.txt "$bench/requirements/"
cd "$bench"
mkdir -p venvs data tmp

for peer in $peers; do
    if [ "$peer" = pi ]; then
        [ -e node/.ready ] || (cd node && npm ci --no-audit --no-fund && touch .ready) || echo "skip pi: not installable"
    elif [ ! -e "venvs/$peer/.ready" ]; then
        "$PYTHON" -m venv --clear "venvs/$peer" &&
            "venvs/$peer/bin/pip" install --quiet --requirement "requirements/$peer.txt" &&
            touch "venvs/$peer/.ready" || { echo "skip $peer: not installable"; rm -rf "venvs/$peer"; }
    fi
done

"$PYTHON" workload.py  # the work, as files that all peers read
rm -rf data/refold_adapter*  # what an earlier refold wrote is not what this one would write
PEERS="$peers" ./prepare.sh
rm -rf results/now  # beside it lie recorded results, which the report must not mix in
"$PYTHON" bench.py --peers "${peers// /,}" --reps "$REPS" --out results/now "$@"
"$PYTHON" report.py --results results/now
