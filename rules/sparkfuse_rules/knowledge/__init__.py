"""Pure functions that the live jobs and the analyses at rest share: who runs, which stage it is, what to expect."""
