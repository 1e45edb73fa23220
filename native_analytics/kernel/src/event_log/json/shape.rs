//! Reads objects whose keys usually come in a known order.
//!
//! A shape lists the keys in the order in which Spark writes them, so that the next key is found by one comparison.
//! If keys come in another order, or are unknown, the whole shape is searched.

use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::reader::{Quoted, Reader};
use crate::event_log::json::row::Row;

const WORD: usize = 16;
const WORDS: usize = 3;

/// A key with its quotes and colon, stored as words that can be compared with a mask.
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

/// What to do with a member's value. The number is the slot that stores the value.
#[derive(Clone, Copy)]
pub enum Kind {
    Number(u8),
    Flag(u8),
    Text(u8),
    /// An object. The flag, if any, is set when the object is present.
    Object(&'static [Member], Option<u8>),
    /// Any value, stored as its byte range in the line.
    Span(u8),
    Skip,
}

#[derive(Clone, Copy)]
pub struct Member {
    pub key: Key,
    pub kind: Kind,
}

/// The members of an object in Spark's order: `shape! { "Stage ID" => Kind::Number(0), ... }`.
macro_rules! shape {
    ($($key:literal => $kind:expr),* $(,)?) => {
        &[$($crate::event_log::json::shape::Member {
            key: $crate::event_log::json::shape::Key::new(concat!("\"", $key, "\":").as_bytes()),
            kind: $kind,
        }),*]
    };
}
pub(crate) use shape;

impl Reader<'_> {
    /// Reads an object after its opening brace.
    #[inline]
    pub fn object(&mut self, shape: &'static [Member], row: &mut Row) -> Result<(), LineError> {
        self.space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        self.members(shape, row)
    }

    /// Reads the members from the first key up to the closing brace.
    #[inline(always)]
    pub fn members(&mut self, shape: &'static [Member], row: &mut Row) -> Result<(), LineError> {
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
                _ => return self.fail(error::NO_COMMA),
            }
            if self.peek() <= b' ' {
                self.space();
            }
        }
    }

    #[inline(always)]
    fn value(&mut self, kind: Kind, row: &mut Row) -> Result<(), LineError> {
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

    /// Reads a key that is not the expected one, and searches the shape for it.
    #[inline(never)]
    fn search(&mut self, shape: &'static [Member], next: &mut usize) -> Result<Kind, LineError> {
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
}
