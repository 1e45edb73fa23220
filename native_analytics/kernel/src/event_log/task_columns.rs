//! Builds the columns of the task tables from parsed task events; a `Row` holds each value of an
//! event in a numbered slot.

use foldhash::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::event_log::json::row::{Numbers, Row};
use crate::event_log::json::text::text;
use crate::event_log::task_events::*;

/// The source of a column's values.
#[derive(Debug, Clone, Copy)]
enum Source {
    Number(u8),
    Flag(u8),
    /// A text with few distinct values, stored as a dictionary.
    Word(u8),
    Outcome,
    FailureClass,
    FailureReason,
}

const IDENTITY: &[(&str, Source)] = &[
    ("stage_id", Source::Number(STAGE_ID)),
    ("stage_attempt", Source::Number(STAGE_ATTEMPT)),
    ("task_id", Source::Number(TASK_ID)),
    ("task_index", Source::Number(TASK_INDEX)),
    ("task_attempt", Source::Number(TASK_ATTEMPT)),
];

const PLACE: &[(&str, Source)] = &[
    ("executor_id", Source::Word(EXECUTOR_ID)),
    ("host", Source::Word(HOST)),
    ("locality", Source::Word(LOCALITY)),
    ("speculative", Source::Flag(SPECULATIVE)),
    ("launched_ms", Source::Number(LAUNCHED_MS)),
];

const END: &[(&str, Source)] = &[
    ("partition_id", Source::Number(PARTITION_ID)),
    ("finished_ms", Source::Number(FINISHED_MS)),
    ("getting_result_ms", Source::Number(GETTING_RESULT_MS)),
    ("task_type", Source::Word(TASK_TYPE)),
    ("reason", Source::Word(REASON)),
    ("outcome", Source::Outcome),
    ("failure_class", Source::FailureClass),
    ("failure_reason", Source::FailureReason),
    ("has_metrics", Source::Flag(HAS_METRICS)),
    ("run_ms", Source::Number(RUN_MS)),
    ("cpu_ns", Source::Number(CPU_NS)),
    ("gc_ms", Source::Number(GC_MS)),
    ("deserialize_ms", Source::Number(DESERIALIZE_MS)),
    ("deserialize_cpu_ns", Source::Number(DESERIALIZE_CPU_NS)),
    ("result_serialization_ms", Source::Number(RESULT_SERIALIZATION_MS)),
    ("result_bytes", Source::Number(RESULT_BYTES)),
    (
        "peak_execution_memory_bytes",
        Source::Number(PEAK_EXECUTION_MEMORY_BYTES),
    ),
    ("memory_spilled_bytes", Source::Number(MEMORY_SPILLED_BYTES)),
    ("disk_spilled_bytes", Source::Number(DISK_SPILLED_BYTES)),
    ("shuffle_remote_blocks", Source::Number(SHUFFLE_REMOTE_BLOCKS)),
    ("shuffle_local_blocks", Source::Number(SHUFFLE_LOCAL_BLOCKS)),
    ("shuffle_remote_bytes", Source::Number(SHUFFLE_REMOTE_BYTES)),
    ("shuffle_local_bytes", Source::Number(SHUFFLE_LOCAL_BYTES)),
    (
        "shuffle_remote_to_disk_bytes",
        Source::Number(SHUFFLE_REMOTE_TO_DISK_BYTES),
    ),
    ("shuffle_read_bytes", Source::Number(SHUFFLE_READ_BYTES)),
    ("shuffle_read_records", Source::Number(SHUFFLE_READ_RECORDS)),
    ("fetch_wait_ms", Source::Number(FETCH_WAIT_MS)),
    ("shuffle_write_bytes", Source::Number(SHUFFLE_WRITE_BYTES)),
    ("shuffle_write_records", Source::Number(SHUFFLE_WRITE_RECORDS)),
    ("shuffle_write_ns", Source::Number(SHUFFLE_WRITE_NS)),
    ("input_bytes", Source::Number(INPUT_BYTES)),
    ("input_records", Source::Number(INPUT_RECORDS)),
    ("output_bytes", Source::Number(OUTPUT_BYTES)),
    ("output_records", Source::Number(OUTPUT_RECORDS)),
];

/// A batch is closed when its failure texts have this many bytes, because an Arrow column of text cannot hold more than
/// 2 GiB.
const MAX_TEXT: usize = 256 << 20;
/// Number of rows that are buffered before they are copied to the columns; they take 20 KiB, which fits into the
/// first-level cache.
const ROWS_AT_ONCE: usize = 64;
/// Initial capacity of a batch in rows, so that small logs do not reallocate.
const FIRST_ROWS: usize = 256;

