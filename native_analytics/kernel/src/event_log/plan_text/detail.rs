//! Extracts what identifies a plan node: the table or path of a scan or write, or the keys of an exchange, join or
//! aggregate.
//!
//! The rules and cases are in `contracts/shared/node_details.json`; the plugin passes the same cases.

use crate::event_log::json::text::beginning;
use crate::event_log::plan_text::NodeText;
use crate::event_log::plan_text::identifiers::{
    columns, first_word, inside, is_word, leading_word, path, paths, quoted_table, split, table, value_after,
};

/// Maximum length of a detail, in characters.
const MAX_CHARS: usize = 200;
/// Only the beginning of a node's texts is parsed, because Spark does not limit their length.
const MAX_PARSED_CHARS: usize = 2_000;

const JOIN_TYPES: [&str; 9] = [
    "Inner",
    "Cross",
    "LeftOuter",
    "RightOuter",
    "FullOuter",
    "LeftSemi",
    "LeftAnti",
    "LeftSingle",
    "ExistenceJoin",
];
const V2_WRITES: [&str; 10] = [
    "AppendData",
    "AtomicCreateTableAsSelect",
    "AtomicReplaceTableAsSelect",
    "CreateTableAsSelect",
    "OverwriteByExpression",
    "OverwritePartitionsDynamic",
    "ReplaceData",
    "ReplaceTableAsSelect",
    "WriteDelta",
    "WriteToDataSourceV2",
];
const SAVE_MODES: [&str; 4] = ["Append", "ErrorIfExists", "Ignore", "Overwrite"];
/// Scans that name no table and no path.
const OTHER_SCANS: [&str; 2] = ["ExistingRDD", "OneRowRelation"];
/// Formats that have no table; Spark names them only in the class of the writer, such as `NoopWrite`.
const WRITERS: [&str; 5] = ["Console", "Foreach", "Kafka", "Memory", "Noop"];
/// Characters that end a value among the arguments of a version 2 write.
const VALUE_ENDS: [char; 4] = [',', ')', ']', ' '];

/// Returns the detail of a node: what identifies the node, in at most 200 characters. The detail is empty if nothing
/// identifies the node.
///
/// Examples: `lake.orders parquet`, `landing/orders csv`, `hashpartitioning o_custkey`,
/// `Inner l_orderkey = o_orderkey`, `group by o_custkey`.
pub fn detail(node: NodeText<'_>) -> String {
    let name = beginning(node.name, MAX_PARSED_CHARS).trim();
    let text = beginning(node.simple_string, MAX_PARSED_CHARS);
    let rest = text.strip_prefix(name).unwrap_or(text).trim();
    let detail = if name.starts_with("Execute ") {
        command(name, rest)
    } else if V2_WRITES.contains(&first_word(name)) {
        v2_write(name, text)
    } else if name.contains("Aggregate") {
        aggregate(text)
    } else if name.contains("Join") {
        join(rest)
    } else if name.contains("Exchange") {
        let has_keys = !name.starts_with("Broadcast") && !name.starts_with("Reused");
        if has_keys { exchange(rest) } else { String::new() }
    } else if first_word(name).ends_with("Scan") {
        scan(name, node)
    } else {
        String::new()
    };
    beginning(&detail, MAX_CHARS).to_owned()
}

fn command(name: &str, rest: &str) -> String {
    let named = match rest.contains("CatalogTable(") {
        true => catalog_table(rest),
        false => quoted_table(rest),
    }
    .unwrap_or_default();
    let inserts = name.starts_with("Execute InsertInto");
    if !inserts && !name.starts_with("Execute Save") {
        return named;
    }
    let arguments = split(rest);
    let mut target = named;
    if target.is_empty() && inserts && arguments[0].contains('/') {
        target = path(arguments[0]);
    }
    if target.is_empty() {
        target = path(value_after(rest, "path -> ", &[',', ')']));
    }
    let format = if inserts {
        written_format(&arguments)
    } else {
        String::new()
    };
    if target.is_empty() {
        target
    } else {
        words(&target, &format)
    }
}

/// Returns the table in the text of a catalog entry; Spark 3.3 prints database and table on separate lines.
fn catalog_table(text: &str) -> Option<String> {
    let [database, name] = ["\nDatabase: ", "\nTable: "].map(|marker| value_after(text, marker, &['\n']).trim());
    table(&format!("{database}.{name}")).filter(|_| !name.is_empty())
}

