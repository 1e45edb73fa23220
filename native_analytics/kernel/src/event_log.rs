//! Spark's event logs: every version and container, whole or truncated, read into Arrow tables.
//!
//! Modules, from the lowest to the highest; a module uses only modules above it in this list:
//!
//! - `timestamp`, `task_id_set`, `json`: parsing of timestamps, a compact set of task ids, and parsing of JSON lines.
//! - `call_site`, `plan_text`: the user's line that started a query or stage, and texts of plan nodes without literals.
//! - `task_events`, `task_columns`: task starts and ends, which are nearly all events of a log.
//! - `stage_aggregates`, `failures`: totals over the task ends of one stage attempt.
//! - `tables`, `options`, `evidence`: the rows of all other tables, the caller's request, and what was read.
//! - `codec`: containers and compression.
//! - `infrequent_events`: readers of all events that are not task starts or ends.
//! - `fact_translation`: raw events of a growing log to encoded facts.
//! - `log`: the result of reading one log.
//! - `arrow`, `log_tables`: conversion of the result to Arrow.
//! - `raw_events`, `decoder`: bytes to lines, and lines to rows or raw events.
//! - `read`: whole logs, read by several threads.
//!
//! `tests/unit/repository/test_repository_kernel_modules.py` checks that modules do not use each other in a circle.

pub mod arrow;
pub mod call_site;
pub mod codec;
pub mod decoder;
pub mod evidence;
pub mod fact_translation;
pub mod failures;
pub mod infrequent_events;
pub mod json;
pub mod log;
pub mod log_tables;
pub mod options;
pub mod plan_text;
pub mod raw_events;
pub mod read;
pub mod stage_aggregates;
pub mod tables;
pub mod task_columns;
pub mod task_events;
pub mod task_id_set;
pub mod timestamp;
