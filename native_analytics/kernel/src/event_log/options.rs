//! What the caller wants to read, and the limits of memory and time.

use foldhash::HashSet;

use crate::event_log::tables::StageKey;

/// Limits that the kernel enforces on any input.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum length of a line in bytes. A longer line counts as malformed and is skipped without being stored.
    pub line_bytes: u32,
    /// Maximum number of bytes that one compressed file may decompress to.
    pub plain_bytes: u64,
    /// Maximum number of decompressed bytes for each compressed byte, checked after `ratio_from` decompressed bytes.
    pub ratio: u64,
    pub ratio_from: u64,
    /// Maximum size of the tables of infrequent events, in bytes. Rows beyond the limit are only counted.
    pub table_bytes: usize,
    /// The part of `table_bytes` that may be used for accumulators, plan updates and memory samples, because a long
    /// application has millions of these rows.
    pub detail_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            line_bytes: 64 << 20,
            plain_bytes: 1 << 40,
            // Real logs have a compression ratio of at most about 100; gzip's maximum is 1,032.
            ratio: 1_100,
            ratio_from: 256 << 20,
            table_bytes: 512 << 20,
            detail_bytes: 48 << 20,
        }
    }
}

/// Configuration keys that may be stored; all others may hold secrets.
#[derive(Debug, Clone, Default)]
pub struct AllowedKeys {
    keys: HashSet<Vec<u8>>,
    prefixes: Vec<Vec<u8>>,
}

impl AllowedKeys {
    /// Creates the list from patterns; a pattern that ends in `*` is a prefix.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> AllowedKeys {
        let mut allowed = AllowedKeys::default();
        for pattern in patterns {
            match pattern.as_ref().strip_suffix('*') {
                Some(prefix) => allowed.prefixes.push(prefix.as_bytes().to_vec()),
                None => {
                    allowed.keys.insert(pattern.as_ref().as_bytes().to_vec());
                }
            }
        }
        allowed
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.keys.contains(key) || self.prefixes.iter().any(|prefix| key.starts_with(prefix))
    }
}

/// What to read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Create the table of task ends.
    pub tasks: bool,
    /// Create only the task rows of these stage attempts.
    pub tasks_of: Option<HashSet<StageKey>>,
    pub task_starts: bool,
    pub environment: AllowedKeys,
    pub limits: Limits,
    /// Number of rows in one Arrow batch.
    pub batch_rows: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tasks: false,
            tasks_of: None,
            task_starts: false,
            environment: AllowedKeys::default(),
            limits: Limits::default(),
            batch_rows: 64 << 10,
        }
    }
}
