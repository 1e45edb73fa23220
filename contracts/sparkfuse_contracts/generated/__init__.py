"""Generated from contracts/messages; do not edit."""
