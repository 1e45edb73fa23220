//! Texts that describe a plan node without literals, because literals may hold users' data.
//!
//! Spark describes a node by a name, such as `Scan parquet db.orders`, by one line (`simpleString`) and, for scans of
//! files, by metadata. All results have a maximum length.

mod condition;
mod detail;
mod identifiers;

pub use condition::{condition, has_condition};
pub use detail::detail;

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
