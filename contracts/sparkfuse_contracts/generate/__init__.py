"""Generates types, table definitions and documents from the messages. Run it as a module."""
