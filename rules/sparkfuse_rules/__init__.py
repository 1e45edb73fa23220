"""The rule catalog, its compiler, and the functions that live detection and offline analysis share."""
