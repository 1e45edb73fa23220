"""The store, the loader, offline analysis and the fuse controller."""
