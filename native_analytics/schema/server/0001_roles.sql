-- For a ClickHouse server, by an administrator: the embedded engine has no roles. Users get one of them with GRANT.
-- The writer is the loader's: it makes the tables, adds rows and reads the offsets it resumes from.
CREATE ROLE IF NOT EXISTS sparkfuse_writer;
GRANT SELECT, INSERT, CREATE TABLE, CREATE VIEW, ALTER TABLE ON {database}.* TO sparkfuse_writer;
GRANT SELECT ON system.processes TO sparkfuse_writer;
GRANT SELECT ON system.columns TO sparkfuse_writer;
-- The reader is the dashboards' and the command line's; it has no url(), file() or remote(), which are grants of their own.
-- Grafana sets max_execution_time itself, and fails where a read-only profile does not let it.
CREATE SETTINGS PROFILE IF NOT EXISTS sparkfuse_reader SETTINGS
    readonly = 1,
    max_execution_time = 60 CHANGEABLE_IN_READONLY,
    max_memory_usage = 8000000000;
CREATE ROLE IF NOT EXISTS sparkfuse_reader SETTINGS PROFILE 'sparkfuse_reader';
GRANT SELECT ON {database}.* TO sparkfuse_reader;
CREATE QUOTA IF NOT EXISTS sparkfuse_reader FOR INTERVAL 1 minute MAX queries = 600 TO sparkfuse_reader;
