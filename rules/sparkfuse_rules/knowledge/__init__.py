"""Pure functions that live detection and offline analysis share: identity, fingerprints, baselines, failures."""
