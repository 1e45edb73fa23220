"""The fuse controller: decides when the fuse blows, says so or acts by a signed signal, and writes down every step."""
