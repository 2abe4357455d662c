//! Tables as Parquet files: the little of Parquet that the run directory needs.
//!
//! All columns are required and of three kinds. Values are written by the low-level column
//! writers, one row group at a time, without dictionaries, statistics or offset indexes: the
//! generator shares its cores with us, and readers of time series scan.

mod footer;
mod read;
mod write;

use std::io;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};

use crate::RecordError;
use crate::schema::FORMAT_VERSION;

pub(crate) use read::{TableReader, parts};
pub(crate) use write::{Column, SourceTable, TableWriter};

/// Key of the file's metadata that holds the format's version.
const FORMAT_KEY: &str = "throng.format";

/// A column's name, kind and packing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) packing: Packing,
}

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// INT64.
    Long,
    /// INT32 annotated as unsigned with this number of bits: 8, 16 or 32.
    Unsigned(i8),
    /// DOUBLE.
    Real,
}

/// How a column is encoded. All columns are compressed by LZ4 besides, which costs next to
/// nothing. Measured with rows of a run at 200,000/s; a dictionary, which the Parquet library
/// looks each value up in, costs 7 to 12 ns a value wherever it is of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    /// DELTA_BINARY_PACKED: 4 to 5 ns a value; times and random numbers take half of the bytes
    /// that LZ4 alone would leave, in half of the time.
    Differences,
    /// PLAIN: 0.3 to 1 ns a value where nearly all are alike, LZ4 leaves next to nothing of them.
    Repeats,
}

impl Kind {
    fn physical(self) -> Physical {
        match self {
            Kind::Long => Physical::INT64,
            Kind::Unsigned(_) => Physical::INT32,
            Kind::Real => Physical::DOUBLE,
        }
    }
}

/// Names and values of a file's own metadata.
pub(crate) type Metadata = Vec<(&'static str, String)>;

/// The format's version, then what the file needs to be understood alone.
pub(crate) fn metadata(rest: impl IntoIterator<Item = (&'static str, String)>) -> Metadata {
    [(FORMAT_KEY, FORMAT_VERSION.to_string())].into_iter().chain(rest).collect()
}

fn schema(fields: &[Field]) -> Result<TypePtr, ParquetError> {
    let columns = fields.iter().map(|field| {
        let logical = match field.kind {
            Kind::Unsigned(bit_width) => Some(LogicalType::integer(bit_width, false)),
            Kind::Long | Kind::Real => None,
        };
        let column = Type::primitive_type_builder(field.name, field.kind.physical())
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(logical);
        Ok(Arc::new(column.build()?))
    });
    let columns = columns.collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("schema").with_fields(columns).build()?))
}

/// For `map_err` while writing: the system's error where there is one underneath.
fn write_error(path: &Path) -> impl Fn(ParquetError) -> RecordError {
    move |error| RecordError::io("write", path)(system_error(error).unwrap_or_else(Into::into))
}

/// For `map_err` while reading: the system's error, or else the file is damaged.
fn read_error(path: &Path) -> impl Fn(ParquetError) -> RecordError {
    move |error| match system_error(error) {
        Ok(error) => RecordError::io("read", path)(error),
        Err(error) => RecordError::damaged(path, error.to_string()),
    }
}

/// The error of the system that the Parquet library wrapped, if it did.
fn system_error(error: ParquetError) -> Result<io::Error, ParquetError> {
    let ParquetError::External(inner) = error else {
        return Err(error);
    };
    inner.downcast().map(|error| *error).map_err(ParquetError::External)
}
