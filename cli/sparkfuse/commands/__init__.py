"""The commands, one group in each file; each command calls functions of one component and prints the result."""
