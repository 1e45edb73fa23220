#!/usr/bin/env bash
# Checks what is mounted into Prometheus and Alertmanager with their own tools, and routes with amlint.
set -euo pipefail
cd "$(dirname "$0")/../alertmanager"

# Each tool talks a lot when all is well: shown only when it is not.
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
