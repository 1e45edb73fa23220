"""What `sparkfuse analyze` shows of an analysis on the terminal."""
