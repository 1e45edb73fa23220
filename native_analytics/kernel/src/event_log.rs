//! Reads Spark's event logs into Arrow tables: logs of every version and container, whole or truncated.
//!
//! Modules, from the lowest to the highest; a module uses only modules above it in this list:
//!
//! - `timestamp`, `task_id_set`, `json` parse timestamps, store sets of task ids, and parse JSON lines.
//! - `call_site`, `plan_text` find the user's line that started a query or stage, and describe plan nodes without
//!   literals.
//! - `task_events`, `task_columns` read task starts and ends, which are nearly all events of a log.
//! - `stage_aggregates`, `failures` compute totals over the task ends of one stage attempt.
//! - `tables`, `options`, `evidence` contain the rows of all other tables, the caller's request, and what was read.
//! - `codec` reads containers and decompresses.
//! - `infrequent_events` reads all events that are not task starts or ends.
//! - `fact_translation` translates raw events of a growing log into encoded facts.
//! - `log` contains the result of reading one log.
//! - `arrow`, `log_tables` convert the result to Arrow.
//! - `raw_events`, `decoder` split bytes into lines, and decode lines to rows or raw events.
//! - `read` reads whole logs with several threads.
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
