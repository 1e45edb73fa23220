//! Builds Arrow columns and touches only the rows that have a value.
//!
//! Columns belong to a group: the fields of the message itself, or those of one member of a oneof. The rows of the
//! batch that have the group are numbered; these numbers are the positions in the group. Most columns have a value at
//! each position of their group; the others store the positions of their values. At the end, the values are moved from
//! positions to rows, in one pass.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, MapArray, StructArray, new_null_array};
use arrow_schema::DataType;

use crate::row_selection::{RowSelection, last_end, presence};
use crate::schema::{Kind, Nested, Shape, Slot, entries_field, entry_fields, item_field};
use crate::values::{Capacity, Spans, Values, offsets};
use crate::wire::{Reader, WireError, WireType};

/// Builds one column. Positions are written in ascending order; only the last position may be overwritten or removed.
#[derive(Debug)]
pub enum Builder {
    Scalar {
        kind: Kind,
        wire_type: WireType,
        values: Values,
        /// Positions of the values; stored only after a position was skipped.
        sparse: Option<Vec<u32>>,
    },
    List {
        kind: Kind,
        wire_type: WireType,
        ends: Vec<i32>,
        items: Values,
    },
    TextMap {
        ends: Vec<i32>,
        keys: Spans,
        values: Spans,
    },
    Rows {
        ends: Vec<i32>,
        nested: Arc<Nested>,
        columns: Vec<Builder>,
        rows: usize,
    },
}

impl Builder {
    /// The capacity that the column uses now.
    pub fn capacity(&self) -> Capacity {
        match self {
            Builder::Scalar { values, .. } => values.capacity(),
            _ => Capacity::default(),
        }
    }

    pub fn new(shape: &Shape, capacity: Capacity) -> Builder {
        match *shape {
            Shape::Scalar(kind) => Builder::Scalar {
                kind,
                wire_type: wire_type_of(kind),
                values: Values::with_capacity(kind, capacity),
                sparse: None,
            },
            Shape::List(kind) => Builder::List {
                kind,
                wire_type: wire_type_of(kind),
                ends: Vec::new(),
                items: Values::new(kind),
            },
            Shape::TextMap => Builder::TextMap {
                ends: Vec::new(),
                keys: Spans::default(),
                values: Spans::default(),
            },
            Shape::Rows(ref nested) => Builder::Rows {
                ends: Vec::new(),
                nested: nested.clone(),
                columns: nested
                    .columns
                    .iter()
                    .map(|column| Builder::new(&column.shape, Capacity::default()))
                    .collect(),
                rows: 0,
            },
        }
    }

    /// Reads the value of one field and stores it at position `place`. As Protobuf requires, a field with the wrong
    /// wire type is skipped.
    #[inline(always)]
    pub fn read(
        &mut self,
        place: usize,
        number: u32,
        wire_type: WireType,
        reader: &mut Reader,
    ) -> Result<(), WireError> {
        match self {
            Builder::Scalar {
                kind,
                wire_type: own,
                values,
                sparse,
            } if wire_type == *own => {
                if sparse.is_some() || values.len() != place {
                    prepare_position(values, sparse, place);
                }
                values.push(*kind, reader)?;
                if let Some(places) = sparse {
                    places.push(place as u32);
                }
                Ok(())
            }
            Builder::List {
                kind,
                wire_type: own,
                ends,
                items,
            } if wire_type == *own => {
                open_row(ends, place, items.len());
                items.push(*kind, reader)?;
                close_row(ends, items.len());
                Ok(())
            }
            Builder::List { kind, ends, items, .. } if wire_type == WireType::Bytes => {
                open_row(ends, place, items.len());
                let mut packed = Reader::new(reader.bytes()?);
                while !packed.is_empty() {
                    items.push(*kind, &mut packed)?;
                }
                close_row(ends, items.len());
                Ok(())
            }
            Builder::TextMap { ends, keys, values } if wire_type == WireType::Bytes => {
                open_row(ends, place, keys.len());
                let (key, value) = map_entry(reader.bytes()?)?;
                keys.push(key.as_bytes());
                values.push(value.as_bytes());
                close_row(ends, keys.len());
                Ok(())
            }
            Builder::Rows {
                ends,
                nested,
                columns,
                rows,
            } if wire_type == WireType::Bytes => {
                open_row(ends, place, *rows);
                read_nested(nested, columns, *rows, reader.bytes()?)?;
                *rows += 1;
                close_row(ends, *rows);
                Ok(())
            }
            _ => reader.skip(number, wire_type),
        }
    }

