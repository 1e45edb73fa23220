//! Decodes Protobuf records and Spark event logs to Arrow tables, and encodes the events of a log as facts.
//! No input causes a panic.
//!
//! - `event_log` reads Spark's event logs.
//! - `wire` reads Protobuf's wire format, and `schema` compiles a message's descriptor to columns.
//! - `values` and `row_selection` store the values of a column and their rows; `columns` builds Arrow arrays of them.
//! - `facts` decodes batches of Protobuf records.
//! - `shared` contains the generated constants that Java and Python have too.
//! - `python` is the Python module.

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
