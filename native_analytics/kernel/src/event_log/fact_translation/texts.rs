//! Masks secrets in the texts of facts with the caller's functions, and caches the results for short texts.

use std::collections::BTreeMap;
use std::error::Error;

use foldhash::{HashMap, HashMapExt};

/// One of the caller's functions failed.
pub type TextError = Box<dyn Error + Send + Sync>;

/// The configuration of an application by key.
pub type Properties = BTreeMap<String, String>;

/// The caller's functions that mask secrets; `contracts/shared/scrubbing_cases.json` specifies their results.
pub trait Redaction: Send + Sync {
    /// Masks secrets in free text.
    fn scrub(&self, text: &str) -> Result<String, TextError>;
    /// Masks secrets and literals in SQL text.
    fn scrub_query(&self, text: &str) -> Result<String, TextError>;
    /// Selects the identity properties and the allowed configuration of an application, both scrubbed.
    fn select_properties(&self, properties: &Properties) -> Result<(Properties, Properties), TextError>;
}

/// Maximum length in bytes of a text whose result is cached, and maximum number of cached results.
const MAX_MEMO_BYTES: usize = 256;
const MAX_MEMO_TEXTS: usize = 2_048;

/// Scrubs texts and caches the results, because the same names of operators and stages occur in every plan.
pub struct Texts {
    redaction: Box<dyn Redaction>,
    scrubbed: HashMap<String, String>,
    scrubbed_queries: HashMap<String, String>,
}

impl Texts {
    pub fn new(redaction: Box<dyn Redaction>) -> Texts {
        Texts {
            redaction,
            scrubbed: HashMap::new(),
            scrubbed_queries: HashMap::new(),
        }
    }

    pub fn scrub(&mut self, text: &str) -> Result<String, TextError> {
        remembered(&mut self.scrubbed, text, |text| self.redaction.scrub(text))
    }

    pub fn scrub_query(&mut self, text: &str) -> Result<String, TextError> {
        remembered(&mut self.scrubbed_queries, text, |text| {
            self.redaction.scrub_query(text)
        })
    }

    /// Returns the beginning of a text. If the text must be cut, it is scrubbed first, because a cut can separate a
    /// secret from its name.
    pub fn shortened(&mut self, text: &str, max_chars: usize) -> Result<String, TextError> {
        if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
            return Ok(text.to_owned());
        }
        Ok(beginning(&self.scrub(text)?, max_chars).to_owned())
    }

    pub fn select_properties(&self, properties: &Properties) -> Result<(Properties, Properties), TextError> {
        self.redaction.select_properties(properties)
    }
}

/// Returns at most `max_chars` characters from the beginning of a text.
pub fn beginning(text: &str, max_chars: usize) -> &str {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn remembered(
    memo: &mut HashMap<String, String>,
    text: &str,
    scrub: impl FnOnce(&str) -> Result<String, TextError>,
) -> Result<String, TextError> {
    if text.len() > MAX_MEMO_BYTES {
        return scrub(text);
    }
    if let Some(known) = memo.get(text) {
        return Ok(known.clone());
    }
    let result = scrub(text)?;
    if memo.len() >= MAX_MEMO_TEXTS {
        memo.clear();
    }
    memo.insert(text.to_owned(), result.clone());
    Ok(result)
}
