//! Converts JSON strings to text: resolves escapes and replaces bytes that are not UTF-8.

use std::borrow::Cow;

/// Maximum length in bytes of the text of one value. Longer texts, such as plans and stack traces, are cut.
pub const MAX_TEXT_BYTES: usize = 64 << 10;

/// Returns the content of a JSON string as text.
pub fn text(raw: &[u8]) -> String {
    as_text(unescaped(raw)).into_owned()
}

/// Returns bytes as text. The text is borrowed if the bytes are borrowed and are valid UTF-8.
pub fn as_text(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => match std::str::from_utf8(capped(bytes)) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(capped(bytes)),
        },
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(capped(&bytes)).into_owned()),
    }
}

fn capped(bytes: &[u8]) -> &[u8] {
    let mut end = bytes.len().min(MAX_TEXT_BYTES);
    while end < bytes.len() && end > 0 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

/// Returns at most `max_chars` characters from the beginning of a text.
pub fn beginning(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

/// Returns the content of a string with escapes resolved, borrowed if there are no escapes.
pub fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    match memchr::memchr(b'\\', raw) {
        None => Cow::Borrowed(raw),
        Some(_) => Cow::Owned(resolved(raw)),
    }
}

/// Returns the content with escapes resolved.
pub fn resolved(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&escape) = raw.get(at) else { break };
        at += 1;
        match escape {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'u' => at = code_point(raw, at, &mut out),
            other => out.push(other),
        }
    }
    out
}

/// Reads `\uXXXX` or a surrogate pair; `at` is the index after the first `u`. Returns the index after the escape.
fn code_point(raw: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let (mut point, mut end) = match hex(raw, at) {
        Some(point) => (point, at + 4),
        None => (0xfffd, at),
    };
    if (0xd800..0xdc00).contains(&point)
        && raw.get(end..end + 2) == Some(b"\\u")
        && let Some(low) = hex(raw, end + 2).filter(|low| (0xdc00..0xe000).contains(low))
    {
        point = 0x1_0000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        end += 6;
    }
    let character = char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    end
}

fn hex(raw: &[u8], at: usize) -> Option<u32> {
    let digits = raw.get(at..at + 4)?;
    digits
        .iter()
        .try_fold(0, |value, digit| Some(value * 16 + (*digit as char).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(text(br#"a\n\t\"\\\/b"#), "a\n\t\"\\/b");
        assert_eq!(text(br"\u00e9\uD83D\uDE00"), "\u{e9}\u{1f600}");
    }

    #[test]
    fn invalid_text_is_replaced() {
        assert_eq!(text(br"\uD83D!"), "\u{fffd}!");
        assert_eq!(text(br"\u12"), "\u{fffd}12");
        assert_eq!(text(b"\xff\\"), "\u{fffd}");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        let long = "\u{e9}".repeat(MAX_TEXT_BYTES);
        let cut = text(long.as_bytes());
        assert_eq!(cut.len(), MAX_TEXT_BYTES);
    }
}
