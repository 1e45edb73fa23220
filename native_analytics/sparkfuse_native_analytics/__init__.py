"""The store, the loader, the analyses offline and the fuse controller."""
