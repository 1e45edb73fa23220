//! A row: the values of one task event, by slot.

/// Number of slots for numbers and flags in a row. At most 64 are possible, because each slot has one bit of `present`.
pub const NUMBERS: usize = 40;
/// Number of slots for texts in a row.
pub const TEXTS: usize = 16;

/// All number slots of a row, including those without a value.
pub type Numbers = [i64; NUMBERS];

/// The values of one event by slot. Texts are byte ranges of the line.
#[derive(Clone)]
pub struct Row {
    numbers: Numbers,
    present: u64,
    texts: [(u32, u32); TEXTS],
    texts_present: u16,
    /// Number of values that are not a 64-bit integer.
    pub odd_values: u64,
}

impl Default for Row {
    fn default() -> Row {
        Row {
            numbers: [0; NUMBERS],
            present: 0,
            texts: [(0, 0); TEXTS],
            texts_present: 0,
            odd_values: 0,
        }
    }
}

impl Row {
    #[inline(always)]
    pub fn clear(&mut self) {
        self.present = 0;
        self.texts_present = 0;
        self.odd_values = 0;
    }

    /// Returns the number in a slot; `None` if it is absent.
    #[inline(always)]
    pub fn number(&self, slot: u8) -> Option<i64> {
        self.has(slot).then(|| self.numbers[slot as usize])
    }

    /// Returns the number in a slot; 0 if it is absent.
    #[inline(always)]
    pub fn number_or_zero(&self, slot: u8) -> i64 {
        self.numbers[slot as usize] & -i64::from(self.has(slot))
    }

    /// Returns all number slots. A slot holds a value only if the slot's bit in `present` is set.
    #[inline(always)]
    pub fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    #[inline(always)]
    pub fn present(&self) -> u64 {
        self.present
    }

    #[inline(always)]
    pub fn has(&self, slot: u8) -> bool {
        self.present >> slot & 1 == 1
    }

    #[inline(always)]
    pub fn put(&mut self, slot: u8, value: i64) {
        self.numbers[slot as usize] = value;
        self.present |= 1 << slot;
    }

    #[inline(always)]
    pub fn text<'a>(&self, line: &'a [u8], slot: u8) -> Option<&'a [u8]> {
        if self.texts_present >> slot & 1 == 0 {
            return None;
        }
        let (from, to) = self.texts[slot as usize];
        line.get(from as usize..to as usize)
    }

    #[inline(always)]
    pub fn put_text(&mut self, slot: u8, from: usize, to: usize) {
        // A line is shorter than 4 GiB, because `Limits::line_bytes` is a u32.
        self.texts[slot as usize] = (from as u32, to as u32);
        self.texts_present |= 1 << slot;
    }
}
