"""Generated from contracts/shared/executor_exit_codes.yaml; do not edit."""

PATTERN = "(?i)\\bexit(?:ed)?(?: +with)?(?: +exit)?[ _]?(?:code|status|value)(?: +is)? *[:=(]? *(-?[0-9]{1,9})\\b"
MOST_CHARS = 4096
