//! Decodes records of one Protobuf message into one Arrow batch. Invalid records are rejected with a reason.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use thiserror::Error;

use crate::columns::{Builder, Nulls};
use crate::row_selection::RowSelection;
use crate::schema::{Plan, SchemaError, Slot};
use crate::values::Capacity;
use crate::wire::{Reader, WireError, WireType};

/// Maximum total size of the records of one batch, in bytes. Arrow's 32-bit offsets limit a text column to 2 GiB. This
/// limit is half of that, because the column of a oneof additionally stores a member's name for each record.
pub const MAX_BYTES: usize = 1 << 30;
/// Maximum number of records in one batch, so that a batch of empty records is limited too.
pub const MAX_RECORDS: usize = 1 << 22;

/// Why a record was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RecordError {
    #[error("not a {message}: {error}")]
    Wire { message: Arc<str>, error: WireError },
    #[error("the record has no value")]
    NoValue,
}

/// The batch exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{records} records of {bytes} bytes are too many for one batch: at most {MAX_RECORDS} and {MAX_BYTES}")]
pub struct BatchTooLargeError {
    records: usize,
    bytes: usize,
}

/// One batch, and the records that were rejected.
#[derive(Debug)]
pub struct Decoded {
    /// One row for each valid record, in the order of the records.
    pub batch: RecordBatch,
    /// Index and reason of each rejected record.
    pub rejected: Vec<(usize, RecordError)>,
}

/// Decodes batches of records of one message.
#[derive(Debug)]
pub struct Decoder {
    plan: Plan,
    message: Arc<str>,
    /// The capacity that each column of the last batch used.
    capacities: Mutex<Vec<Capacity>>,
}

impl Decoder {
    /// Creates a decoder of `message` (full name, such as `sparkfuse.contracts.Fact`), which a serialized
    /// FileDescriptorSet defines.
    pub fn new(descriptor_set: &[u8], message: &str) -> Result<Decoder, SchemaError> {
        let plan = Plan::compile(descriptor_set, message)?;
        let short_name = message.rsplit('.').next().unwrap_or(message);
        let capacities = Mutex::new(vec![Capacity::default(); plan.columns.len()]);
        Ok(Decoder {
            plan,
            capacities,
            message: Arc::from(short_name),
        })
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Decodes `records`; `None` is a record without a value.
    pub fn decode<R: AsRef<[u8]>>(&self, records: &[Option<R>]) -> Result<Decoded, BatchTooLargeError> {
        let bytes = records.iter().flatten().map(|record| record.as_ref().len()).sum();
        if records.len() > MAX_RECORDS || bytes > MAX_BYTES {
            return Err(BatchTooLargeError {
                records: records.len(),
                bytes,
            });
        }
        let capacities = self.capacities().clone();
        let mut table = Table::new(&self.plan, &capacities);
        let mut rejected = Vec::new();
        for (index, record) in records.iter().enumerate() {
            if let Err(reason) = self.decode_one(record.as_ref().map(AsRef::as_ref), &mut table) {
                table.discard_from();
                rejected.push((index, reason));
            }
        }
        *self.capacities() = table.builders.iter().map(Builder::capacity).collect();
        Ok(Decoded {
            batch: table.finish(),
            rejected,
        })
    }

    fn capacities(&self) -> MutexGuard<'_, Vec<Capacity>> {
        self.capacities.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decode_one(&self, record: Option<&[u8]>, table: &mut Table) -> Result<(), RecordError> {
        let bytes = record.ok_or(RecordError::NoValue)?;
        table.read(bytes).map_err(|error| RecordError::Wire {
            message: self.message.clone(),
            error,
        })?;
        table.rows += 1;
        Ok(())
    }
}

/// A batch under construction.
struct Table<'a> {
    plan: &'a Plan,
    builders: Vec<Builder>,
    /// For each oneof member, the rows in which the member is set; the columns of the member store values only for
    /// these rows.
    places: Vec<Vec<u32>>,
    /// For each oneof, the member that is set in the current record.
    chosen: Vec<Option<usize>>,
    rows: usize,
}

impl<'a> Table<'a> {
    fn new(plan: &'a Plan, capacities: &[Capacity]) -> Self {
        let shapes = plan.columns.iter().map(|column| &column.shape);
        let builders = shapes
            .zip(capacities)
            .map(|(shape, capacity)| Builder::new(shape, *capacity))
            .collect();
        Table {
            plan,
            builders,
            places: vec![Vec::new(); plan.members.len()],
            chosen: vec![None; plan.choices.len()],
            rows: 0,
        }
    }

    fn read(&mut self, record: &[u8]) -> Result<(), WireError> {
        self.chosen.fill(None);
        let mut reader = Reader::new(record);
        while !reader.is_empty() {
            let (number, wire_type) = reader.tag()?;
            match self.plan.slots.get(number) {
                Slot::Column(column) => self.builders[column].read(self.rows, number, wire_type, &mut reader)?,
                Slot::Member(member) if wire_type == WireType::Bytes => self.read_member(member, reader.bytes()?)?,
                _ => reader.skip(number, wire_type)?,
            }
        }
        Ok(())
    }

    /// If a member occurs twice in a record, its values are merged; if another member of the same oneof follows, it
    /// replaces the first one.
    fn read_member(&mut self, index: usize, body: &[u8]) -> Result<(), WireError> {
        let plan = self.plan;
        let member = &plan.members[index];
        let before = self.chosen[member.choice].replace(index);
        if before != Some(index) {
            if let Some(before) = before {
                self.unselect(before);
            }
            self.places[index].push(self.rows as u32);
            self.builders[plan.choices[member.choice]].set_text(self.rows, &member.name);
        }
        let place = self.places[index].len() - 1;
        let mut reader = Reader::new(body);
        while !reader.is_empty() {
            let (number, wire_type) = reader.tag()?;
            match member.slots.get(number) {
                Slot::Column(column) => self.builders[column].read(place, number, wire_type, &mut reader)?,
                _ => reader.skip(number, wire_type)?,
            }
        }
        Ok(())
    }

    /// Removes the values of a member from the current record.
    fn unselect(&mut self, index: usize) {
        self.places[index].pop();
        let place = self.places[index].len();
        for builder in &mut self.builders[self.plan.members[index].columns.clone()] {
            builder.truncate(place);
        }
    }

    /// Removes the current record.
    fn discard_from(&mut self) {
        for choice in 0..self.chosen.len() {
            if let Some(member) = self.chosen[choice].take() {
                self.unselect(member);
            }
        }
        for column in self.plan.outer_columns() {
            self.builders[column].truncate(self.rows);
        }
    }

    fn finish(self) -> RecordBatch {
        let mut nulls = Nulls::default();
        let outer = RowSelection::all(self.rows);
        let members: Vec<RowSelection> = self
            .places
            .into_iter()
            .map(|rows| RowSelection::of(rows, self.rows))
            .collect();
        let columns = self
            .builders
            .into_iter()
            .zip(&self.plan.member_of)
            .map(|(builder, member)| builder.finish(member.map_or(&outer, |member| &members[member]), &mut nulls))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(self.plan.schema.clone(), columns, &options)
            .expect("builders and schema come from the same plan")
    }
}
