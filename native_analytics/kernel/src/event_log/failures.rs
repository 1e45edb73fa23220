//! Groups the failed task attempts of one stage attempt by failure class.
//!
//! The number of rows is limited, so that failures need no second pass over the log. If there are too many classes or
//! tasks, the first in alphabetical or numerical order are kept, as in the windows job. Therefore the result does not
//! depend on the order of the failures, and the row of a kept class counts all failures of the class.

use std::collections::BTreeMap;

use crate::event_log::json::row::Row;
use crate::event_log::json::text::text;
use crate::event_log::task_columns::{failure_class, failure_reason};
use crate::event_log::task_events::*;
use crate::shared::failure_limits;

/// Maximum number of failure classes of one stage attempt; failures of other classes are only counted.
pub const MAX_CLASSES: usize = failure_limits::MOST_CLASSES;
/// Maximum number of hosts and of tasks that are counted separately within a class.
const MAX_HOSTS: usize = failure_limits::MOST_HOSTS;
const MAX_TASKS: usize = failure_limits::MOST_TASKS;
const NO_CLASS: &str = "UnknownReason";

/// Failed attempts of one class. Reason, task, executor and host are those of the last failed attempt in the log.
#[derive(Debug, Clone, Default)]
pub struct Failure {
    pub class: String,
    pub reason: Option<String>,
    pub failed: i64,
    pub task_index: Option<i64>,
    /// Executor and host of the attempt; for a failed fetch, those of the block that could not be fetched.
    pub executor_id: Option<String>,
    pub host: Option<String>,
    hosts: Vec<String>,
    /// Number of failed attempts by task index.
    tasks: BTreeMap<i64, i64>,
}

/// The classes of one stage attempt, in the order of their first failure.
#[derive(Debug, Clone, Default)]
pub struct Failures {
    rows: Vec<Failure>,
}

impl Failures {
    pub fn rows(&self) -> &[Failure] {
        &self.rows
    }

    /// Adds a failed attempt. Returns the added memory in bytes, and the number of failed attempts that are no longer
    /// counted in a row because of the limits.
    #[cold]
    pub fn add(&mut self, row: &Row, line: &[u8]) -> (usize, u64) {
        let class = failure_class(row, line).map_or_else(|| NO_CLASS.to_owned(), text);
        let (place, evicted) = self.class_index(class);
        let Some(place) = place else { return (0, 1) };
        let ours = &mut self.rows[place];
        let before = ours.bytes();
        ours.add(row, line);
        (ours.bytes().saturating_sub(before), evicted)
    }

    /// Adds the failures of a later part of the log. Returns the number of failed attempts that are not counted in a
    /// row because of the limits.
    pub fn append(&mut self, later: Failures) -> u64 {
        let mut left_out = 0;
        for failure in later.rows {
            let (place, evicted) = self.class_index(failure.class.clone());
            left_out += evicted;
            match place {
                Some(place) => self.rows[place].append(failure),
                None => left_out += failure.failed as u64,
            }
        }
        left_out
    }

    /// Returns the index of a class's row (`None` if the class gets no row), and the number of failed attempts of the
    /// class that was removed to make room.
    fn class_index(&mut self, class: String) -> (Option<usize>, u64) {
        if let Some(place) = self.rows.iter().position(|known| known.class == class) {
            return (Some(place), 0);
        }
        let mut evicted = 0;
        if self.rows.len() == MAX_CLASSES {
            let last = (0..MAX_CLASSES).max_by(|&one, &other| self.rows[one].class.cmp(&self.rows[other].class));
            match last.filter(|&last| class < self.rows[last].class) {
                Some(last) => evicted = self.rows.remove(last).failed as u64,
                None => return (None, 0),
            }
        }
        self.rows.push(Failure {
            class,
            ..Failure::default()
        });
        (Some(self.rows.len() - 1), evicted)
    }
}

impl Failure {
    /// Number of hosts with a failure of this class, at most `MAX_HOSTS`.
    pub fn hosts(&self) -> i64 {
        self.hosts.len() as i64
    }

    /// Number of tasks with a failure of this class, at most `MAX_TASKS`.
    pub fn failing_tasks(&self) -> i64 {
        self.tasks.len() as i64
    }

    /// Largest number of failed attempts of one task.
    pub fn attempts_max(&self) -> i64 {
        self.tasks.values().copied().max().unwrap_or(0)
    }

    fn add(&mut self, row: &Row, line: &[u8]) {
        self.failed += 1;
        self.reason = failure_reason(row, line);
        self.task_index = row.number(TASK_INDEX);
        let host = row.text(line, HOST).map(text);
        // For a failed fetch, the row names the executor that stored the block, not the executor that requested it.
        let (executor_id, block_host) = (row.text(line, FETCH_EXECUTOR_ID), row.text(line, FETCH_HOST));
        self.executor_id = executor_id.or(row.text(line, EXECUTOR_ID)).map(text);
        self.host = block_host.map(text).or_else(|| host.clone());
        host.into_iter().for_each(|host| self.add_host(host));
        if let Some(index) = self.task_index {
            self.add_attempts(index, 1);
        }
    }

    fn append(&mut self, later: Failure) {
        self.failed += later.failed;
        self.reason = later.reason;
        self.task_index = later.task_index;
        self.executor_id = later.executor_id;
        self.host = later.host;
        later.hosts.into_iter().for_each(|host| self.add_host(host));
        for (index, attempts) in later.tasks {
            self.add_attempts(index, attempts);
        }
    }

    fn add_host(&mut self, host: String) {
        if self.hosts.len() < MAX_HOSTS && !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
    }

    fn add_attempts(&mut self, index: i64, attempts: i64) {
        *self.tasks.entry(index).or_default() += attempts;
        if self.tasks.len() > MAX_TASKS {
            self.tasks.pop_last();
        }
    }

    fn bytes(&self) -> usize {
        let texts = self
            .hosts
            .iter()
            .chain(&self.reason)
            .chain(&self.executor_id)
            .chain(&self.host);
        let own = if self.failed == 0 {
            0
        } else {
            size_of::<Failure>() + self.class.len()
        };
        own + texts.map(|text| text.len() + 24).sum::<usize>() + 32 * self.tasks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, Failures};
    use crate::shared::failure_limits::CASES;

    fn failures(classes: &[&str]) -> Failures {
        let mut found = Failures::default();
        for class in classes {
            let one = Failure {
                class: (*class).to_owned(),
                failed: 1,
                ..Failure::default()
            };
            found.append(Failures { rows: vec![one] });
        }
        found
    }

    #[test]
    fn the_shared_cases_keep_their_classes() {
        for case in CASES {
            let mut kept: Vec<_> = failures(case.failures).rows.into_iter().map(|row| row.class).collect();
            kept.sort();
            assert_eq!(kept, case.kept, "{}", case.name);
        }
    }

    #[test]
    fn each_failure_is_counted_once() {
        for case in CASES {
            for parts in 1..4 {
                let mut whole = Failures::default();
                let mut left_out = 0;
                for part in case.failures.chunks(case.failures.len().div_ceil(parts)) {
                    left_out += part.iter().map(|class| whole.append(failures(&[class]))).sum::<u64>();
                }
                let kept: i64 = whole.rows().iter().map(|row| row.failed).sum();
                assert_eq!(kept as u64 + left_out, case.failures.len() as u64, "{}", case.name);
            }
        }
    }
}
