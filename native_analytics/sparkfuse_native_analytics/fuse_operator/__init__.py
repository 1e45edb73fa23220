"""Functions for operators of the fuse: they sign orders, and read the state of the fuse from its topics."""
