"""What people do with the fuse: orders that they sign, and answers from its topics."""
