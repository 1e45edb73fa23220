"""Generates types, table definitions and documents from the messages; run this package as a module."""