#[derive(Debug, Default)]
struct Words {
    places: HashMap<Box<[u8]>, i32>,
    values: Vec<String>,
    keys: Vec<i32>,
    /// The last word and its key, because consecutive tasks often have the same executor.
    last: Option<(Vec<u8>, i32)>,
}

impl Words {
    #[inline]
    fn push(&mut self, word: Option<&[u8]>) {
        let Some(word) = word else {
            self.keys.push(-1);
            return;
        };
        let key = match &self.last {
            Some((last, key)) if last == word => *key,
            _ => self.find(word),
        };
        self.keys.push(key);
    }

    fn find(&mut self, word: &[u8]) -> i32 {
        let key = match self.places.get(word) {
            Some(key) => *key,
            None => {
                let key = self.values.len() as i32;
                self.values.push(text(word));
                self.places.insert(word.into(), key);
                key
            }
        };
        self.last = Some((word.to_vec(), key));
        key
    }

    fn finish(&mut self) -> ArrayRef {
        let Words { values, keys, .. } = std::mem::take(self);
        let keys: Int32Array = keys.into_iter().map(|key| (key >= 0).then_some(key)).collect();
        let values: ArrayRef = Arc::new(StringArray::from(values));
        match DictionaryArray::<Int32Type>::try_new(keys, values) {
            Ok(column) => Arc::new(column),
            Err(never) => unreachable!("keys are places of values: {never}"),
        }
    }
}