    /// Stores a text at position `place`; does nothing if this is not a column of texts.
    pub fn set_text(&mut self, place: usize, text: &str) {
        if let Builder::Scalar {
            values: values @ Values::Spans(_),
            sparse,
            ..
        } = self
        {
            prepare_position(values, sparse, place);
            if let Values::Spans(spans) = values {
                spans.push(text.as_bytes());
            }
            if let Some(places) = sparse {
                places.push(place as u32);
            }
        }
    }

    /// Removes the values at position `place` and after it.
    pub fn truncate(&mut self, place: usize) {
        match self {
            Builder::Scalar { values, sparse, .. } => discard_from(values, sparse, place),
            Builder::List { ends, items, .. } => {
                ends.truncate(place);
                items.truncate(last_end(ends));
            }
            Builder::TextMap { ends, keys, values } => {
                ends.truncate(place);
                keys.truncate(last_end(ends));
                values.truncate(last_end(ends));
            }
            Builder::Rows {
                ends, columns, rows, ..
            } => {
                ends.truncate(place);
                *rows = last_end(ends);
                columns.iter_mut().for_each(|column| column.truncate(*rows));
            }
        }
    }

    /// Returns the column with one value for each row of the batch.
    pub fn finish(self, places: &RowSelection, nulls: &mut Nulls) -> ArrayRef {
        match self {
            Builder::Scalar {
                kind, values, sparse, ..
            } => finish_scalar(kind, values, sparse, places, nulls),
            Builder::List { kind, ends, items, .. } => Arc::new(ListArray::new(
                item_field(kind.arrow()),
                offsets(places.spread_ends(ends)),
                items.finish(kind, None),
                None,
            )),
            Builder::TextMap { ends, keys, values } => text_map(&places.spread_ends(ends), &keys, &values),
            Builder::Rows {
                ends,
                nested,
                columns,
                rows: items,
            } => {
                let within = RowSelection::all(items);
                let columns = columns
                    .into_iter()
                    .map(|column| column.finish(&within, nulls))
                    .collect();
                let structs = StructArray::new(nested.fields(), columns, None);
                let item = item_field(DataType::Struct(nested.fields()));
                let offsets = offsets(places.spread_ends(ends));
                Arc::new(ListArray::new(item, offsets, Arc::new(structs), None))
            }
        }
    }
}

fn finish_scalar(
    kind: Kind,
    values: Values,
    sparse: Option<Vec<u32>>,
    places: &RowSelection,
    nulls: &mut Nulls,
) -> ArrayRef {
    let count = values.len();
    if count == 0 {
        return nulls.column(kind.arrow(), places.count);
    }
    if sparse.is_none() && count == places.len() {
        return match &places.rows {
            None => values.finish(kind, None),
            Some(rows) => values.spread(rows, places.count).finish(kind, places.presence.clone()),
        };
    }
    let rows: Vec<u32> = match sparse {
        Some(filled) => filled.iter().map(|place| places.row(*place as usize)).collect(),
        None => (0..count).map(|place| places.row(place)).collect(),
    };
    let presence = presence(&rows, places.count);
    values.spread(&rows, places.count).finish(kind, Some(presence))
}

/// Cache of columns without a value, by type and length, because most columns of a batch have no value.
#[derive(Default)]
pub struct Nulls {
    columns: HashMap<(DataType, usize), ArrayRef>,
}

