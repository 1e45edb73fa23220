//! Builds tables column by column, and caches schemas and empty tables, which are the same for every log.

use std::sync::{Arc, OnceLock};

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StructArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_schema::{Field, Fields, Schema, SchemaRef};

use crate::event_log::stage_aggregates::Summary;

/// A table under construction.
#[derive(Default)]
pub(super) struct Columns {
    names: Vec<&'static str>,
    arrays: Vec<ArrayRef>,
}

/// The schema and the empty table of one kind of table. They are created once for all logs, because creating them costs
/// as much as the columns of a small log, and most logs have empty tables.
pub(super) struct TableCache {
    schema: OnceLock<SchemaRef>,
    empty: OnceLock<RecordBatch>,
}

impl TableCache {
    pub(super) const fn new() -> TableCache {
        TableCache {
            schema: OnceLock::new(),
            empty: OnceLock::new(),
        }
    }

    /// Returns the cached empty table if there are no rows and the table was already created.
    pub(super) fn empty<R>(&self, rows: &[R]) -> Option<RecordBatch> {
        self.empty.get().filter(|_| rows.is_empty()).cloned()
    }
}

fn fields(names: &[&'static str], arrays: &[ArrayRef]) -> Fields {
    names
        .iter()
        .zip(arrays)
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect()
}

impl Columns {
    fn push(&mut self, name: &'static str, array: ArrayRef) {
        self.names.push(name);
        self.arrays.push(array);
    }

    pub(super) fn numbers(&mut self, name: &'static str, values: impl Iterator<Item = Option<i64>>) {
        // The builder creates a validity bitmap only if a value is absent; most columns have all values.
        let mut nulls = NullBufferBuilder::new(0);
        let values: Vec<i64> = values
            .map(|value| {
                nulls.append(value.is_some());
                value.unwrap_or_default()
            })
            .collect();
        self.push(name, Arc::new(Int64Array::new(values.into(), nulls.finish())));
    }

    pub(super) fn floats(&mut self, name: &'static str, values: impl Iterator<Item = Option<f64>>) {
        self.push(name, Arc::new(Float64Array::from_iter(values)));
    }

    pub(super) fn texts<T: AsRef<str>>(
        &mut self,
        name: &'static str,
        values: impl ExactSizeIterator<Item = Option<T>> + Clone,
    ) {
        let bytes = values.clone().flatten().map(|text| text.as_ref().len()).sum();
        let mut texts = StringBuilder::with_capacity(values.len(), bytes);
        texts.extend(values);
        self.push(name, Arc::new(texts.finish()));
    }

    pub(super) fn number_lists<'r>(
        &mut self,
        name: &'static str,
        values: impl ExactSizeIterator<Item = &'r [Option<i64>]> + Clone,
    ) {
        let count = values.clone().map(<[_]>::len).sum();
        let mut lists = ListBuilder::with_capacity(Int64Builder::with_capacity(count), values.len());
        for list in values {
            lists.append_value(list.iter().copied());
        }
        self.push(name, Arc::new(lists.finish()));
    }

    pub(super) fn text_lists<'r, T: AsRef<str> + 'r>(
        &mut self,
        name: &'static str,
        values: impl ExactSizeIterator<Item = &'r [Option<T>]> + Clone,
    ) {
        let texts = values.clone().flatten();
        let bytes = texts.clone().flatten().map(|text| text.as_ref().len()).sum();
        let texts = StringBuilder::with_capacity(texts.count(), bytes);
        let mut lists = ListBuilder::with_capacity(texts, values.len());
        for list in values {
            lists.append_value(list.iter().map(Option::as_ref));
        }
        self.push(name, Arc::new(lists.finish()));
    }

    pub(super) fn summaries(&mut self, name: &'static str, values: &[Summary]) {
        let order = |pick: fn((i64, f64, i64, i64)) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter(values.iter().map(|value| value.order.map(pick))))
        };
        let columns: Vec<(&'static str, ArrayRef)> = vec![
            (
                "n",
                Arc::new(Int64Array::from_iter_values(values.iter().map(|value| value.count))),
            ),
            (
                "sum",
                Arc::new(Int64Array::from_iter_values(values.iter().map(|value| value.sum))),
            ),
            ("min", order(|order| order.0)),
            (
                "median",
                Arc::new(Float64Array::from_iter(
                    values.iter().map(|value| value.order.map(|order| order.1)),
                )),
            ),
            ("p95", order(|order| order.2)),
            ("max", order(|order| order.3)),
        ];
        let (names, arrays): (Vec<&'static str>, Vec<ArrayRef>) = columns.into_iter().unzip();
        static FIELDS: OnceLock<Fields> = OnceLock::new();
        let fields = FIELDS.get_or_init(|| fields(&names, &arrays)).clone();
        self.push(name, Arc::new(StructArray::new(fields, arrays, None::<NullBuffer>)));
    }

    pub(super) fn finish(self, cache: &TableCache) -> RecordBatch {
        let schema = cache
            .schema
            .get_or_init(|| Arc::new(Schema::new(fields(&self.names, &self.arrays))));
        let batch = match RecordBatch::try_new(schema.clone(), self.arrays) {
            Ok(batch) => batch,
            Err(never) => unreachable!("each column has a value for each row: {never}"),
        };
        if batch.num_rows() == 0 {
            cache.empty.get_or_init(|| batch.clone());
        }
        batch
    }
}
