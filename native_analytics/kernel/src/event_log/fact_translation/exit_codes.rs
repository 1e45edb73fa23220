//! Finds the exit code in Spark's reason for a lost executor.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::event_log::fact_translation::texts::beginning;
use crate::shared::executor_exit_codes::{MOST_CHARS, PATTERN};

/// Each cluster manager words the reason differently; Python and the plugin use the same pattern.
static EXIT_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(PATTERN).ok());

/// Returns the exit code, or `None` if the text contains none.
pub fn exit_code(text: &str) -> Option<i32> {
    let text = beginning(text, MOST_CHARS);
    EXIT_CODE.as_ref()?.captures(text)?.get(1)?.as_str().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::exit_code;
    use crate::shared::executor_exit_codes::CASES;

    #[test]
    fn exit_codes_match_the_shared_cases() {
        for case in CASES {
            assert_eq!(exit_code(case.reason).map(i64::from), case.exit_code, "{}", case.name);
        }
    }
}
