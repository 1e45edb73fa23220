//! Reads objects and arrays member by member. If the visitor does not read a value, the value is skipped.

use std::borrow::Cow;

use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::reader::Reader;
use crate::event_log::json::scan;
use crate::event_log::json::text::as_text;

impl<'a> Reader<'a> {
    /// Visits the members of the object that begins at the reader's position. A value that is not an object is skipped.
    pub fn each_member(
        &mut self,
        mut visit: impl FnMut(&mut Reader<'a>, &[u8]) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        if self.peek() != b'{' {
            return self.skip();
        }
        self.at += 1;
        self.space();
        if self.peek() == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            self.space();
            let value = self.at;
            visit(self, &key)?;
            if self.at == value {
                self.skip()?;
            }
            if !self.comma_or(b'}')? {
                return Ok(());
            }
        }
    }

    /// Visits the members of an object that must end the line: bytes after the object mean that two lines ran together.
    pub fn each_member_of_line(
        &mut self,
        visit: impl FnMut(&mut Reader<'a>, &[u8]) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        self.each_member(visit)?;
        self.expect_line_end()
    }

    /// Skips the object that begins at the reader's position and checks that the line ends with it.
    pub fn skip_line(&mut self) -> Result<(), LineError> {
        self.at = scan::skip_container(self.line, self.at + 1, b'{', b'}')
            .ok_or(LineError::new(self.line.len(), error::UNTERMINATED_CONTAINER))?;
        self.expect_line_end()
    }

    /// Skips the remaining members of an object after a member's value, so that `each_member` ends.
    /// Only the balance of brackets is checked.
    pub fn skip_remaining_members(&mut self) -> Result<(), LineError> {
        match scan::skip_container(self.line, self.at, b'{', b'}') {
            Some(end) => {
                self.at = end - 1;
                Ok(())
            }
            None => self.fail(error::UNTERMINATED_CONTAINER),
        }
    }

    /// Visits the elements of the array that begins at the reader's position. A value that is not an array is skipped.
    pub fn each_element(
        &mut self,
        mut visit: impl FnMut(&mut Reader<'a>) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        if self.peek() != b'[' {
            return self.skip();
        }
        self.at += 1;
        self.space();
        if self.peek() == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            let value = self.at;
            visit(self)?;
            if self.at == value {
                self.skip()?;
            }
            if !self.comma_or(b']')? {
                return Ok(());
            }
        }
    }

    /// Reads the comma or closing bracket after a value. Returns true if it is a comma.
    fn comma_or(&mut self, close: u8) -> Result<bool, LineError> {
        self.space();
        let byte = self.peek();
        if byte != b',' && byte != close {
            return self.fail(error::NO_COMMA);
        }
        self.at += 1;
        if byte == b',' {
            self.space();
        }
        Ok(byte == b',')
    }

    /// Reads the string at the reader's position; `None` for any other value.
    pub fn text_value(&mut self) -> Result<Option<String>, LineError> {
        Ok(self.borrowed_text()?.map(Cow::into_owned))
    }

    /// Reads the string at the reader's position, borrowed from the line if it has no escapes; `None` for any other
    /// value.
    pub fn borrowed_text(&mut self) -> Result<Option<Cow<'a, str>>, LineError> {
        if self.peek() != b'"' {
            self.skip()?;
            return Ok(None);
        }
        let quoted = self.string()?;
        Ok(Some(as_text(quoted.resolved(self.line))))
    }

    /// Reads the value at the reader's position as text: the content of a string; a number or flag as written; `None`
    /// for null, objects and arrays.
    pub fn scalar_value(&mut self) -> Result<Option<String>, LineError> {
        Ok(self.borrowed_scalar()?.map(Cow::into_owned))
    }

    fn borrowed_scalar(&mut self) -> Result<Option<Cow<'a, str>>, LineError> {
        if self.peek() == b'"' {
            return self.borrowed_text();
        }
        let from = self.at;
        self.skip()?;
        let raw = &self.line[from..self.at];
        let is_scalar = !matches!(raw.first(), Some(b'{' | b'[')) && raw != b"null";
        Ok(is_scalar.then(|| as_text(Cow::Borrowed(raw))))
    }

    /// Reads the integer at the reader's position, with or without quotes; `None` for any other value.
    pub fn whole_value(&mut self) -> Result<Option<i64>, LineError> {
        Ok(self.borrowed_scalar()?.and_then(|number| number.parse().ok()))
    }

    /// Reads the number at the reader's position, with or without a fraction; `None` for any other value.
    pub fn float_value(&mut self) -> Result<Option<f64>, LineError> {
        let value = self.borrowed_scalar()?;
        Ok(value
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|number| number.is_finite()))
    }

    /// Reads the integers of the array at the reader's position.
    pub fn numbers(&mut self, odd: &mut u64) -> Result<Vec<i64>, LineError> {
        let mut found = Vec::new();
        self.each_element(|reader| {
            found.extend(reader.number(odd)?);
            Ok(())
        })?;
        Ok(found)
    }
}