/// Creates the schema of a task table; callers cache it, because creating it costs as much as the columns of a small
/// log.
fn schema(columns: &[(&'static str, Source)]) -> SchemaRef {
    let word = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, source)| {
            let kind = match source {
                Source::Number(_) => DataType::Int64,
                Source::Flag(_) => DataType::Boolean,
                Source::Word(_) | Source::Outcome | Source::FailureClass => word(),
                Source::FailureReason => DataType::Utf8,
            };
            Field::new(*name, kind, true)
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// Rows of a task table.
#[derive(Debug)]
pub struct TaskColumns {
    schema: SchemaRef,
    sources: Vec<Source>,
    /// The last rows, not yet copied to `numbers` and `flags`.
    rows: Vec<Numbers>,
    numbers: Vec<(u8, Vec<i64>)>,
    flags: Vec<(u8, Vec<bool>)>,
    words: Vec<Words>,
    texts: Vec<Vec<Option<String>>>,
    text_bytes: usize,
    /// For each row, the slots that have a value.
    present: Vec<u64>,
}

impl TaskColumns {
    /// Creates the columns of the table of task ends.
    pub fn ends() -> TaskColumns {
        TaskColumns::new([IDENTITY, PLACE, END].concat(), TaskColumns::schema_of_ends())
    }

    /// Creates the columns of the table of task starts.
    pub fn starts() -> TaskColumns {
        TaskColumns::new([IDENTITY, PLACE].concat(), TaskColumns::schema_of_starts())
    }

    pub fn schema_of_ends() -> SchemaRef {
        static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
        SCHEMA.get_or_init(|| schema(&[IDENTITY, PLACE, END].concat())).clone()
    }

    pub fn schema_of_starts() -> SchemaRef {
        static SCHEMA: OnceLock<SchemaRef> = OnceLock::new();
        SCHEMA.get_or_init(|| schema(&[IDENTITY, PLACE].concat())).clone()
    }

    fn new(columns: Vec<(&'static str, Source)>, schema: SchemaRef) -> TaskColumns {
        let sources: Vec<Source> = columns.into_iter().map(|(_, source)| source).collect();
        let numbers = sources
            .iter()
            .filter_map(|source| match source {
                Source::Number(slot) => Some((*slot, Vec::new())),
                _ => None,
            })
            .collect();
        let flags = sources
            .iter()
            .filter_map(|source| match source {
                Source::Flag(slot) if *slot != HAS_METRICS => Some((*slot, Vec::new())),
                _ => None,
            })
            .collect();
        let count = |wanted: fn(&Source) -> bool| sources.iter().filter(|source| wanted(source)).count();
        let words = count(|source| matches!(source, Source::Word(_) | Source::Outcome | Source::FailureClass));
        let texts = count(|source| matches!(source, Source::FailureReason));
        TaskColumns {
            schema,
            rows: Vec::new(),
            numbers,
            flags,
            words: (0..words).map(|_| Words::default()).collect(),
            texts: vec![Vec::new(); texts],
            text_bytes: 0,
            present: Vec::new(),
            sources,
        }
    }

    pub fn len(&self) -> usize {
        self.present.len()
    }

    pub fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Whether the batch should be closed because of its failure texts.
    pub fn is_heavy(&self) -> bool {
        self.text_bytes >= MAX_TEXT
    }

    #[inline]
    pub fn push(&mut self, row: &Row, line: &[u8], outcome: Outcome) {
        if self.present.is_empty() {
            self.reserve();
        }
        self.rows.push(*row.numbers());
        self.present.push(row.present());
        if self.rows.len() == ROWS_AT_ONCE {
            self.spread();
        }
        let mut word = 0;
        for source in &self.sources {
            let value = match source {
                Source::Word(slot) => row.text(line, *slot),
                Source::Outcome => Some(outcome.name().as_bytes()),
                Source::FailureClass => match outcome {
                    Outcome::Success => None,
                    _ => failure_class(row, line),
                },
                _ => continue,
            };
            self.words[word].push(value);
            word += 1;
        }
        for texts in &mut self.texts {
            let reason = match outcome {
                Outcome::Success => None,
                _ => failure_reason(row, line),
            };
            self.text_bytes += reason.as_ref().map_or(0, String::len);
            texts.push(reason);
        }
    }

    fn reserve(&mut self) {
        self.rows.reserve(ROWS_AT_ONCE);
        self.present.reserve(FIRST_ROWS);
        self.numbers
            .iter_mut()
            .for_each(|(_, values)| values.reserve(FIRST_ROWS));
        self.flags.iter_mut().for_each(|(_, values)| values.reserve(FIRST_ROWS));
        self.words.iter_mut().for_each(|words| words.keys.reserve(FIRST_ROWS));
        self.texts.iter_mut().for_each(|texts| texts.reserve(FIRST_ROWS));
    }

    /// Copies the buffered rows to the columns column by column, which is several times faster than value by value.
    /// Slots without a value are copied too; `present` marks the slots that have a value.
    fn spread(&mut self) {
        for (slot, values) in &mut self.numbers {
            values.extend(self.rows.iter().map(|row| row[*slot as usize]));
        }
        for (slot, values) in &mut self.flags {
            values.extend(self.rows.iter().map(|row| row[*slot as usize] != 0));
        }
        self.rows.clear();
    }

    /// Returns the rows as a batch and clears the columns.
    pub fn finish(&mut self) -> RecordBatch {
        self.spread();
        let present = std::mem::take(&mut self.present);
        self.text_bytes = 0;
        let always = present.iter().fold(u64::MAX, |all, row| all & row);
        let bits = |slot: u8| BooleanBuffer::collect_bool(present.len(), |row| present[row] >> slot & 1 == 1);
        let nulls = |slot: u8| (always >> slot & 1 == 0).then(|| NullBuffer::new(bits(slot)));
        let mut numbers = self.numbers.iter_mut();
        let mut flags = self.flags.iter_mut().map(|(_, values)| values);
        let mut words = self.words.iter_mut();
        let mut texts = self.texts.iter_mut();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.sources.len());
        for source in &self.sources {
            let column: Option<ArrayRef> = match source {
                Source::Number(slot) => numbers.next().map(|(_, values)| {
                    Arc::new(Int64Array::new(
                        ScalarBuffer::from(std::mem::take(values)),
                        nulls(*slot),
                    )) as _
                }),
                // The slot HAS_METRICS is present only if the flag is true, so its presence bits are the values of the
                // column.
                Source::Flag(HAS_METRICS) => Some(Arc::new(BooleanArray::new(bits(HAS_METRICS), None))),
                Source::Flag(slot) => flags
                    .next()
                    .map(|values| Arc::new(BooleanArray::new(std::mem::take(values).into(), nulls(*slot))) as _),
                Source::Word(_) | Source::Outcome | Source::FailureClass => words.next().map(Words::finish),
                Source::FailureReason => texts
                    .next()
                    .map(|texts| Arc::new(StringArray::from(std::mem::take(texts))) as _),
            };
            columns.extend(column);
        }
        match RecordBatch::try_new(self.schema.clone(), columns) {
            Ok(batch) => batch,
            Err(never) => unreachable!("each row fills each column: {never}"),
        }
    }
}

/// Returns the class of the exception or, without an exception, Spark's end reason.
pub fn failure_class<'l>(row: &Row, line: &'l [u8]) -> Option<&'l [u8]> {
    row.text(line, FAILURE_CLASS).or(row.text(line, REASON))
}

/// Returns Spark's description of the failure.
pub fn failure_reason(row: &Row, line: &[u8]) -> Option<String> {
    [DESCRIPTION, KILL_REASON, LOSS_REASON, FETCH_MESSAGE]
        .into_iter()
        .find_map(|slot| row.text(line, slot))
        .map(text)
}
