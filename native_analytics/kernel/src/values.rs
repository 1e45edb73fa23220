//! The values of one column, and their conversion to Arrow arrays.

use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::row_selection::{last_end, spread_ends};
use crate::schema::Kind;
use crate::wire::{Piece, Reader, WireError};

/// The capacity that a column used in the last batch. The next batch probably needs as much, and a buffer that grows
/// must copy its values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Capacity {
    values: usize,
    bytes: usize,
}

/// Maximum number of bytes that are reserved in advance, so that after one batch of large texts the next batch does not
/// reserve as much.
const MAX_CAPACITY_BYTES: usize = 16 << 20;

/// Values of one type, in one buffer.
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

/// Evaluates an expression for values of any type.
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
    pub fn new(kind: Kind) -> Values {
        Values::with_capacity(kind, Capacity::default())
    }

    pub fn with_capacity(kind: Kind, capacity: Capacity) -> Values {
        match kind {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Values::Int32(Vec::with_capacity(capacity.values)),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Values::Int64(Vec::with_capacity(capacity.values)),
            Kind::Uint32 | Kind::Fixed32 => Values::Uint32(Vec::with_capacity(capacity.values)),
            Kind::Uint64 | Kind::Fixed64 => Values::Uint64(Vec::with_capacity(capacity.values)),
            Kind::Float => Values::Float(Vec::with_capacity(capacity.values)),
            Kind::Double => Values::Double(Vec::with_capacity(capacity.values)),
            Kind::Bool => Values::Bool(Vec::with_capacity(capacity.values)),
            Kind::Text | Kind::Binary => Values::Spans(Spans {
                ends: Vec::with_capacity(capacity.values),
                bytes: Vec::with_capacity(capacity.bytes),
            }),
        }
    }

    pub fn capacity(&self) -> Capacity {
        Capacity {
            values: self.len(),
            bytes: of_any_type!(self, _vector => 0, spans => spans.bytes.len().min(MAX_CAPACITY_BYTES)),
        }
    }

    pub(crate) fn len(&self) -> usize {
        of_any_type!(self, vector => vector.len(), spans => spans.len())
    }

    pub fn truncate(&mut self, length: usize) {
        of_any_type!(self, vector => vector.truncate(length), spans => spans.truncate(length));
    }

    /// Moves the values to their rows; the other rows contain zero.
    pub fn spread(self, filled: &[u32], rows: usize) -> Values {
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
    pub fn push(&mut self, kind: Kind, reader: &mut Reader) -> Result<(), WireError> {
        match self {
            // As Protobuf specifies, only the low 32 bits of a longer number are used.
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

    pub fn finish(self, kind: Kind, nulls: Option<NullBuffer>) -> ArrayRef {
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

pub fn spread<T: Copy + Default>(values: &[T], filled: &[u32], rows: usize) -> Vec<T> {
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

/// Texts or byte strings in one buffer. A batch is smaller than 2 GiB, so the end of each text fits into 32 bits (see
/// `facts::MAX_BYTES`).
#[derive(Debug, Default)]
pub struct Spans {
    ends: Vec<i32>,
    bytes: Vec<u8>,
}

impl Spans {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.bytes[start..self.ends[index] as usize]
    }

    #[inline]
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes.extend_from_slice(piece);
        self.ends.push(self.bytes.len() as i32);
    }

    #[inline]
    pub fn push_piece(&mut self, piece: Piece<'_>) {
        piece.append_to(&mut self.bytes);
        self.ends.push(self.bytes.len() as i32);
    }

    pub fn spread(self, filled: &[u32], rows: usize) -> Spans {
        Spans {
            ends: spread_ends(&self.ends, filled, rows),
            bytes: self.bytes,
        }
    }

    pub fn truncate(&mut self, length: usize) {
        self.ends.truncate(length);
        self.bytes.truncate(last_end(&self.ends));
    }

    pub fn finish(self, kind: Kind, nulls: Option<NullBuffer>) -> ArrayRef {
        let (offsets, bytes) = (offsets(self.ends), Buffer::from_vec(self.bytes));
        match kind {
            Kind::Text => Arc::new(StringArray::new(offsets, bytes, nulls)),
            _ => Arc::new(BinaryArray::new(offsets, bytes, nulls)),
        }
    }
}

pub fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    let mut all = Vec::with_capacity(ends.len() + 1);
    all.push(0);
    all.extend(ends);
    OffsetBuffer::new(ScalarBuffer::from(all))
}