impl Nulls {
    fn column(&mut self, of: DataType, rows: usize) -> ArrayRef {
        let columns = self.columns.entry((of, rows));
        columns
            .or_insert_with_key(|(of, rows)| new_null_array(of, *rows))
            .clone()
    }
}

/// Prepares a position for a value: removes an earlier value at this position. If this is the first time that a
/// position was skipped, begins to store the positions of the values.
#[inline(never)]
fn prepare_position(values: &mut Values, sparse: &mut Option<Vec<u32>>, place: usize) {
    discard_from(values, sparse, place);
    if sparse.is_none() && values.len() < place {
        *sparse = Some((0..values.len() as u32).collect());
    }
}

/// Removes the value at this position or at a later one, if there is one; it can only be the last value.
fn discard_from(values: &mut Values, sparse: &mut Option<Vec<u32>>, place: usize) {
    match sparse {
        None => values.truncate(place),
        Some(places) => {
            if places.last().is_some_and(|last| *last as usize >= place) {
                places.pop();
                values.truncate(places.len());
            }
        }
    }
}

fn open_row(ends: &mut Vec<i32>, row: usize, items: usize) {
    if ends.len() <= row {
        ends.resize(row + 1, items as i32);
    }
}

fn close_row(ends: &mut [i32], items: usize) {
    if let Some(end) = ends.last_mut() {
        *end = items as i32;
    }
}

fn read_nested(nested: &Nested, columns: &mut [Builder], row: usize, body: &[u8]) -> Result<(), WireError> {
    let mut reader = Reader::new(body);
    while !reader.is_empty() {
        let (number, wire_type) = reader.tag()?;
        match nested.slots.get(number) {
            Slot::Column(column) => columns[column].read(row, number, wire_type, &mut reader)?,
            _ => reader.skip(number, wire_type)?,
        }
    }
    Ok(())
}

fn map_entry(bytes: &[u8]) -> Result<(&str, &str), WireError> {
    let (mut key, mut value) = ("", "");
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        match reader.tag()? {
            (1, WireType::Bytes) => key = reader.text()?,
            (2, WireType::Bytes) => value = reader.text()?,
            (number, wire_type) => reader.skip(number, wire_type)?,
        }
    }
    Ok((key, value))
}

/// Returns the map of each row, with its entries ordered by key. As Protobuf requires, the last value of a repeated key
/// wins.
fn text_map(ends: &[i32], keys: &Spans, values: &Spans) -> ArrayRef {
    let (mut kept_ends, mut kept_keys, mut kept_values) = (Vec::new(), Spans::default(), Spans::default());
    let mut start = 0;
    for end in ends.iter().map(|end| *end as usize) {
        let mut order: Vec<usize> = (start..end).collect();
        order.sort_by_key(|entry| keys.get(*entry));
        for (place, entry) in order.iter().enumerate() {
            let repeated = order
                .get(place + 1)
                .is_some_and(|next| keys.get(*next) == keys.get(*entry));
            if !repeated {
                kept_keys.push(keys.get(*entry));
                kept_values.push(values.get(*entry));
            }
        }
        kept_ends.push(kept_keys.len() as i32);
        start = end;
    }
    let columns = vec![kept_keys.finish(Kind::Text, None), kept_values.finish(Kind::Text, None)];
    let entries = StructArray::new(entry_fields(), columns, None);
    Arc::new(MapArray::new(entries_field(), offsets(kept_ends), entries, None, false))
}

fn wire_type_of(kind: Kind) -> WireType {
    match kind {
        Kind::Fixed32 | Kind::Sfixed32 | Kind::Float => WireType::Fixed32,
        Kind::Fixed64 | Kind::Sfixed64 | Kind::Double => WireType::Fixed64,
        Kind::Text | Kind::Binary => WireType::Bytes,
        _ => WireType::Varint,
    }
}
