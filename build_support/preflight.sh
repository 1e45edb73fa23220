#!/usr/bin/env bash
# Checks for every tool that the build needs and lists all missing ones with the command that installs them.
# As root on Debian it installs Prometheus, Alertmanager, kcat and Chromium itself.
# Exit code 3: a tool is missing.
set -euo pipefail
python=${PYTHON:-python3.11}
programs=(prometheus promtool prometheus-alertmanager amtool kcat chromium chromedriver)
packages=(prometheus prometheus-alertmanager kcat chromium chromium-driver)
missing=()

need() { missing+=("$1: $2"); }
have() { command -v "$1" >/dev/null 2>&1; }
lacks_programs() { for program in "${programs[@]}"; do have "$program" || return 0; done; return 1; }

# The packages would start their daemons on ports that may be in use; a policy of 101 prevents that.
install_without_starting() {
  local policy=/usr/sbin/policy-rc.d made=no
  if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
    made=yes
  fi
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null || true
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
    install --no-install-recommends "${packages[@]}" >/dev/null
  [ "$made" = no ] || rm -f "$policy"
}

check_python() {
  if ! have "$python"; then
    need "$python" "apt-get install python3.11 python3.11-venv, or name one of version 3.11: make setup PYTHON=..."
  elif ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    need "Python 3.11" "$python is $("$python" -V), and Flink's pins fit 3.11; name another: make setup PYTHON=..."
  elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    need "Python's venv" "apt-get install python3.11-venv"
  fi
}

check_java() {
  local found
  if ! have javac; then
    need "Java 17" "apt-get install openjdk-17-jdk-headless"
  else
    found=$(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/')
    [ "$found" -ge 17 ] || need "Java 17" "javac is version $found; apt-get install openjdk-17-jdk-headless"
  fi
  have mvn || need "Maven" "apt-get install maven"
}

check_rust() {
  have cargo || need "Rust" "install the stable toolchain with rustup (Debian 12's own, 1.63, is too old)"
  have cc || need "a C linker" "apt-get install gcc libc6-dev"
}

check_programs() {
  lacks_programs || return 0
  if [ "$(id -u)" = 0 ] && have apt-get; then
    echo "installing ${packages[*]}"
    install_without_starting || true
  fi
  local program
  for program in "${programs[@]}"; do
    have "$program" || need "$program" "sudo apt-get install --no-install-recommends ${packages[*]}"
  done
}

check_python
check_java
check_rust
check_programs
if [ ${#missing[@]} -gt 0 ]; then
  echo "Tools that Sparkfuse needs are missing:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 3
fi