/// Returns the file format: the first word among the arguments between the path and the save mode.
fn written_format(arguments: &[&str]) -> String {
    arguments[1..]
        .iter()
        .take_while(|argument| !SAVE_MODES.contains(argument))
        .find(|argument| is_word(argument) && !["true", "false"].contains(argument))
        .map_or_else(String::new, |format| format.to_lowercase())
}

fn v2_write(name: &str, text: &str) -> String {
    if let Some(writer) = WRITERS.into_iter().find(|writer| names_writer(text, writer)) {
        return writer.to_lowercase();
    }
    let target = table(value_after(text, "table=", &VALUE_ENDS)).or_else(|| {
        let after_name = text.get(first_word(name).len()..).unwrap_or_default();
        table(first_word(after_name.trim()))
    });
    let format = value_after(text, "format=", &VALUE_ENDS).to_lowercase();
    match target {
        Some(target) if is_word(&format) => words(&target, &format),
        target => target.unwrap_or_default(),
    }
}

fn names_writer(text: &str, writer: &str) -> bool {
    text.contains(&format!("{writer}Write")) || text.contains(&format!("{writer}StreamingWrite"))
}

fn aggregate(text: &str) -> String {
    let found = text.find("keys=[").or_else(|| text.find("key=["));
    let open = found.and_then(|found| Some(found + text[found..].find('[')?));
    let keys = open.map(|open| columns(inside(text, open))).unwrap_or_default();
    match keys.is_empty() {
        true => keys,
        false if text.contains("functions=[]") => format!("distinct {keys}"),
        false => format!("group by {keys}"),
    }
}

fn join(rest: &str) -> String {
    let is_null_safe = rest.starts_with('[') && compares_nulls(inside(rest, 0));
    let (left, others) = bracketed_keys(rest);
    let (right, others) = if others.len() < rest.len() {
        bracketed_keys(others)
    } else {
        (String::new(), others)
    };
    let keys = match left == right || right.is_empty() {
        true => left,
        false => format!("{left} = {right}"),
    };
    let kind = split(others)
        .into_iter()
        .map(leading_word)
        .find(|word| JOIN_TYPES.contains(word))
        .unwrap_or_default();
    words(&words(kind, if is_null_safe { "null-safe" } else { "" }), &keys)
}

/// Returns whether a join also matches nulls (`a <=> b`), as joins for INTERSECT and EXCEPT do. For such a join,
/// Spark's join keys are `coalesce(a, 0), isnull(a)`.
fn compares_nulls(keys: &str) -> bool {
    keys.contains("coalesce(") && keys.contains("isnull(")
}

/// Returns the columns of the list in square brackets at the beginning of a text, and the text after the list.
fn bracketed_keys(text: &str) -> (String, &str) {
    if !text.starts_with('[') {
        return (String::new(), text);
    }
    let list = inside(text, 0);
    let after = text.get(list.len() + 2..).unwrap_or_default().trim();
    (columns(list), after.strip_prefix(',').map_or(after, str::trim))
}

fn exchange(rest: &str) -> String {
    let kind = leading_word(rest);
    let has_arguments = rest[kind.len()..].starts_with('(');
    let keys = if has_arguments {
        columns(inside(rest, kind.len()))
    } else {
        String::new()
    };
    words(kind, &keys)
}

fn scan(name: &str, node: NodeText<'_>) -> String {
    let first = first_word(name);
    let rest = name[first.len()..].trim();
    if let Some(cached) = rest.strip_prefix("In-memory table ") {
        return words(&table(cached).unwrap_or_default(), "in-memory");
    }
    if rest.starts_with("JDBCRelation(") {
        return words(&table(inside(rest, "JDBCRelation".len())).unwrap_or_default(), "jdbc");
    }
    let mut format = first_word(rest);
    let mut target = rest[format.len()..].trim();
    if OTHER_SCANS.contains(&format) {
        return String::new();
    }
    if target.is_empty() && (first != "Scan" || format.contains('.')) {
        (target, format) = (format, "");
    }
    let mut target = match target.contains('/') {
        true => paths(target.split(',')),
        false => table(target).unwrap_or_default(),
    };
    let location = beginning(node.location.unwrap_or_default(), MAX_PARSED_CHARS);
    if let (true, Some(open)) = (target.is_empty(), location.find('[')) {
        target = paths(inside(location, open).split(", "));
    }
    let format = beginning(node.format.unwrap_or(format), MAX_PARSED_CHARS).to_lowercase();
    words(&target, if is_word(&format) { &format } else { "" })
}

/// Returns both texts, with a space between them if neither is empty.
fn words(one: &str, other: &str) -> String {
    let space = if one.is_empty() || other.is_empty() { "" } else { " " };
    format!("{one}{space}{other}")
}
