"""The commands, one group a file; each is a thin edge around a room's functions."""
