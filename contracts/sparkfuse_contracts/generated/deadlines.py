"""Generated from contracts/shared/deadlines.yaml; do not edit."""

