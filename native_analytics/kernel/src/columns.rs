//! Arrow columns that are only touched in the rows that have a value.
//!
//! A column is filled in the places of its group: the rows of the batch, or only those rows that chose its member of a
//! oneof. Most columns of a group have a value in each of its places; the others note the places that have one. The
//! values are spread out over the rows once, at the end.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, ListArray, MapArray, PrimitiveArray, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer, bit_util};
use arrow_schema::DataType;

use crate::schema::{Kind, Nested, Shape, Slot, entries_field, entry_fields, item_field};
use crate::wire::{Fault, Piece, Reader, WireType};

/// The rows of the batch that a group of columns has places for.
pub struct Places {
    /// The row of each place; none when the places are the rows.
    rows: Option<Vec<u32>>,
    /// Which rows have a place.
    presence: Option<NullBuffer>,
    count: usize,
}

impl Places {
    /// Every row.
    pub fn all(count: usize) -> Places {
        Places {
            rows: None,
            presence: None,
            count,
        }
    }

    /// These rows of `count`, in rising order.
    pub fn of(rows: Vec<u32>, count: usize) -> Places {
        if rows.len() == count {
            return Places::all(count);
        }
        let presence = presence(&rows, count);
        Places {
            rows: Some(rows),
            presence: Some(presence),
            count,
        }
    }

    fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.count, Vec::len)
    }

    fn row(&self, place: usize) -> u32 {
        self.rows.as_ref().map_or(place as u32, |rows| rows[place])
    }

    /// The ends of lists, one for each place, as ends for each row.
    fn spread_ends(&self, mut ends: Vec<i32>) -> Vec<i32> {
        ends.resize(self.len(), last_end(&ends) as i32);
        match &self.rows {
            None => ends,
            Some(rows) => spread_ends(&ends, rows, self.count),
        }
    }
}

/// Builds one column. Places are written in rising order; the one being written may be written again or taken back.
#[derive(Debug)]
pub enum Builder {
    Scalar {
        kind: Kind,
        wire_type: WireType,
        values: Values,
        /// The places of the values, once one was left out.
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

/// How much a column held: the next batch is likely to need as much, and growing costs a copy each time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Room {
    values: usize,
    bytes: usize,
}

/// One batch of huge texts is no reason to set as much aside for the next.
const MOST_ROOM: usize = 16 << 20;

impl Builder {
    /// What the column holds now.
    pub fn room(&self) -> Room {
        match self {
            Builder::Scalar { values, .. } => values.room(),
            _ => Room::default(),
        }
    }

    pub fn new(shape: &Shape, room: Room) -> Builder {
        match *shape {
            Shape::Scalar(kind) => Builder::Scalar {
                kind,
                wire_type: wire_type_of(kind),
                values: Values::with_room(kind, room),
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
                    .map(|column| Builder::new(&column.shape, Room::default()))
                    .collect(),
                rows: 0,
            },
        }
    }

