//! Maps the positions of values within a group of columns to the rows of a batch that have the group.

use arrow_buffer::{BooleanBuffer, MutableBuffer, NullBuffer, bit_util};

/// The rows of a batch that have a group of columns.
pub struct RowSelection {
    /// The row of each position; `None` if every row has the group, so that position and row are equal.
    pub rows: Option<Vec<u32>>,
    /// Which rows have the group.
    pub presence: Option<NullBuffer>,
    pub count: usize,
}

impl RowSelection {
    /// Selects every row.
    pub fn all(count: usize) -> RowSelection {
        RowSelection {
            rows: None,
            presence: None,
            count,
        }
    }

    /// Selects these rows, which are in ascending order, out of `count` rows.
    pub fn of(rows: Vec<u32>, count: usize) -> RowSelection {
        if rows.len() == count {
            return RowSelection::all(count);
        }
        let presence = presence(&rows, count);
        RowSelection {
            rows: Some(rows),
            presence: Some(presence),
            count,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.as_ref().map_or(self.count, Vec::len)
    }

    pub fn row(&self, place: usize) -> u32 {
        self.rows.as_ref().map_or(place as u32, |rows| rows[place])
    }

    /// Converts the ends of lists: takes one end for each position, and returns one end for each row.
    pub fn spread_ends(&self, mut ends: Vec<i32>) -> Vec<i32> {
        ends.resize(self.len(), last_end(&ends) as i32);
        match &self.rows {
            None => ends,
            Some(rows) => spread_ends(&ends, rows, self.count),
        }
    }
}

/// Returns a bitmap that marks the rows in `filled`, which have a value.
pub fn presence(filled: &[u32], rows: usize) -> NullBuffer {
    let mut bits = MutableBuffer::from_len_zeroed(rows.div_ceil(8));
    for row in filled {
        bit_util::set_bit(&mut bits, *row as usize);
    }
    NullBuffer::new(BooleanBuffer::new(bits.into(), 0, rows))
}

/// Returns the end of each row's list; a row that is not in `filled` has an empty list.
pub fn spread_ends(ends: &[i32], filled: &[u32], rows: usize) -> Vec<i32> {
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

pub fn last_end(ends: &[i32]) -> usize {
    ends.last().map_or(0, |end| *end as usize)
}
