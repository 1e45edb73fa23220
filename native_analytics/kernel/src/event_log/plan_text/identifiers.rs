//! Finds the names of columns, tables and paths in Spark's texts of plan nodes.

/// Maximum number of paths in one detail.
const MAX_PATHS: usize = 3;

/// Returns the text between the bracket at `open` and its closing bracket, or the rest of the text if there is no
/// closing bracket.
pub(super) fn inside(text: &str, open: usize) -> &str {
    let mut depth = 0i32;
    for (at, character) in text[open..].char_indices() {
        depth += bracket(character);
        if depth == 0 {
            return &text[open + 1..open + at];
        }
    }
    &text[open + 1..]
}

/// Splits a text at the commas outside brackets.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, character) in text.char_indices() {
        depth += bracket(character);
        if character == ',' && depth <= 0 {
            parts.push(text[start..at].trim());
            start = at + 1;
        }
    }
    parts.push(text[start..].trim());
    parts
}

fn bracket(character: char) -> i32 {
    match character {
        '(' | '[' => 1,
        ')' | ']' => -1,
        _ => 0,
    }
}

/// Returns the distinct columns of a list of expressions, in their order, joined by commas.
pub(super) fn columns(list: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut add = |name| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for expression in split(list) {
        match whole_column(expression) {
            Some(name) => add(name),
            None => columns_inside(expression).for_each(&mut add),
        }
    }
    names.join(", ")
}

/// Returns the name of the column if the expression is only one column, such as `day#12L ASC`; the name may contain
/// spaces.
fn whole_column(expression: &str) -> Option<&str> {
    let (name, id) = expression.split_once('#')?;
    let digits = id.bytes().take_while(u8::is_ascii_digit).count();
    if name.is_empty() || digits == 0 || name.contains(['(', ')', '[', ']', ',']) {
        return None;
    }
    let order = id[digits..].strip_prefix('L').unwrap_or(&id[digits..]);
    let is_only = order.is_empty() || order.starts_with(" ASC") || order.starts_with(" DESC");
    is_only.then(|| name.trim())
}

/// Returns the column names in an expression: the words before `#` and digits.
fn columns_inside(expression: &str) -> impl Iterator<Item = &str> {
    expression.match_indices('#').filter_map(move |(at, _)| {
        let has_id = expression.as_bytes().get(at + 1).is_some_and(u8::is_ascii_digit);
        let before = &expression[..at];
        let name = before.rsplit(|character| !is_word_character(character)).next()?;
        (has_id && !name.is_empty()).then_some(name)
    })
}

/// Returns the last two parts of a table's name, without quotes and without the catalog `spark_catalog`; `None` for
/// other texts.
pub(super) fn table(text: &str) -> Option<String> {
    let name = text.replace(['`', '"'], "");
    let name = name.trim();
    let is_name = name
        .chars()
        .all(|character| is_word_character(character) || character == '.' || character == '-');
    if !is_name || name.is_empty() {
        return None;
    }
    let name = name.strip_prefix("spark_catalog.").unwrap_or(name);
    let parts: Vec<&str> = name.rsplitn(3, '.').take(2).collect();
    Some(parts.into_iter().rev().collect::<Vec<_>>().join(".")).filter(|name| !name.is_empty())
}

/// Returns the last two parts of the first name in backticks, such as `` `spark_catalog`.`lake`.`orders` ``.
pub(super) fn quoted_table(text: &str) -> Option<String> {
    let mut rest = &text[text.find('`')?..];
    let mut parts = Vec::new();
    while let Some((part, after)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        parts.push(part);
        rest = after.strip_prefix('.').unwrap_or_default();
    }
    table(&parts.join("."))
}

/// Returns the distinct paths of a list, each shortened to its last two components.
pub(super) fn paths<'t>(all: impl Iterator<Item = &'t str>) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in all.filter(|each| each.trim() != "...").map(path) {
        if !name.is_empty() && !names.contains(&name) && names.len() < MAX_PATHS {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Returns the last two components of a path, without partition directories such as `day=2026-11-24` and without
/// passwords.
pub(super) fn path(text: &str) -> String {
    let path = text.replace('`', "");
    let path = path.trim();
    let path = path.find(":/").map_or(path, |scheme| &path[scheme + 1..]);
    let mut components: Vec<&str> = path
        .split('/')
        .map(|component| component.rsplit('@').next().unwrap_or(component).trim())
        .filter(|component| !component.is_empty())
        .collect();
    while components.last().is_some_and(|last| last.contains('=')) {
        components.pop();
    }
    components[components.len().saturating_sub(2)..].join("/")
}

/// Returns the text after a marker, up to one of the end characters; empty if the marker is missing.
pub(super) fn value_after<'t>(text: &'t str, marker: &str, ends: &[char]) -> &'t str {
    let value = text.split_once(marker).map_or("", |(_, value)| value);
    value.split(ends).next().unwrap_or(value)
}

pub(super) fn first_word(text: &str) -> &str {
    leading(text, |character| character > ' ')
}

/// Returns the word at the beginning of a text; empty if the first character does not belong to a word.
pub(super) fn leading_word(text: &str) -> &str {
    leading(text, is_word_character)
}

fn leading(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|character| !is_part(character)).unwrap_or(text.len())]
}

pub(super) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_word_character)
}

fn is_word_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}
