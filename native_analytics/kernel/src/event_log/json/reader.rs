//! Reads JSON values in place. A reader is a line and the position of the next byte.

use std::borrow::Cow;

use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::scan;
use crate::event_log::json::text;

/// A position in a line.
pub struct Reader<'a> {
    pub line: &'a [u8],
    pub at: usize,
}

/// The byte range of a JSON string's content in its line.
pub struct Quoted {
    pub from: usize,
    pub to: usize,
    escaped: bool,
}

impl Quoted {
    /// Returns the content of the string with escapes resolved, borrowed from the line if there are no escapes.
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
    pub fn fail<T>(&self, what: &'static str) -> Result<T, LineError> {
        Err(LineError::new(self.at, what))
    }

    /// Returns an error unless only white space follows in the line.
    #[inline]
    pub fn expect_line_end(&self) -> Result<(), LineError> {
        match self.line.get(self.at..) {
            Some(rest) if !rest.iter().all(u8::is_ascii_whitespace) => self.fail(error::TRAILING_BYTES),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    pub fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Reads the string at the reader's position; it must begin with a quote.
    #[inline]
    pub fn string(&mut self) -> Result<Quoted, LineError> {
        if self.peek() != b'"' {
            return self.fail(error::NO_KEY);
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
            None => self.fail(error::UNTERMINATED_STRING),
        }
    }

    #[inline]
    pub fn skip(&mut self) -> Result<(), LineError> {
        let end = match self.peek() {
            b'"' => scan::skip_string(self.line, self.at + 1),
            b'{' => scan::skip_container(self.line, self.at + 1, b'{', b'}'),
            b'[' => scan::skip_container(self.line, self.at + 1, b'[', b']'),
            // `N` and `I` are the first letters of NaN and Infinity, which Python and Jackson write.
            b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'I' => {
                let rest = &self.line[self.at..];
                // Stop at a byte that is not part of a number or word, so that two lines that ran together are an
                // error.
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let length = rest.iter().position(|byte| !is_part(byte));
                Some(self.at + length.unwrap_or(rest.len()))
            }
            _ => return self.fail(error::NO_VALUE),
        };
        match end {
            Some(end) => {
                self.at = end;
                Ok(())
            }
            None => self.fail(error::UNTERMINATED_CONTAINER),
        }
    }

    /// Reads an integer. Returns `None` for null and for any value that is not a 64-bit integer. Each value that is
    /// neither null nor a 64-bit integer adds one to `odd`.
    #[inline(always)]
    pub fn number(&mut self, odd: &mut u64) -> Result<Option<i64>, LineError> {
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
        // 18 digits always fit. The next byte decides whether the number is an integer.
        if end > from && end - from <= 18 && matches!(self.line.get(end), Some(b',' | b'}' | b']')) {
            self.at = end;
            return Ok(Some(if negative { -(value as i64) } else { value as i64 }));
        }
        self.unusual_number(odd)
    }

    /// Reads null, and integers that are in strings, have fractions or exponents, or have 19 or more digits.
    #[cold]
    fn unusual_number(&mut self, odd: &mut u64) -> Result<Option<i64>, LineError> {
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

    /// Reads a key and its colon.
    pub fn key(&mut self) -> Result<Cow<'a, [u8]>, LineError> {
        let quoted = self.string()?;
        self.space();
        if self.peek() != b':' {
            return self.fail(error::NO_COLON);
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
