//! Reads the frequent events by guessing: a shape lists the keys of an object in the order in which Spark writes them,
//! so that the next key is nearly always known and costs one comparison. Other orders and unknown keys are found by a search.

use std::borrow::Cow;

use super::fault::{self, Fault};
use super::scan;
use super::text;

/// Slots of numbers and flags in a row; their presence is one bit each.
pub const NUMBERS: usize = 64;
/// Slots of texts in a row.
pub const TEXTS: usize = 16;

const WORD: usize = 16;
const WORDS: usize = 3;

/// A key with its quotes and colon, as words that are compared without a call.
#[derive(Clone, Copy)]
pub struct Key {
    text: &'static [u8],
    words: [u128; WORDS],
    masks: [u128; WORDS],
    used: usize,
}

impl Key {
    pub const fn new(text: &'static [u8]) -> Key {
        assert!(text.len() <= WORD * WORDS);
        let mut words = [0u128; WORDS];
        let mut masks = [0u128; WORDS];
        let mut place = 0;
        while place < text.len() {
            words[place / WORD] |= (text[place] as u128) << (8 * (place % WORD));
            masks[place / WORD] |= 0xff_u128 << (8 * (place % WORD));
            place += 1;
        }
        Key {
            text,
            words,
            masks,
            used: text.len().div_ceil(WORD),
        }
    }

    #[inline(always)]
    fn begins(&self, line: &[u8], at: usize) -> bool {
        match line.get(at..at + WORD * WORDS) {
            Some(window) => {
                let word = |index: usize| {
                    let bytes: [u8; WORD] = window[index * WORD..(index + 1) * WORD].try_into().unwrap_or([0; WORD]);
                    u128::from_le_bytes(bytes)
                };
                (word(0) ^ self.words[0]) & self.masks[0] == 0
                    && (self.used < 2 || (word(1) ^ self.words[1]) & self.masks[1] == 0)
                    && (self.used < 3 || (word(2) ^ self.words[2]) & self.masks[2] == 0)
            }
            None => line.get(at..).is_some_and(|rest| rest.starts_with(self.text)),
        }
    }
}

/// What to do with a member's value; numbers name the slot.
#[derive(Clone, Copy)]
pub enum Kind {
    Number(u8),
    Flag(u8),
    Text(u8),
    /// An object; the flag, if any, says that it was there.
    Object(&'static [Member], Option<u8>),
    /// Any value, kept as the bytes it has.
    Span(u8),
    Skip,
}

#[derive(Clone, Copy)]
pub struct Member {
    pub key: Key,
    pub kind: Kind,
}

/// Members of an object in Spark's order: `shape! { "Stage ID" => Kind::Number(0), ... }`.
macro_rules! shape {
    ($($key:literal => $kind:expr),* $(,)?) => {
        &[$($crate::event_log::shape::Member {
            key: $crate::event_log::shape::Key::new(concat!("\"", $key, "\":").as_bytes()),
            kind: $kind,
        }),*]
    };
}
pub(crate) use shape;

/// What one event said, by slot. Texts are places in the line.
#[derive(Clone)]
pub struct Row {
    numbers: [i64; NUMBERS],
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

    /// Whatever is in the slot: only to be read together with `present`.
    #[inline(always)]
    pub fn raw_number(&self, slot: usize) -> i64 {
        self.numbers[slot]
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
    fn put_text(&mut self, slot: u8, from: usize, to: usize) {
        // A line is shorter than 4 GiB: `Limits::line` is a u32.
        self.texts[slot as usize] = (from as u32, to as u32);
        self.texts_present |= 1 << slot;
    }
}

/// A place in a line.
pub struct Reader<'a> {
    pub line: &'a [u8],
    pub at: usize,
}

/// Where the content of a JSON string stands in the line.
pub struct Quoted {
    pub from: usize,
    pub to: usize,
    escaped: bool,
}

impl Quoted {
    /// The content with its escapes resolved; borrowed when there are none.
    pub fn resolved<'a>(&self, line: &'a [u8]) -> Cow<'a, [u8]> {
        let raw = &line[self.from..self.to];
        match self.escaped {
            false => Cow::Borrowed(raw),
            true => Cow::Owned(text::resolved(raw)),
        }
    }
}

impl<'a> Reader<'a> {
    #[inline(always)]
    pub fn peek(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub fn fail<T>(&self, what: &'static str) -> Result<T, Fault> {
        Err(Fault::new(self.at, what))
    }

    #[inline(always)]
    pub fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// At an opening quote: the content's place.
    #[inline]
    pub fn string(&mut self) -> Result<Quoted, Fault> {
        if self.peek() != b'"' {
            return self.fail(fault::NO_KEY);
        }
        let from = self.at + 1;
        match scan::string_end(self.line, from) {
            Some((end, escaped)) => {
                self.at = end;
                Ok(Quoted {
                    from,
                    to: end - 1,
                    escaped,
                })
            }
            None => self.fail(fault::OPEN_STRING),
        }
    }

    #[inline]
    pub fn skip(&mut self) -> Result<(), Fault> {
        let end = match self.peek() {
            b'"' => scan::skip_string(self.line, self.at + 1),
            b'{' => scan::skip_container(self.line, self.at + 1, b'{', b'}'),
            b'[' => scan::skip_container(self.line, self.at + 1, b'[', b']'),
            // N and I: Python's and Jackson's NaN and Infinity.
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I' => {
                let rest = &self.line[self.at..];
                // Stops at whatever is no part of a number or word: where two lines ran into each other, that is a fault.
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let length = rest.iter().position(|byte| !is_part(byte));
                Some(self.at + length.unwrap_or(rest.len()))
            }
            _ => return self.fail(fault::NO_VALUE),
        };
        match end {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => self.fail(fault::OPEN_CONTAINER),
        }
    }

