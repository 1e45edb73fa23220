"""Makes everything that follows from the messages: types, table definitions, documents. Run it as a module."""
