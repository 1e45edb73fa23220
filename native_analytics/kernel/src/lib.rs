//! Fast readers of Sparkfuse: bytes in, Arrow out, and no panic on any input.
//!
//! `event_log` reads Spark's event logs.
//! `wire` reads Protobuf's bytes, `schema` turns a message's descriptor into a table of columns,
//! `columns` builds Arrow arrays of `values` in their `places`, `facts` puts the three together, `python` is the thin face towards Python.

pub mod columns;
pub mod event_log;
pub mod facts;
#[cfg(feature = "python")]
mod python;
pub mod row_selection;
pub mod schema;
pub mod shared;
pub mod values;
pub mod wire;
