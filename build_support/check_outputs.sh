#!/usr/bin/env bash
# Checks the configuration of Prometheus and Alertmanager with promtool, amtool and amlint.
set -euo pipefail
cd "$(dirname "$0")/../alertmanager"

# The tools print a lot on success; show their output only on failure.
quietly() {
  local said
  said=$("$@" 2>&1) || { printf '%s\n' "$said" >&2; return 1; }
}

quietly promtool check config prometheus.yml
for cases in prometheus_rules/*_test.yml; do
  quietly promtool test rules "$cases"
done
quietly amtool check-config alertmanager.yml
quietly ../.venv/bin/amlint check alertmanager.yml
