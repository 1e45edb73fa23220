//! Skips strings, objects and arrays without reading their values.
//!
//! The scan counts only brackets of the same kind as the skipped container's, so that objects inside an array cost
//! nothing. The scan checks that brackets balance; it does not check the grammar.

/// Returns the index after the bracket that closes the container whose content starts at `at`.
#[inline]
pub fn skip_container(text: &[u8], at: usize, open: u8, close: u8) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if crate::event_log::json::scan_avx2::available() {
        return crate::event_log::json::scan_avx2::skip_container(text, at, open, close);
    }
    skip_container_scalar(text, at, open, close)
}

/// Does the same as `skip_container`, byte by byte, for processors without AVX2.
pub fn skip_container_scalar(text: &[u8], mut at: usize, open: u8, close: u8) -> Option<usize> {
    let mut depth = 1usize;
    while let Some(&byte) = text.get(at) {
        at += 1;
        if byte == b'"' {
            at = skip_string(text, at)?;
        } else if byte == b'\\' {
            // Valid JSON has no backslash outside strings. The AVX2 scan treats such a backslash as an escape, and both
            // scans must agree on any input.
            at += usize::from(matches!(text.get(at), Some(b'"' | b'\\')));
        } else if byte == open {
            depth += 1;
        } else if byte == close {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

/// Returns the index after the quote that closes the string whose content starts at `at`.
#[inline]
pub fn skip_string(text: &[u8], at: usize) -> Option<usize> {
    string_end(text, at).map(|(end, _)| end)
}

/// Returns the index of the first quote or backslash from `at` on.
#[inline]
fn quote_or_backslash(text: &[u8], at: usize) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if crate::event_log::json::scan_avx2::available() {
        return crate::event_log::json::scan_avx2::quote_or_backslash(text, at);
    }
    memchr::memchr2(b'"', b'\\', text.get(at..)?).map(|place| at + place)
}

/// Returns the index after the closing quote of a string, and whether the string has escapes.
#[inline]
pub fn string_end(text: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    loop {
        at = quote_or_backslash(text, at)?;
        if text[at] == b'"' {
            return Some((at + 1, escaped));
        }
        escaped = true;
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn json_like() -> impl Strategy<Value = String> {
        let token = prop::sample::select(vec![
            "[",
            "]",
            "{",
            "}",
            ",",
            ":",
            "12",
            "\"a\"",
            "\"\\\\\"",
            "\"\\\"]\"",
            "\"}{[\\\\\\\"\"",
            " ",
            "null",
            "\\",
            "\"a text that is longer than one step of the scan, with ] and } in it and no escapes\"",
        ]);
        prop::collection::vec(token, 0..80).prop_map(|tokens| tokens.concat())
    }

    proptest! {
        /// A string ends at the first quote that no backslash escapes.
        #[test]
        fn string_ends_at_first_unescaped_quote(text in r#"[a-c\x7f\x80"\\ ]{0,80}"#, from in 0usize..10) {
            let bytes = text.as_bytes();
            let mut at = from;
            let mut escaped = false;
            while let Some(byte) = bytes.get(at).filter(|byte| **byte != b'"') {
                let is_escape = *byte == b'\\';
                escaped |= is_escape;
                at += 1 + usize::from(is_escape);
            }
            let expected = bytes.get(at).map(|_| (at + 1, escaped));
            prop_assert_eq!(string_end(bytes, from), expected);
        }

        /// The AVX2 scan and the scalar scan agree on every text, whole or cut anywhere.
        #[test]
        fn avx2_scan_equals_scalar_scan(text in json_like(), cut in 0usize..400) {
            let text = &text.as_bytes()[..cut.min(text.len())];
            for (open, close) in [(b'[', b']'), (b'{', b'}')] {
                prop_assert_eq!(
                    skip_container(text, 0, open, close),
                    skip_container_scalar(text, 0, open, close)
                );
            }
        }
    }
}
