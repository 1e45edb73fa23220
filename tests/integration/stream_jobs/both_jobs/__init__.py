"""Tests that share one windows job and one detect job (see conftest.py)."""
