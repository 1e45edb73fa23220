//! Tests of event logs: complete, truncated, compressed and hostile ones.

mod compression;
mod containers;
mod incremental;
mod limits;
mod lines;
mod sample_log;
mod sources;
mod stages;
