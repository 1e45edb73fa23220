//! Failed task attempts of one stage attempt by failure class.
//!
//! The number of rows is limited, so that failures need no second pass over the log.

use foldhash::HashMap;

use crate::event_log::json::row::Row;
use crate::event_log::json::text::text;
use crate::event_log::task_columns::{failure_class, failure_reason};
use crate::event_log::task_events::*;

/// Most failure classes of one stage attempt. Failures of further classes are only counted.
pub const MAX_CLASSES: usize = 32;
/// Most hosts and tasks that are counted separately within a class; the live view has the same limits.
const MAX_HOSTS: usize = 32;
const MAX_TASKS: usize = 1_000;
const NO_CLASS: &str = "UnknownReason";

/// Failed attempts of one class. Texts and places are those of the last attempt in the log.
#[derive(Debug, Clone, Default)]
pub struct Failure {
    pub class: String,
    pub reason: Option<String>,
    pub failed: i64,
    pub task_index: Option<i64>,
    /// Executor and host of the attempt, or of the block that could not be fetched.
    pub executor_id: Option<String>,
    pub host: Option<String>,
    hosts: Vec<String>,
    /// By task index: the order in which the task first failed, and its failed attempts.
    tasks: HashMap<i64, (usize, i64)>,
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

    /// Adds a failed attempt. Returns the bytes of memory that it added, or none if it exceeded the limits.
    #[cold]
    pub fn add(&mut self, row: &Row, line: &[u8]) -> Option<usize> {
        let class = failure_class(row, line).map_or_else(|| NO_CLASS.to_owned(), text);
        let place = self.place(class)?;
        let ours = &mut self.rows[place];
        let before = ours.bytes();
        ours.add(row, line);
        Some(ours.bytes().saturating_sub(before))
    }

    /// Adds the failures of a later part of the log. Returns the number of failed attempts that exceeded the limits.
    pub fn append(&mut self, later: Failures) -> u64 {
        let mut left_out = 0;
        for failure in later.rows {
            match self.place(failure.class.clone()) {
                Some(place) => self.rows[place].append(failure),
                None => left_out += failure.failed as u64,
            }
        }
        left_out
    }

    fn place(&mut self, class: String) -> Option<usize> {
        if let Some(place) = self.rows.iter().position(|known| known.class == class) {
            return Some(place);
        }
        if self.rows.len() == MAX_CLASSES {
            return None;
        }
        self.rows.push(Failure {
            class,
            ..Failure::default()
        });
        Some(self.rows.len() - 1)
    }
}

impl Failure {
    /// Number of hosts with such a failure, at most `MAX_HOSTS`.
    pub fn hosts(&self) -> i64 {
        self.hosts.len() as i64
    }

    /// Number of tasks with such a failure, at most `MAX_TASKS`.
    pub fn failing_tasks(&self) -> i64 {
        self.tasks.len() as i64
    }

    /// Largest number of failed attempts of one task.
    pub fn attempts_max(&self) -> i64 {
        self.tasks.values().map(|(_, attempts)| *attempts).max().unwrap_or(0)
    }

    fn add(&mut self, row: &Row, line: &[u8]) {
        self.failed += 1;
        self.reason = failure_reason(row, line);
        self.task_index = row.number(TASK_INDEX);
        let host = row.text(line, HOST).map(text);
        // If a block could not be fetched, the executor that held it matters, not the one that requested it.
        let (executor_id, block_host) = (row.text(line, FETCH_EXECUTOR_ID), row.text(line, FETCH_HOST));
        self.executor_id = executor_id.or(row.text(line, EXECUTOR_ID)).map(text);
        self.host = block_host.map(text).or_else(|| host.clone());
        host.into_iter().for_each(|host| self.meet(host));
        if let Some(index) = self.task_index {
            self.count(index, 1);
        }
    }

    fn append(&mut self, later: Failure) {
        self.failed += later.failed;
        self.reason = later.reason;
        self.task_index = later.task_index;
        self.executor_id = later.executor_id;
        self.host = later.host;
        later.hosts.into_iter().for_each(|host| self.meet(host));
        let mut tasks: Vec<(usize, i64, i64)> = later
            .tasks
            .into_iter()
            .map(|(index, (place, attempts))| (place, index, attempts))
            .collect();
        tasks.sort_unstable();
        tasks
            .into_iter()
            .for_each(|(_, index, attempts)| self.count(index, attempts));
    }

    fn meet(&mut self, host: String) {
        if self.hosts.len() < MAX_HOSTS && !self.hosts.contains(&host) {
            self.hosts.push(host);
        }
    }

    fn count(&mut self, index: i64, attempts: i64) {
        let place = self.tasks.len();
        match self.tasks.get_mut(&index) {
            Some((_, known)) => *known += attempts,
            None if place < MAX_TASKS => {
                self.tasks.insert(index, (place, attempts));
            }
            None => {}
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
