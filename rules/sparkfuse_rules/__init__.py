"""The rule catalog, its compiler, and the knowledge that live and at-rest share."""