    /// A number; none for null and for what is no number or does not fit, which `odd` then counts.
    #[inline(always)]
    pub fn number(&mut self, odd: &mut u64) -> Result<Option<i64>, Fault> {
        let negative = self.peek() == b'-';
        let from = self.at + usize::from(negative);
        let mut end = from;
        let mut value = 0u64;
        while let Some(&byte) = self.line.get(end) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            end += 1;
        }
        // 18 digits always fit. What follows decides whether it was a whole number.
        if end > from && end - from <= 18 && matches!(self.line.get(end), Some(b',' | b'}' | b']')) {
            self.at = end;
            return Ok(Some(if negative { -(value as i64) } else { value as i64 }));
        }
        self.unusual_number(odd)
    }

    /// Numbers in strings, with fractions or exponents, with 19 digits and more; null.
    #[cold]
    fn unusual_number(&mut self, odd: &mut u64) -> Result<Option<i64>, Fault> {
        let from = self.at;
        self.skip()?;
        let value = &self.line[from..self.at];
        if value == b"null" {
            return Ok(None);
        }
        let digits = value
            .strip_prefix(b"\"")
            .and_then(|inner| inner.strip_suffix(b"\""))
            .unwrap_or(value);
        let number = std::str::from_utf8(digits).ok().map(str::trim).and_then(whole);
        *odd += u64::from(number.is_none());
        Ok(number)
    }

    /// Just behind the opening brace of an object.
    #[inline]
    pub fn object(&mut self, shape: &'static [Member], row: &mut Row) -> Result<(), Fault> {
        self.space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        self.members(shape, row)
    }

    /// At the first key of the members still to read, up to the closing brace.
    #[inline(always)]
    pub fn members(&mut self, shape: &'static [Member], row: &mut Row) -> Result<(), Fault> {
        let mut next = 0usize;
        loop {
            let kind = match shape.get(next) {
                Some(member) if member.key.begins(self.line, self.at) => {
                    self.at += member.key.text.len();
                    next += 1;
                    member.kind
                }
                _ => self.search(shape, &mut next)?,
            };
            if self.peek() <= b' ' {
                self.space();
            }
            self.value(kind, row)?;
            if self.peek() <= b' ' {
                self.space();
            }
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.fail(fault::NO_COMMA),
            }
            if self.peek() <= b' ' {
                self.space();
            }
        }
    }

    #[inline(always)]
    fn value(&mut self, kind: Kind, row: &mut Row) -> Result<(), Fault> {
        match kind {
            Kind::Number(slot) => {
                if let Some(value) = self.number(&mut row.odd_values)? {
                    row.put(slot, value);
                }
            }
            Kind::Text(slot) if self.peek() == b'"' => {
                let Quoted { from, to, .. } = self.string()?;
                row.put_text(slot, from, to);
            }
            Kind::Object(members, there) if self.peek() == b'{' => {
                self.at += 1;
                if let Some(slot) = there {
                    row.put(slot, 1);
                }
                self.object(members, row)?;
            }
            Kind::Flag(slot) => {
                let from = self.at;
                self.skip()?;
                match &self.line[from..self.at] {
                    b"true" | b"\"true\"" => row.put(slot, 1),
                    b"false" | b"\"false\"" => row.put(slot, 0),
                    _ => {}
                }
            }
            Kind::Span(slot) => {
                let from = self.at;
                self.skip()?;
                row.put_text(slot, from, self.at);
            }
            Kind::Text(_) | Kind::Object(..) | Kind::Skip => self.skip()?,
        }
        Ok(())
    }

    /// A key that was not the guessed one: reads it and its colon, and looks for it in the whole shape.
    #[inline(never)]
    fn search(&mut self, shape: &'static [Member], next: &mut usize) -> Result<Kind, Fault> {
        let key = self.key()?;
        let found = (0..shape.len()).map(|step| (*next + step) % shape.len()).find(|place| {
            let known = shape[*place].key.text;
            known[1..known.len() - 2] == *key
        });
        Ok(match found {
            Some(place) => {
                *next = place + 1;
                shape[place].kind
            }
            None => Kind::Skip,
        })
    }

    /// A key and its colon.
    pub fn key(&mut self) -> Result<Cow<'a, [u8]>, Fault> {
        let quoted = self.string()?;
        self.space();
        if self.peek() != b':' {
            return self.fail(fault::NO_COLON);
        }
        self.at += 1;
        Ok(quoted.resolved(self.line))
    }
}

fn whole(text: &str) -> Option<i64> {
    const LIMIT: f64 = 9.2e18;
    text.parse::<i64>().ok().or_else(|| {
        let number = text.parse::<f64>().ok()?;
        (number.abs() < LIMIT).then_some(number as i64)
    })
}
