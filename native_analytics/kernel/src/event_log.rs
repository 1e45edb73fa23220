//! Spark's event logs: any version, any container, torn or whole, to Arrow.
//!
//! `codec` unpacks, `decoder` cuts bytes into lines, `reader` reads the values of one; `shape` and `events` read the
//! frequent events into a `row`, `walk` and `rare` the others. `tally` adds the task ends of a stage up, `failures`
//! tells the failed ones apart, `tables` keeps the rest, `arrow` hands all of it over; `read` does it for whole logs on
//! several threads. `picked` keeps events as they are, for a reader of growing logs that wants their order. `evidence`
//! says what was read and what was not.

pub mod arrow;
pub mod codec;
pub mod decoder;
pub mod events;
pub mod evidence;
pub mod failures;
pub mod fault;
pub mod ids;
pub mod log_tables;
pub mod options;
pub mod picked;
pub mod rare;
pub mod read;
pub mod reader;
pub mod row;
pub mod scan;
#[cfg(target_arch = "x86_64")]
pub mod scan_avx2;
pub mod shape;
pub mod tables;
pub mod tally;
pub mod tasks;
pub mod text;
pub mod timestamp;
pub mod walk;
