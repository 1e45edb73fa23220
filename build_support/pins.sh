#!/usr/bin/env bash
# Makes requirements/*.txt anew: every package of every environment with its version and hashes.
# Our own two distributions are left out (they are installed on top, without dependencies), so that no path of this
# machine lands in a file.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-build/tools/bin/uv}

pin() {
  "$uv" pip compile --quiet --generate-hashes --upgrade \
    --no-emit-package sparkfuse-kernel --no-emit-package sparkfuse \
    --python-version 3.11 --custom-compile-command "make pins" "$@"
}

pin pyproject.toml --all-extras --output-file requirements/main.txt
# What a container needs: the same versions, without the checkers.
pin pyproject.toml --extra cli --constraint requirements/main.txt --output-file requirements/runtime.txt
for environment in tools codegen spark33 spark34 spark35 spark40 spark4; do
  pin "requirements/$environment.in" --output-file "requirements/$environment.txt"
done
