"""The rule catalog, its compiler, and the knowledge that live and offline share."""
