#!/usr/bin/env bash
# Fuzzes every target of the kernel, starting with real logs and the examples of the contract.
# A failing input is left in fuzz/artifacts; add it to tests/event_log/, tests/fact_translation/ or tests/decode.rs as a test case.
set -euo pipefail
kernel=$1
seconds=$2
cargo fuzz --version > /dev/null 2>&1 || { echo "cargo-fuzz is missing: cargo install --locked cargo-fuzz" >&2; exit 3; }
cargo +nightly --version > /dev/null 2>&1 || { echo "a nightly Rust is missing: rustup toolchain install nightly" >&2; exit 3; }
corpus=$kernel/fuzz/corpus
mkdir -p "$corpus"/{lines,containers,facts,translation}
cp tests/logs/real/*/* "$corpus/containers/" 2> /dev/null || true
# Each line of a plain log is one input; its first byte is the length of the pieces.
find tests/logs/real -type f -size -2000k -exec sh -c 'head -c 1 "$1" | grep -q "{" && cat "$1"' _ {} \; \
  | awk 'length < 6000 { print "@" $0 }' | sort -u | head -n 400 | split -l 1 -a 4 - "$corpus/lines/real-"
cp "$corpus"/lines/real-* "$corpus/translation/" 2> /dev/null || true
cd "$kernel"
for target in lines containers facts translation; do
  cargo +nightly fuzz run --release "$target" -- -max_total_time="$seconds" -dict=fuzz/event_log.dict \
    -max_len=65536 -rss_limit_mb=2500 -timeout=20 -print_final_stats=1
done
