"""Generated from contracts/shared/control_rules.yaml; do not edit."""

TOPIC = "controls"
KINDS = (
    "hold",
    "arm",
    "revoke_key",
)
