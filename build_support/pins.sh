#!/usr/bin/env bash
# Writes requirements/*.txt: every package of every environment with its version and hashes.
# Our own two distributions are not listed: they are installed separately, without dependencies.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-build/tools/bin/uv}

pin() {
  "$uv" pip compile --quiet --generate-hashes --upgrade \
    --no-emit-package sparkfuse-kernel --no-emit-package sparkfuse \
    --python-version 3.11 --custom-compile-command "make pins" "$@"
}

pin pyproject.toml --all-extras --output-file requirements/main.txt
# For containers: the same versions without the checkers.
pin pyproject.toml --extra cli --constraint requirements/main.txt --output-file requirements/runtime.txt
for environment in tools model codegen s3 connect airflow2 airflow3 spark33 spark34 spark35 spark40 spark4 site sbom; do
  pin "requirements/$environment.in" --output-file "requirements/$environment.txt"
done
