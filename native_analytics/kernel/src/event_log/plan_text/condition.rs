//! Extracts the condition of a filter or join without its literals. The condition is part of a stage's fingerprint.

use crate::shared::plan_conditions::{MOST_CHARS, MOST_TEXT_CHARS, WORDS};

/// Whether a node of this name filters or joins rows by a condition.
pub fn has_condition(node: &str) -> bool {
    node == "Filter" || node == "CartesianProduct" || node.contains("Join")
}

/// Returns the columns, comparisons and join type of a filter or join, in their order.
pub fn condition(text: &str) -> String {
    let bytes = &text.as_bytes()[..text.len().min(MOST_TEXT_CHARS)];
    let mut found = String::new();
    let mut at = 0;
    while at < bytes.len() {
        let from = at;
        let kind = kind_of(bytes[at]);
        while at < bytes.len() && kind_of(bytes[at]) == kind {
            at += 1;
        }
        let is_column = bytes.get(at) == Some(&b'#') && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
        let is_kept = match kind {
            Kind::Word => is_column || WORDS.contains(&&text[from..at]),
            Kind::Comparison => true,
            Kind::Other => false,
        };
        if is_kept && found.len() + at - from < MOST_CHARS {
            if !found.is_empty() {
                found.push(' ');
            }
            found.push_str(&text[from..at]);
        }
    }
    found
}

#[derive(PartialEq)]
enum Kind {
    Word,
    Comparison,
    Other,
}

fn kind_of(byte: u8) -> Kind {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Kind::Word,
        b'<' | b'=' | b'>' => Kind::Comparison,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::condition;
    use crate::shared::plan_conditions::CASES;

    #[test]
    fn conditions_match_the_shared_cases() {
        for case in CASES {
            assert_eq!(condition(case.text), case.condition, "{}", case.name);
        }
    }
}
