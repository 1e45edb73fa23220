//! Describes plan nodes by texts without literals, because literals may contain users' data.
//!
//! Spark describes a node by a name, such as `Scan parquet db.orders`, by one line (`simpleString`) and, for scans of
//! files, by metadata. All results have a maximum length.

mod condition;
mod detail;
mod identifiers;

pub use condition::{condition, has_condition};
pub use detail::detail;

/// Splits the name of a codegen scope into operator and number: `WholeStageCodegen (3)` has the operator
/// `WholeStageCodegen`.
///
/// Fingerprints ignore the number, so the limits count distinct operators without their numbers. Both parts together
/// are the whole name.
pub fn split_codegen_number(name: &str) -> (&str, &str) {
    let Some((operator, digits)) = name.strip_suffix(')').and_then(|name| name.rsplit_once('(')) else {
        return (name, "");
    };
    match !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
        true => name.split_at(operator.trim_end().len()),
        false => (name, ""),
    }
}

/// Spark's texts of one plan node.
#[derive(Debug, Clone, Copy, Default)]
pub struct NodeText<'a> {
    pub name: &'a str,
    pub simple_string: &'a str,
    /// `Location` in the metadata of a file scan.
    pub location: Option<&'a str>,
    /// `Format` in the metadata of a file scan.
    pub format: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::split_codegen_number;

    #[test]
    fn only_a_number_at_the_end_is_split_off() {
        for (name, expected) in [
            ("WholeStageCodegen (3)", ("WholeStageCodegen", " (3)")),
            ("Exchange", ("Exchange", "")),
            ("Scan (a)", ("Scan (a)", "")),
            ("()", ("()", "")),
            ("f (1) g", ("f (1) g", "")),
        ] {
            assert_eq!(split_codegen_number(name), expected);
        }
    }
}
