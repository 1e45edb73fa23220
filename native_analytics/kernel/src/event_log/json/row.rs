//! What one frequent event said.

/// Slots of numbers and flags in a row; their presence is one bit each, so 64 would be the most.
pub const NUMBERS: usize = 40;
/// Slots of texts in a row.
pub const TEXTS: usize = 16;

/// The numbers of a row by slot, whether they are present or not.
pub type Numbers = [i64; NUMBERS];

/// What one event said, by slot. Texts are places in the line.
#[derive(Clone)]
pub struct Row {
    numbers: Numbers,
    present: u64,
    texts: [(u32, u32); TEXTS],
    texts_present: u16,
    /// Numbers that were none, or did not fit into 64 bits.
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

    /// The number, or none.
    #[inline(always)]
    pub fn number(&self, slot: u8) -> Option<i64> {
        self.has(slot).then(|| self.numbers[slot as usize])
    }

    /// The number, 0 when absent.
    #[inline(always)]
    pub fn number_or_zero(&self, slot: u8) -> i64 {
        self.numbers[slot as usize] & -i64::from(self.has(slot))
    }

    /// Whatever is in the slots: only to be read together with `present`.
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
        // A line is shorter than 4 GiB: `Limits::line` is a u32.
        self.texts[slot as usize] = (from as u32, to as u32);
        self.texts_present |= 1 << slot;
    }
}
