//! Why a line is not an event.

use thiserror::Error;

/// What is wrong with a line, and where in it.
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
pub const UNTERMINATED_STRING: &str = "a string that does not end";
pub const UNTERMINATED_CONTAINER: &str = "an object or array that does not end";
pub const NO_VALUE: &str = "no JSON value";
pub const NO_KEY: &str = "no key";
pub const NO_COLON: &str = "no colon behind a key";
pub const NO_COMMA: &str = "neither comma nor end of the object";
pub const TRAILING_BYTES: &str = "something behind the end of the event";
pub const TOO_LONG: &str = "longer than the limit for a line";
