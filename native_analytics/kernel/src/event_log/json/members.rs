//! Reads the rare events member by member; what the visitor leaves alone is skipped.

use std::borrow::Cow;

use crate::event_log::json::error::{self, LineError};
use crate::event_log::json::reader::Reader;
use crate::event_log::json::scan;
use crate::event_log::json::text::as_text;

impl<'a> Reader<'a> {
    /// Visits the members of the object that begins here; any other value is skipped.
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

    /// The same, when the line ends with the object. Whoever writes behind it writes nothing of half an event.
    pub fn each_member_of_line(
        &mut self,
        visit: impl FnMut(&mut Reader<'a>, &[u8]) -> Result<(), LineError>,
    ) -> Result<(), LineError> {
        self.each_member(visit)?;
        self.expect_line_end()
    }

    /// At an object's beginning: passes over it when the line ends with it; nothing in it is looked at.
    pub fn skip_line(&mut self) -> Result<(), LineError> {
        self.at = scan::skip_container(self.line, self.at + 1, b'{', b'}')
            .ok_or(LineError::new(self.line.len(), error::UNTERMINATED_CONTAINER))?;
        self.expect_line_end()
    }

    /// Behind a member's value: passes over the members that follow it, so that `each_member` ends here.
    /// They are checked for balance only.
    pub fn skip_remaining_members(&mut self) -> Result<(), LineError> {
        match scan::skip_container(self.line, self.at, b'{', b'}') {
            Some(end) => {
                self.at = end - 1;
                Ok(())
            }
            None => self.fail(error::UNTERMINATED_CONTAINER),
        }
    }

    /// Visits the elements of the array that begins here; any other value is skipped.
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

    /// Behind a value: true at a comma (passed, with the space behind it), false at the end (passed).
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

    /// The text that begins here; none for any other value.
    pub fn text_value(&mut self) -> Result<Option<String>, LineError> {
        Ok(self.borrowed_text()?.map(Cow::into_owned))
    }

    /// The same, borrowed from the line when nothing in it is escaped.
    pub fn borrowed_text(&mut self) -> Result<Option<Cow<'a, str>>, LineError> {
        if self.peek() != b'"' {
            self.skip()?;
            return Ok(None);
        }
        let quoted = self.string()?;
        Ok(Some(as_text(quoted.resolved(self.line))))
    }

    /// The value that begins here as text: a string's content, a number or flag as written; none for null and containers.
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

    /// The whole number that begins here, also one in quotes; none for anything else.
    pub fn whole_value(&mut self) -> Result<Option<i64>, LineError> {
        Ok(self.borrowed_scalar()?.and_then(|number| number.parse().ok()))
    }

    /// The number with a fraction that begins here.
    pub fn float_value(&mut self) -> Result<Option<f64>, LineError> {
        let value = self.borrowed_scalar()?;
        Ok(value
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|number| number.is_finite()))
    }

    /// Whole numbers of the array that begins here.
    pub fn numbers(&mut self, odd: &mut u64) -> Result<Vec<i64>, LineError> {
        let mut found = Vec::new();
        self.each_element(|reader| {
            found.extend(reader.number(odd)?);
            Ok(())
        })?;
        Ok(found)
    }
}
