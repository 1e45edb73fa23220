"""The detect job: turns live rows and baselines of earlier runs into findings."""
