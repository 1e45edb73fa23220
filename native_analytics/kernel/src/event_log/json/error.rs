//! Why a line of a log is not an event.

use thiserror::Error;

/// What is wrong with a line, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{what} at byte {at}")]
pub struct LineError {
    pub at: usize,
    pub what: &'static str,
}

impl LineError {
    #[cold]
    pub fn new(at: usize, what: &'static str) -> LineError {
        LineError { at, what }
    }
}

pub const NOT_AN_OBJECT: &str = "no JSON object";
pub const NO_EVENT: &str = "no \"Event\" text";
pub const NO_STAGE_ID: &str = "no readable \"Stage ID\"";
pub const UNTERMINATED_STRING: &str = "a string without an end";
pub const UNTERMINATED_CONTAINER: &str = "an object or array without an end";
pub const NO_VALUE: &str = "no JSON value";
pub const NO_KEY: &str = "no key";
pub const NO_COLON: &str = "no colon after a key";
pub const NO_COMMA: &str = "no comma and no end of the object";
pub const TRAILING_BYTES: &str = "bytes after the end of the event";
pub const TOO_LONG: &str = "the line is longer than the limit";
