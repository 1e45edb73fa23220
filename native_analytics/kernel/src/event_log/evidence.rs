//! Evidence about a log: what was read and what was not.

use foldhash::HashMap;

use crate::event_log::task_id_set::TaskIdSet;

/// Maximum number of malformed lines that are listed with their place and reason; further malformed lines are only
/// counted.
pub const MAX_BAD_LINES: usize = 1000;
/// Maximum number of event names that are counted separately. Further names are counted as `OTHER_KINDS`.
const MAX_KINDS: usize = 1000;
const MAX_KIND_BYTES: usize = 200;
pub const OTHER_KINDS: &str = "(further kinds)";
/// Maximum number of pages of task ids (256 MiB). In an invalid log, ids may be far apart and need many pages; ids
/// without a page are not tracked.
const MAX_PAGES: usize = 1 << 19;

/// A line that is not an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// Index of the file in the log.
    pub file: usize,
    /// Line number, from 1.
    pub line: u64,
    pub offset: u64,
    pub reason: String,
}

/// Evidence about one file of a log.
#[derive(Debug, Clone, Default)]
pub struct FileEvidence {
    pub name: String,
    /// Codecs from the outermost to the innermost, joined by `+`; `plain` if there are none.
    pub codec: String,
    pub bytes: u64,
    pub plain_bytes: u64,
    pub lines: u64,
    /// Whether the file ends inside a line, or its container is cut off or invalid.
    pub truncated: bool,
    pub error: Option<String>,
}

/// Evidence about a log.
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
    /// Number of rows that exceeded the limits of tables, see `Limits::table_bytes`.
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

    /// Number of events by name, ordered by name.
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

    /// Adds the evidence of a later part of the log.
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
