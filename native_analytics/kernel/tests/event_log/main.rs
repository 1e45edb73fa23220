//! Event logs whole, torn, packed and hostile.

mod containers;
mod limits;
mod lines;
mod log;
mod packs;
mod pieces;
mod stages;
mod ways;
