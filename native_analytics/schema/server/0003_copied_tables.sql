-- A migration that copies a table drops the older copy. The limits of tables are compared with the settings.
GRANT DROP TABLE ON {database}.* TO sparkfuse_writer;
GRANT SELECT ON system.tables TO sparkfuse_writer;
