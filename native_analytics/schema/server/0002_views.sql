-- A newer version of a view takes the place of the older one.
GRANT DROP VIEW ON {database}.* TO sparkfuse_writer;
