//! [`Table`]: record batches that any library with the Arrow C stream interface reads.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader, StructArray};
use arrow_cast::display::FormatOptions;
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3_arrow::PyField;
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

/// The makers of the batches of a table, one for each reading.
type Batches = dyn Fn() -> Box<dyn RecordBatchReader + Send> + Send + Sync;

/// Record batches. pyarrow, polars, pandas and DuckDB read a table without a copy, datasets through
/// pyarrow.table, all any number of times.
#[pyclass(frozen, module = "simdb")]
pub struct Table {
    schema: SchemaRef,
    /// `None` if the number is known only after a reading.
    rows: Option<usize>,
    batches: Box<Batches>,
}

impl Table {
    /// A table in memory.
    pub fn in_memory(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let batch =
            RecordBatch::try_from_iter(columns).map_err(pyo3_arrow::error::PyArrowError::from)?;
        let (schema, rows) = (batch.schema(), batch.num_rows());
        let batches = move || -> Box<dyn RecordBatchReader + Send> {
            let batches = [Ok(batch.clone())];
            let schema = batch.schema();
            Box::new(arrow_array::RecordBatchIterator::new(batches, schema))
        };
        Ok(Self {
            schema,
            rows: Some(rows),
            batches: Box::new(batches),
        })
    }

    /// A table whose batches are made while they are read.
    pub fn streamed(
        schema: SchemaRef,
        batches: impl Fn() -> Box<dyn RecordBatchReader + Send> + Send + Sync + 'static,
    ) -> Self {
        Self {
            schema,
            rows: None,
            batches: Box::new(batches),
        }
    }

    fn structs(&self) -> Box<dyn pyo3_arrow::ffi::ArrayReader + Send> {
        let fields: Fields = self.schema.fields().clone();
        let field = Field::new_struct("", fields, false);
        let arrays = (self.batches)().map(|batch| -> Result<ArrayRef, ArrowError> {
            Ok(Arc::new(StructArray::from(batch?)))
        });
        Box::new(ArrayIterator::new(arrays, Arc::new(field)))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    /// The number of rows; None if the table is read from a database.
    #[getter]
    fn num_rows(&self) -> Option<usize> {
        self.rows
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let mut arrays = self.structs();
        if let Some(requested) = requested_schema {
            let requested = PyField::from_arrow_pycapsule(&requested)?.into_inner();
            let kind = requested.data_type().clone();
            // pyo3-arrow would cast a value that does not fit, as a large fingerprint, to null.
            if can_cast_types(arrays.field().data_type(), &kind) {
                let cast = arrays.map(move |array| cast_with_options(&array?, &kind, &REFUSING));
                arrays = Box::new(ArrayIterator::new(cast, requested));
            }
        }
        Ok(to_stream_pycapsule(py, arrays, None)?)
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.schema.as_ref())?)
    }

    /// The table as a pyarrow.Table. Needs pyarrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pyarrow = slf.py().import(intern!(slf.py(), "pyarrow"))?;
        pyarrow.call_method1(intern!(slf.py(), "table"), (slf,))
    }

    fn __repr__(&self) -> String {
        let columns: Vec<String> = (self.schema.fields().iter())
            .map(|field| format!("{}: {}", field.name(), field.data_type()))
            .collect();
        let rows = self
            .rows
            .map_or("streamed".to_owned(), |rows| format!("{rows} rows"));
        format!("<Table {rows}, {}>", columns.join(", "))
    }
}

/// A value that does not fit is an error.
const REFUSING: CastOptions<'static> = CastOptions {
    safe: false,
    format_options: FormatOptions::new(),
};

/// A schema of columns without and with nulls.
pub fn schema(columns: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|(name, data_type, nullable)| Field::new(*name, data_type.clone(), *nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
