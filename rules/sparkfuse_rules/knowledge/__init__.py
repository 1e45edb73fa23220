"""Pure functions that the live jobs and the analyses offline share: who runs, which stage it is, what to expect."""
