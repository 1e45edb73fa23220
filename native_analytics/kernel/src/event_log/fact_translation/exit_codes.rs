//! The exit code that Spark's reason of a lost executor contains.

use std::sync::LazyLock;

use regex_lite::Regex;

/// Each cluster manager words the reason differently; the plugin uses the same pattern.
static EXIT_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\bexit(?:ed)?(?: +with)?(?: +exit)?[ _]?(?:code|status|value)(?: +is)? *[:=(]? *(-?[0-9]{1,9})\b")
        .ok()
});
const MAX_CHARS: usize = 4_096;

/// Returns the exit code, or `None` if the text contains none.
pub fn exit_code(text: &str) -> Option<i32> {
    let text = crate::event_log::fact_translation::texts::beginning(text, MAX_CHARS);
    EXIT_CODE.as_ref()?.captures(text)?.get(1)?.as_str().parse().ok()
}
