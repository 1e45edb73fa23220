//! The table of columns that a message flattens to, compiled from its Protobuf descriptor.
//!
//! Fields of the message keep their names; the fields of a oneof's members become `<member>_<field>`;
//! a column with the oneof's name holds the member's name.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};
use thiserror::Error;

/// How deep messages may repeat inside each other; a message that holds itself would have no end.
const MAX_NESTING: usize = 8;
/// Field numbers below this are looked up by index, those above by search.
const DENSE_NUMBERS: u32 = 256;

/// Why a message cannot be laid out as columns.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaError {
    #[error("the descriptor set cannot be read: {0}")]
    Descriptor(String),
    #[error("message {0} is not in the descriptor set; it has: {1}")]
    NoMessage(String, String),
    #[error("field {0} cannot become a column: {1}")]
    Unsupported(String, &'static str),
    #[error("column {0} would be there twice")]
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
    fn of(field: &FieldDescriptorProto) -> Option<Kind> {
        Some(match field.r#type() {
            Type::Int32 | Type::Enum => Kind::Int32,
            Type::Int64 => Kind::Int64,
            Type::Uint32 => Kind::Uint32,
            Type::Uint64 => Kind::Uint64,
            Type::Sint32 => Kind::Sint32,
            Type::Sint64 => Kind::Sint64,
            Type::Fixed32 => Kind::Fixed32,
            Type::Fixed64 => Kind::Fixed64,
            Type::Sfixed32 => Kind::Sfixed32,
            Type::Sfixed64 => Kind::Sfixed64,
            Type::Float => Kind::Float,
            Type::Double => Kind::Double,
            Type::Bool => Kind::Bool,
            Type::String => Kind::Text,
            Type::Bytes => Kind::Binary,
            Type::Message | Type::Group => return None,
        })
    }

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

/// What a row of the column holds.
#[derive(Debug, Clone)]
pub enum Shape {
    /// One value, null when the field is absent.
    Scalar(Kind),
    /// A list, empty when the field is absent.
    List(Kind),
    /// A map of texts, empty when the field is absent.
    TextMap,
    /// A list of messages, empty when the field is absent.
    Rows(Arc<Nested>),
}

/// The layout of a message that repeats inside another one.
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

/// Where the value of a field goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    Skip,
    Column(usize),
    Member(usize),
}

/// Field number -> slot.
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

/// One member of a oneof: a message of its own.
#[derive(Debug)]
pub struct Member {
    pub name: String,
    /// Index into `Plan::choices`.
    pub choice: usize,
    pub slots: Slots,
    /// The columns that its fields fill.
    pub columns: std::ops::Range<usize>,
}

/// A message's layout: made once, used for every batch.
#[derive(Debug)]
pub struct Plan {
    pub columns: Vec<Column>,
    pub slots: Slots,
    pub members: Vec<Member>,
    /// For each oneof the column that holds the chosen member's name.
    pub choices: Vec<usize>,
    /// For each column the member whose field it is; none for the message's own fields.
    pub member_of: Vec<Option<usize>>,
    pub schema: SchemaRef,
}

impl Plan {
    /// Lays out `message` (full name, as `sparkfuse.contracts.Fact`) of a serialised FileDescriptorSet.
    pub fn compile(descriptor_set: &[u8], message: &str) -> Result<Plan, SchemaError> {
        let set =
            FileDescriptorSet::decode(descriptor_set).map_err(|error| SchemaError::Descriptor(error.to_string()))?;
        let mut layout = Layout {
            messages: messages(&set),
            plan: Plan::empty(),
        };
        let root = layout.message(message)?;
        layout.lay_out_root(root)?;
        let mut plan = layout.plan;
        plan.check_names()?;
        plan.member_of = vec![None; plan.columns.len()];
        for (index, member) in plan.members.iter().enumerate() {
            plan.member_of[member.columns.clone()].fill(Some(index));
        }
        plan.schema = Arc::new(Schema::new(plan.columns.iter().map(arrow_field).collect::<Fields>()));
        Ok(plan)
    }

    /// The columns of the message's own fields.
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

struct Layout<'a> {
    messages: Vec<(String, &'a DescriptorProto)>,
    plan: Plan,
}

impl<'a> Layout<'a> {
    fn message(&self, name: &str) -> Result<&'a DescriptorProto, SchemaError> {
        let name = name.trim_start_matches('.');
        self.messages
            .iter()
            .find(|(full, _)| full == name)
            .map(|(_, message)| *message)
            .ok_or_else(|| {
                let known: Vec<_> = self.messages.iter().map(|(full, _)| full.as_str()).collect();
                SchemaError::NoMessage(name.to_owned(), known.join(", "))
            })
    }

