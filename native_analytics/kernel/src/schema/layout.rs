//! Lays out a message's descriptor as columns.

use std::sync::Arc;

use arrow_schema::{Fields, Schema};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

use super::{Column, Kind, Member, Nested, Plan, SchemaError, Shape, Slot, Slots, arrow_field};

/// Maximum nesting of repeated messages, because a message that contains itself would be nested without end.
const MAX_NESTING: usize = 8;

impl Plan {
    /// Lays out `message` (full name, such as `sparkfuse.contracts.Fact`), which a serialized FileDescriptorSet
    /// defines.
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
                continue; // such a oneof belongs to an `optional` field
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

    /// Returns the fields that become columns. A nested message that is not repeated is skipped.
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
        match kind_of(field) {
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

/// Returns the kind of a single value; `None` for a message.
fn kind_of(field: &FieldDescriptorProto) -> Option<Kind> {
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
