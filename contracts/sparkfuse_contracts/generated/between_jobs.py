"""Generated from contracts/shared/between_jobs.yaml; do not edit."""

