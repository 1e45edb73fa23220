//! The columns of a message, compiled from its Protobuf descriptor.
//!
//! Fields of the message keep their names. Fields of a oneof's members become columns `<member>_<field>`. A column with
//! the name of the oneof contains the name of the member that is set.

mod layout;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use thiserror::Error;

/// Field numbers below this limit are looked up by index, larger ones by binary search.
const DENSE_NUMBERS: u32 = 256;

/// Why a message cannot be converted to columns.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    #[error("the descriptor set cannot be read: {0}")]
    Descriptor(String),
    #[error("message {0} is not in the descriptor set; it has: {1}")]
    NoMessage(String, String),
    #[error("field {0} cannot become a column: {1}")]
    Unsupported(String, &'static str),
    #[error("two fields would become the column {0}")]
    Twice(String),
}

/// Type of one value, named as in Protobuf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
    Bool,
    Text,
    Binary,
}

impl Kind {
    pub fn arrow(self) -> DataType {
        match self {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => DataType::Int32,
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
            Kind::Uint32 | Kind::Fixed32 => DataType::UInt32,
            Kind::Uint64 | Kind::Fixed64 => DataType::UInt64,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::Bool => DataType::Boolean,
            Kind::Text => DataType::Utf8,
            Kind::Binary => DataType::Binary,
        }
    }
}

/// What a column contains for each row.
#[derive(Debug, Clone)]
pub enum Shape {
    /// One value; null if the field is absent.
    Scalar(Kind),
    /// A list; empty if the field is absent.
    List(Kind),
    /// A map of texts; empty if the field is absent.
    TextMap,
    /// A list of messages; empty if the field is absent.
    Rows(Arc<Nested>),
}

/// The layout of a repeated message inside another message.
#[derive(Debug)]
pub struct Nested {
    pub columns: Vec<Column>,
    pub slots: Slots,
}

/// One column of the table.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub shape: Shape,
}

/// Where the value of a field is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Skip,
    Column(usize),
    Member(usize),
}

/// Finds the slot of a field number.
#[derive(Debug, Default)]
pub struct Slots {
    dense: Vec<Slot>,
    sparse: Vec<(u32, Slot)>,
}

impl Slots {
    #[inline]
    pub fn get(&self, number: u32) -> Slot {
        match self.dense.get(number as usize) {
            Some(slot) => *slot,
            None => self.search(number),
        }
    }

    fn search(&self, number: u32) -> Slot {
        self.sparse
            .binary_search_by_key(&number, |entry| entry.0)
            .map_or(Slot::Skip, |at| self.sparse[at].1)
    }

    fn set(&mut self, number: u32, slot: Slot) {
        if number >= DENSE_NUMBERS {
            let at = self.sparse.partition_point(|entry| entry.0 < number);
            self.sparse.insert(at, (number, slot));
            return;
        }
        let number = number as usize;
        if self.dense.len() <= number {
            self.dense.resize(number + 1, Slot::Skip);
        }
        self.dense[number] = slot;
    }
}

/// One member of a oneof; the member is a message.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// Index into `Plan::choices`.
    pub choice: usize,
    pub slots: Slots,
    /// The columns of the member's fields.
    pub columns: std::ops::Range<usize>,
}

/// The layout of a message, compiled once and used for every batch.
#[derive(Debug)]
pub struct Plan {
    pub columns: Vec<Column>,
    pub slots: Slots,
    pub members: Vec<Member>,
    /// For each oneof, the column with the name of the member that is set.
    pub choices: Vec<usize>,
    /// For each column, the oneof member that its field belongs to; `None` for the fields of the message itself.
    pub member_of: Vec<Option<usize>>,
    pub schema: SchemaRef,
}

impl Plan {
    /// Returns the columns of the message's own fields and of the names of its oneof members.
    pub fn outer_columns(&self) -> impl Iterator<Item = usize> {
        let of_members = self.member_of.iter().enumerate();
        of_members.filter_map(|(column, member)| member.is_none().then_some(column))
    }

    fn empty() -> Plan {
        Plan {
            columns: Vec::new(),
            slots: Slots::default(),
            members: Vec::new(),
            choices: Vec::new(),
            member_of: Vec::new(),
            schema: Arc::new(Schema::empty()),
        }
    }

    fn check_names(&self) -> Result<(), SchemaError> {
        let mut seen = HashSet::new();
        match self.columns.iter().find(|column| !seen.insert(column.name.as_str())) {
            Some(column) => Err(SchemaError::Twice(column.name.clone())),
            None => Ok(()),
        }
    }
}

fn arrow_field(column: &Column) -> Field {
    let (data_type, nullable) = match &column.shape {
        Shape::Scalar(kind) => (kind.arrow(), true),
        Shape::List(kind) => (DataType::List(item_field(kind.arrow())), false),
        Shape::TextMap => (DataType::Map(entries_field(), false), false),
        Shape::Rows(nested) => (DataType::List(item_field(DataType::Struct(nested.fields()))), false),
    };
    Field::new(&column.name, data_type, nullable)
}

impl Nested {
    /// The Arrow fields of one row.
    pub fn fields(&self) -> Fields {
        self.columns.iter().map(arrow_field).collect()
    }
}

/// The Arrow field of a list's items.
pub fn item_field(item: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", item, false))
}

/// The Arrow fields of a map's entries.
pub fn entry_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

/// The Arrow field of a map's entries as a struct.
pub fn entries_field() -> Arc<Field> {
    Arc::new(Field::new("entries", DataType::Struct(entry_fields()), false))
}
