"""The store and its queries, the loader, offline analysis, traces, the fuse controller and the external actuator."""
