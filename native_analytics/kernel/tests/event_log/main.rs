//! Event logs whole, torn, compressed and hostile.

mod compression;
mod containers;
mod incremental;
mod limits;
mod lines;
mod sample_log;
mod sources;
mod stages;