    /// Reads one field into `place`; a wire type that the field cannot have is skipped, as Protobuf wants it.
    #[inline(always)]
    pub fn read(&mut self, place: usize, number: u32, wire_type: WireType, reader: &mut Reader) -> Result<(), Fault> {
        match self {
            Builder::Scalar {
                kind,
                wire_type: own,
                values,
                sparse,
            } if wire_type == *own => {
                if sparse.is_some() || values.len() != place {
                    make_room(values, sparse, place);
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

    /// Writes a text into `place` of a text column.
    pub fn set_text(&mut self, place: usize, text: &str) {
        if let Builder::Scalar {
            values: values @ Values::Spans(_),
            sparse,
            ..
        } = self
        {
            make_room(values, sparse, place);
            if let Values::Spans(spans) = values {
                spans.push(text.as_bytes());
            }
            if let Some(places) = sparse {
                places.push(place as u32);
            }
        }
    }

    /// Takes back everything from `place` on.
    pub fn truncate(&mut self, place: usize) {
        match self {
            Builder::Scalar { values, sparse, .. } => take_back(values, sparse, place),
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

    /// The finished column, with a row for each of the batch's.
    pub fn finish(self, places: &Places, nulls: &mut Nulls) -> ArrayRef {
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
                let within = Places::all(items);
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

fn finish_scalar(kind: Kind, values: Values, sparse: Option<Vec<u32>>, places: &Places, nulls: &mut Nulls) -> ArrayRef {
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

/// Columns without a value, made once for each type and length: most columns of a batch are such, and share the memory.
#[derive(Default)]
pub struct Nulls {
    made: HashMap<(DataType, usize), ArrayRef>,
}

impl Nulls {
    fn column(&mut self, of: DataType, rows: usize) -> ArrayRef {
        let made = self.made.entry((of, rows));
        made.or_insert_with_key(|(of, rows)| new_null_array(of, *rows)).clone()
    }
}

/// Prepares for a value in `place`: one that is there is forgotten, and a column with gaps notes its places from now on.
#[inline(never)]
fn make_room(values: &mut Values, sparse: &mut Option<Vec<u32>>, place: usize) {
    take_back(values, sparse, place);
    if sparse.is_none() && values.len() < place {
        *sparse = Some((0..values.len() as u32).collect());
    }
}

/// Forgets the values from `place` on; only the last value can be of such a place.
fn take_back(values: &mut Values, sparse: &mut Option<Vec<u32>>, place: usize) {
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

/// Which of the rows have a value.
fn presence(filled: &[u32], rows: usize) -> NullBuffer {
    let mut bits = MutableBuffer::from_len_zeroed(rows.div_ceil(8));
    for row in filled {
        bit_util::set_bit(&mut bits, *row as usize);
    }
    NullBuffer::new(BooleanBuffer::new(bits.into(), 0, rows))
}

/// Ends at the rows they belong to; a row between ends where the one before it does.
fn spread_ends(ends: &[i32], filled: &[u32], rows: usize) -> Vec<i32> {
    let mut all = Vec::with_capacity(rows);
    let mut end = 0;
    for (row, own_end) in filled.iter().zip(ends) {
        all.resize(*row as usize, end);
        end = *own_end;
        all.push(end);
    }
    all.resize(rows, end);
    all
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

fn last_end(ends: &[i32]) -> usize {
    ends.last().map_or(0, |end| *end as usize)
}

fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend(ends);
    OffsetBuffer::new(ScalarBuffer::from(all))
}

fn read_nested(nested: &Nested, columns: &mut [Builder], row: usize, body: &[u8]) -> Result<(), Fault> {
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

fn map_entry(bytes: &[u8]) -> Result<(&str, &str), Fault> {
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

/// Entries in the order of their keys; of a key that is there twice the later one counts, as Protobuf wants it.
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

/// Values of one type, one behind the other.
#[derive(Debug)]
pub enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Uint32(Vec<u32>),
    Uint64(Vec<u64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Spans(Spans),
}

/// Does the same to the values of whichever type.
macro_rules! of_any_type {
    ($values:expr, $vector:ident => $vectors:expr, $spans:ident => $other:expr) => {
        match $values {
            Values::Int32($vector) => $vectors,
            Values::Int64($vector) => $vectors,
            Values::Uint32($vector) => $vectors,
            Values::Uint64($vector) => $vectors,
            Values::Float($vector) => $vectors,
            Values::Double($vector) => $vectors,
            Values::Bool($vector) => $vectors,
            Values::Spans($spans) => $other,
        }
    };
}

impl Values {
    fn new(kind: Kind) -> Values {
        Values::with_room(kind, Room::default())
    }

    fn with_room(kind: Kind, room: Room) -> Values {
        match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Values::Int32(Vec::with_capacity(room.values)),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Values::Int64(Vec::with_capacity(room.values)),
            Kind::Uint32 | Kind::Fixed32 => Values::Uint32(Vec::with_capacity(room.values)),
            Kind::Uint64 | Kind::Fixed64 => Values::Uint64(Vec::with_capacity(room.values)),
            Kind::Float => Values::Float(Vec::with_capacity(room.values)),
            Kind::Double => Values::Double(Vec::with_capacity(room.values)),
            Kind::Bool => Values::Bool(Vec::with_capacity(room.values)),
            Kind::Text | Kind::Binary => Values::Spans(Spans {
                ends: Vec::with_capacity(room.values),
                bytes: Vec::with_capacity(room.bytes),
            }),
        }
    }

    fn room(&self) -> Room {
        Room {
            values: self.len(),
            bytes: of_any_type!(self, _vector => 0, spans => spans.bytes.len().min(MOST_ROOM)),
        }
    }

    fn len(&self) -> usize {
        of_any_type!(self, vector => vector.len(), spans => spans.len())
    }

    fn truncate(&mut self, length: usize) {
        of_any_type!(self, vector => vector.truncate(length), spans => spans.truncate(length));
    }

    /// The values at the rows they belong to, and zeros between.
    fn spread(self, filled: &[u32], rows: usize) -> Values {
        match self {
            Values::Int32(values) => Values::Int32(spread(&values, filled, rows)),
            Values::Int64(values) => Values::Int64(spread(&values, filled, rows)),
            Values::Uint32(values) => Values::Uint32(spread(&values, filled, rows)),
            Values::Uint64(values) => Values::Uint64(spread(&values, filled, rows)),
            Values::Float(values) => Values::Float(spread(&values, filled, rows)),
            Values::Double(values) => Values::Double(spread(&values, filled, rows)),
            Values::Bool(values) => Values::Bool(spread(&values, filled, rows)),
            Values::Spans(spans) => Values::Spans(spans.spread(filled, rows)),
        }
    }

    #[inline(always)]
    fn push(&mut self, kind: Kind, reader: &mut Reader) -> Result<(), Fault> {
        match self {
            // Protobuf keeps the low 32 bits of a longer number.
            Values::Int32(values) => values.push(match kind {
                Kind::Sint32 => zigzag(u64::from(reader.varint()? as u32)) as i32,
                Kind::Sfixed32 => i32::from_le_bytes(reader.fixed32()?),
                _ => reader.varint()? as i32,
            }),
            Values::Int64(values) => values.push(match kind {
                Kind::Sint64 => zigzag(reader.varint()?),
                Kind::Sfixed64 => i64::from_le_bytes(reader.fixed64()?),
                _ => reader.varint()? as i64,
            }),
            Values::Uint32(values) => values.push(match kind {
                Kind::Fixed32 => u32::from_le_bytes(reader.fixed32()?),
                _ => reader.varint()? as u32,
            }),
            Values::Uint64(values) => values.push(match kind {
                Kind::Fixed64 => u64::from_le_bytes(reader.fixed64()?),
                _ => reader.varint()?,
            }),
            Values::Float(values) => values.push(f32::from_le_bytes(reader.fixed32()?)),
            Values::Double(values) => values.push(f64::from_le_bytes(reader.fixed64()?)),
            Values::Bool(values) => values.push(reader.varint()? != 0),
            Values::Spans(spans) if kind == Kind::Text => spans.push_piece(reader.text_piece()?),
            Values::Spans(spans) => spans.push_piece(reader.piece()?),
        }
        Ok(())
    }

    fn finish(self, kind: Kind, nulls: Option<NullBuffer>) -> ArrayRef {
        match self {
            Values::Int32(values) => numbers::<Int32Type>(values, nulls),
            Values::Int64(values) => numbers::<Int64Type>(values, nulls),
            Values::Uint32(values) => numbers::<UInt32Type>(values, nulls),
            Values::Uint64(values) => numbers::<UInt64Type>(values, nulls),
            Values::Float(values) => numbers::<Float32Type>(values, nulls),
            Values::Double(values) => numbers::<Float64Type>(values, nulls),
            Values::Bool(values) => Arc::new(BooleanArray::new(values.into(), nulls)),
            Values::Spans(spans) => spans.finish(kind, nulls),
        }
    }
}

fn spread<T: Copy + Default>(values: &[T], filled: &[u32], rows: usize) -> Vec<T> {
    let mut all = vec![T::default(); rows];
    for (value, row) in values.iter().zip(filled) {
        all[*row as usize] = *value;
    }
    all
}

fn numbers<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

fn zigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Pieces of one buffer. A batch is capped below 2 GiB, so that an end always fits (see `facts::MAX_BYTES`).
#[derive(Debug, Default)]
pub struct Spans {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Spans {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    #[inline]
    fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len() as i32);
    }

    #[inline]
    fn push_piece(&mut self, piece: Piece<'_>) {
        piece.append_to(&mut self.bytes);
        self.ends.push(self.bytes.len() as i32);
    }

    fn spread(self, filled: &[u32], rows: usize) -> Spans {
        Spans {
            ends: spread_ends(&self.ends, filled, rows),
            bytes: self.bytes,
        }
    }

    fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.bytes.truncate(last_end(&self.ends));
    }

    fn finish(self, kind: Kind, nulls: Option<NullBuffer>) -> ArrayRef {
        let (offsets, bytes) = (offsets(self.ends), Buffer::from_vec(self.bytes));
        match kind {
            Kind::Text => Arc::new(StringArray::new(offsets, bytes, nulls)),
            _ => Arc::new(BinaryArray::new(offsets, bytes, nulls)),
        }
    }
}