    fn lay_out_root(&mut self, root: &DescriptorProto) -> Result<(), SchemaError> {
        let mut slots = Slots::default();
        let plain = root.field.iter().filter(|field| choice_of(field).is_none());
        for (field, shape) in self.shapes(plain, 0)? {
            slots.set(number(field), Slot::Column(self.add(field.name().to_owned(), shape)));
        }
        for (index, oneof) in root.oneof_decl.iter().enumerate() {
            let members: Vec<_> = root
                .field
                .iter()
                .filter(|field| choice_of(field) == Some(index))
                .collect();
            if members.is_empty() {
                continue; // the oneof that the compiler makes up for an `optional` field
            }
            let column = self.add(oneof.name().to_owned(), Shape::Scalar(Kind::Text));
            self.plan.choices.push(column);
            for field in members {
                slots.set(number(field), self.member(field)?);
            }
        }
        self.plan.slots = slots;
        Ok(())
    }

    fn member(&mut self, field: &FieldDescriptorProto) -> Result<Slot, SchemaError> {
        if field.r#type() != Type::Message {
            return Err(unsupported(field, "a member of a oneof must be a message"));
        }
        let message = self.message(field.type_name())?;
        let first = self.plan.columns.len();
        let mut slots = Slots::default();
        for (inner, shape) in self.shapes(message.field.iter(), 0)? {
            let column = self.add(format!("{}_{}", field.name(), inner.name()), shape);
            slots.set(number(inner), Slot::Column(column));
        }
        let columns = first..self.plan.columns.len();
        let choice = self.plan.choices.len() - 1;
        self.plan.members.push(Member {
            name: field.name().to_owned(),
            choice,
            slots,
            columns,
        });
        Ok(Slot::Member(self.plan.members.len() - 1))
    }

    /// The fields that become columns; single nested messages are passed over.
    fn shapes<'f>(
        &self,
        fields: impl Iterator<Item = &'f FieldDescriptorProto>,
        depth: usize,
    ) -> Result<Vec<(&'f FieldDescriptorProto, Shape)>, SchemaError> {
        let mut found = Vec::new();
        for field in fields {
            if let Some(shape) = self.shape(field, depth)? {
                found.push((field, shape));
            }
        }
        Ok(found)
    }

    fn shape(&self, field: &FieldDescriptorProto, depth: usize) -> Result<Option<Shape>, SchemaError> {
        let repeated = field.label() == Label::Repeated;
        match Kind::of(field) {
            Some(kind) if repeated => Ok(Some(Shape::List(kind))),
            Some(kind) => Ok(Some(Shape::Scalar(kind))),
            None if repeated && field.r#type() == Type::Message => self.repeated_message(field, depth),
            None => Ok(None),
        }
    }

    fn repeated_message(&self, field: &FieldDescriptorProto, depth: usize) -> Result<Option<Shape>, SchemaError> {
        let message = self.message(field.type_name())?;
        if depth >= MAX_NESTING {
            return Err(unsupported(field, "messages repeat inside each other too deep"));
        }
        if message.options.as_ref().is_some_and(|options| options.map_entry()) {
            return match message.field.iter().all(|entry| entry.r#type() == Type::String) {
                true => Ok(Some(Shape::TextMap)),
                false => Err(unsupported(field, "a map must be one of strings to strings")),
            };
        }
        let mut nested = Nested {
            columns: Vec::new(),
            slots: Slots::default(),
        };
        for (inner, shape) in self.shapes(message.field.iter(), depth + 1)? {
            nested.slots.set(number(inner), Slot::Column(nested.columns.len()));
            nested.columns.push(Column {
                name: inner.name().to_owned(),
                shape,
            });
        }
        Ok((!nested.columns.is_empty()).then(|| Shape::Rows(Arc::new(nested))))
    }

    fn add(&mut self, name: String, shape: Shape) -> usize {
        self.plan.columns.push(Column { name, shape });
        self.plan.columns.len() - 1
    }
}

fn messages(set: &FileDescriptorSet) -> Vec<(String, &DescriptorProto)> {
    let mut found = Vec::new();
    for file in &set.file {
        for message in &file.message_type {
            collect(file.package(), message, &mut found);
        }
    }
    found
}

fn collect<'a>(scope: &str, message: &'a DescriptorProto, found: &mut Vec<(String, &'a DescriptorProto)>) {
    let name = if scope.is_empty() {
        message.name().to_owned()
    } else {
        format!("{scope}.{}", message.name())
    };
    for nested in &message.nested_type {
        collect(&name, nested, found);
    }
    found.push((name, message));
}

fn choice_of(field: &FieldDescriptorProto) -> Option<usize> {
    if field.proto3_optional() {
        None
    } else {
        usize::try_from(field.oneof_index?).ok()
    }
}

fn number(field: &FieldDescriptorProto) -> u32 {
    u32::try_from(field.number()).unwrap_or(0)
}

fn unsupported(field: &FieldDescriptorProto, why: &'static str) -> SchemaError {
    SchemaError::Unsupported(field.name().to_owned(), why)
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
    /// The fields of one row.
    pub fn fields(&self) -> Fields {
        self.columns.iter().map(arrow_field).collect()
    }
}

/// The field of a list's items.
pub fn item_field(item: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", item, false))
}

/// The fields of a map's entries.
pub fn entry_fields() -> Fields {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, false),
    ])
}

/// The field of a map's entries as one struct.
pub fn entries_field() -> Arc<Field> {
    Arc::new(Field::new("entries", DataType::Struct(entry_fields()), false))
}
