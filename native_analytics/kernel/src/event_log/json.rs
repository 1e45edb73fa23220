//! Reads JSON lines. Values are parsed in place, with a fast path for objects whose keys come in a known order.

pub mod error;
mod members;
pub mod reader;
pub mod row;
pub mod scan;
#[cfg(target_arch = "x86_64")]
pub mod scan_avx2;
pub mod shape;
pub mod text;
