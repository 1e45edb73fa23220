//! Finds the line of the user's code that started a query or a stage, from Spark's call sites.
//!
//! Spark records a call site in a short form, such as `count at Orders.scala:88`, and in a long form, a stack trace.
//! The rules and test cases are in `contracts/shared/framework_frames.yaml`; the plugin and the Python code find the
//! same line.

use crate::event_log::json::text::beginning;
use crate::shared::framework_frames::{MOST_CHARS, MOST_FRAMES, PREFIXES};

const MAX_FRAME_CHARS: usize = 1_000;
const MAX_SHORT_FORM_CHARS: usize = 4_000;

/// Returns the user's line, such as `load_orders at orders.py:88`; `None` if the call sites show no user code.
///
/// `short_form` is the name of a stage or the description of a SQL execution, `long_form` the stack trace in its
/// details.
pub fn user_call_site(short_form: Option<&str>, long_form: Option<&str>) -> Option<String> {
    from_long_form(long_form.unwrap_or_default())
        .or_else(|| from_short_form(short_form.unwrap_or_default()))
        .filter(|site| site.chars().count() <= MOST_CHARS)
}

fn from_long_form(text: &str) -> Option<String> {
    text.split('\n').take(MOST_FRAMES).find_map(user_frame)
}

/// Returns the user's line from a frame such as `com.acme.Orders$.load(Orders.scala:88)`; `None` for a frame of a
/// framework.
fn user_frame(frame: &str) -> Option<String> {
    let (path, location) = beginning(frame.trim(), MAX_FRAME_CHARS)
        .strip_suffix(')')?
        .split_once('(')?;
    let (file, line) = location.rsplit_once(':')?;
    let (class, method) = path.rsplit_once('.')?;
    // The name of the class may begin with a module and a slash: `java.base/java.lang.Thread`.
    let class = class.rsplit('/').next().unwrap_or(class);
    let is_frame = !file.is_empty() && is_line(line) && !class.is_empty() && !method.is_empty();
    let name = format!("{class}.{method}");
    if !is_frame || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    Some(match function(class, method) {
        "" => location.to_owned(),
        function => format!("{function} at {location}"),
    })
}

/// Returns the name of the function that the user wrote: for a constructor, the name of its class; for code of the
/// Scala shell, an empty text.
fn function<'f>(class: &'f str, method: &'f str) -> &'f str {
    if class.starts_with("$line") {
        return "";
    }
    match first_part(method) {
        "" | "new" => first_part(class.rsplit('.').next().unwrap_or(class)),
        part if part.starts_with('<') => first_part(class.rsplit('.').next().unwrap_or(class)),
        part => part,
    }
}

/// Returns the first part between `$` signs that comes from the user, not from the compiler: `main` for
/// `$anonfun$main$1`.
fn first_part(name: &str) -> &str {
    let mut parts = name.split('$');
    parts
        .find(|part| !["", "anonfun", "lambda"].contains(part))
        .unwrap_or_default()
}

/// Returns the user's line from the short call site of a PySpark job, such as `collect at /jobs/orders.py:12`.
fn from_short_form(text: &str) -> Option<String> {
    let (action, place) = text.split_once(" at ")?;
    let (path, line) = place.rsplit_once(':')?;
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let folders = &path[..path.len() - file.len()];
    let is_one_line = !path.contains(['\r', '\n']) && text.chars().nth(MAX_SHORT_FORM_CHARS - 1).is_none();
    let is_call_site = !action.is_empty() && !action.contains(' ') && !file.is_empty() && is_line(line) && is_one_line;
    let is_python = file.ends_with(".py")
        || file.starts_with("command-")
        || (file.starts_with('<') && !["<unknown>", "<console>"].contains(&file));
    let is_user_code = is_call_site && is_python && !folders.contains("/pyspark/");
    is_user_code.then(|| format!("{action} at {file}:{line}"))
}

fn is_line(text: &str) -> bool {
    !text.is_empty() && !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::framework_frames::CASES;

    #[test]
    fn call_sites_match_the_shared_cases() {
        for case in CASES {
            let found = user_call_site(case.short, Some(case.long));
            assert_eq!(found.as_deref(), case.call_site, "{}", case.name);
        }
    }
}
