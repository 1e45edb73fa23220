//! What was read of a log, and what was not: every number that is made of it stands on this.

use foldhash::HashMap;

use crate::event_log::task_id_set::TaskIdSet;

/// Bad lines that are told one by one; the rest is counted.
pub const MAX_BAD_LINES: usize = 1000;
/// Kinds of events that are told apart; a log that invents more has them counted as `OTHER_KINDS`.
const MAX_KINDS: usize = 1000;
const MAX_KIND_BYTES: usize = 200;
pub const OTHER_KINDS: &str = "(further kinds)";
/// Task ids of a hostile log may lie far apart; beyond this many pages (256 MiB) they are not told apart any more.
const MAX_PAGES: usize = 1 << 19;

/// A line that is no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Which file of the log.
    pub file: usize,
    /// From 1.
    pub line: u64,
    pub offset: u64,
    pub reason: String,
}

/// What is known of one file of a log.
#[derive(Debug, Clone, Default)]
pub struct FileEvidence {
    pub name: String,
    /// Codecs from the outside in, joined by `+`; `plain` without any.
    pub codec: String,
    pub bytes: u64,
    pub plain_bytes: u64,
    pub lines: u64,
    /// It ends within a line, or its container was cut off or broken.
    pub truncated: bool,
    pub error: Option<String>,
}

/// What is known of a log.
#[derive(Debug, Default)]
pub struct Evidence {
    pub files: Vec<FileEvidence>,
    pub events: u64,
    pub task_ends: u64,
    pub task_starts: u64,
    kinds: HashMap<Box<[u8]>, u64>,
    pub unknown_events: u64,
    pub malformed: u64,
    pub bad_lines: Vec<BadLine>,
    pub odd_values: u64,
    pub application_ended: bool,
    pub started: TaskIdSet,
    pub ended: TaskIdSet,
    pub duplicate_task_ends: u64,
    /// Rows that found no room in a table, see `Limits::table_bytes`.
    pub left_out: u64,
}

impl Evidence {
    pub fn count_kind(&mut self, name: &[u8]) {
        if let Some(count) = self.kinds.get_mut(name) {
            *count += 1;
            return;
        }
        let fits = self.kinds.len() < MAX_KINDS && name.len() <= MAX_KIND_BYTES;
        let name = if fits { name } else { OTHER_KINDS.as_bytes() };
        *self.kinds.entry(name.into()).or_default() += 1;
    }

    /// Counts of events by their name in the log, by name.
    pub fn kinds(&self) -> Vec<(String, u64)> {
        let tasks = [
            ("SparkListenerTaskEnd", self.task_ends),
            ("SparkListenerTaskStart", self.task_starts),
        ];
        let mut kinds: Vec<(String, u64)> = self
            .kinds
            .iter()
            .map(|(name, count)| (crate::event_log::json::text::text(name), *count))
            .collect();
        kinds.extend(
            tasks
                .into_iter()
                .filter(|(_, count)| *count > 0)
                .map(|(name, count)| (name.to_owned(), count)),
        );
        kinds.sort();
        kinds
    }

    #[inline]
    pub fn start_task(&mut self, id: i64) {
        if self.started.pages() < MAX_PAGES {
            self.started.insert(id);
        }
    }

    #[inline]
    pub fn end_task(&mut self, id: i64) {
        if self.ended.pages() < MAX_PAGES && !self.ended.insert(id) {
            self.duplicate_task_ends += 1;
        }
    }

    #[cold]
    pub fn record_bad_line(&mut self, line: BadLine) {
        self.malformed += 1;
        if self.bad_lines.len() < MAX_BAD_LINES {
            self.bad_lines.push(line);
        }
    }

    pub fn unfinished_tasks(&mut self) -> u64 {
        self.started.count_missing(&mut self.ended)
    }

    pub fn truncated(&self) -> bool {
        self.files.iter().any(|file| file.truncated)
    }

    pub fn plain_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.plain_bytes).sum()
    }

    /// Adds what a later part of the log said; its files are added by the reader.
    pub fn append(&mut self, later: Evidence) {
        self.files.extend(later.files);
        self.events += later.events;
        self.task_ends += later.task_ends;
        self.task_starts += later.task_starts;
        for (name, count) in later.kinds {
            *self.kinds.entry(name).or_default() += count;
        }
        self.unknown_events += later.unknown_events;
        self.malformed += later.malformed;
        let room = MAX_BAD_LINES.saturating_sub(self.bad_lines.len());
        self.bad_lines.extend(later.bad_lines.into_iter().take(room));
        self.odd_values += later.odd_values;
        self.application_ended |= later.application_ended;
        self.started.append(later.started);
        self.duplicate_task_ends += later.duplicate_task_ends + self.ended.append(later.ended);
        self.left_out += later.left_out;
    }
}
