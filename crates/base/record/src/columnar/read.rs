//! Reading tables, ours or those of other programs.

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;

use super::{FORMAT_KEY, Field, footer, read_error};
use crate::schema::FORMAT_VERSION;
use crate::{RecordError, whole};

/// The segments in a folder, by name; none if it is missing.
pub(crate) fn parts(parts_dir: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let Some(entries) = whole::if_there(parts_dir, fs::read_dir(parts_dir))? else {
        return Ok(Vec::new());
    };
    let mut parts = Vec::new();
    for entry in entries {
        let path = entry.map_err(RecordError::io("read", parts_dir))?.path();
        if path.extension().is_some_and(|extension| extension == "parquet") {
            parts.push(path);
        }
    }
    parts.sort();
    Ok(parts)
}

/// A table that can be read: a Parquet file with a format that we know.
pub(crate) struct TableReader {
    path: PathBuf,
    file: SerializedFileReader<File>,
}

impl TableReader {
    pub(crate) fn open(path: &Path) -> Result<TableReader, RecordError> {
        let opened = regular::open(path).map_err(RecordError::io("read", path))?;
        let bytes = opened.metadata().map_err(RecordError::io("read", path))?.len();
        let file = guarded(path, || {
            let schema = footer::schema(&opened, bytes, path)?;
            let options = ReadOptionsBuilder::new().with_parquet_schema(schema).build();
            SerializedFileReader::new_with_options(opened, options).map_err(read_error(path))
        })?;
        let table = TableReader { path: path.to_owned(), file };
        table.check_format()?;
        for group in table.file.metadata().row_groups() {
            table.check_bounds(group, bytes)?;
        }
        Ok(table)
    }

    /// How many row groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// How many columns there are.
    pub(crate) fn columns(&self) -> usize {
        let about = self.file.metadata().file_metadata();
        about.schema_descr().num_columns()
    }

    /// The place of this column; `None` where there is none of this name.
    pub(crate) fn find(&self, field: &Field) -> Result<Option<usize>, RecordError> {
        let columns = self.file.metadata().file_metadata().schema_descr().columns();
        let Some(place) = columns.iter().position(|column| column.path().string() == field.name)
        else {
            return Ok(None);
        };
        let column = &columns[place];
        if column.physical_type() != field.kind.physical() {
            let name = field.name;
            let is = column.physical_type();
            let should = field.kind.physical();
            return Err(self.damaged(format!("column `{name}` is {is}, not {should}")));
        }
        if column.max_def_level() > 0 || column.max_rep_level() > 0 {
            return Err(self.damaged(format!("column `{}` may hold nulls", field.name)));
        }
        Ok(Some(place))
    }

    /// The place of this column, which must be there.
    pub(crate) fn require(&self, field: &Field) -> Result<usize, RecordError> {
        self.find(field)?.ok_or_else(|| self.damaged(format!("it has no column `{}`", field.name)))
    }

    /// The values of a column of kind [`super::Kind::Long`] in this row group.
    pub(crate) fn longs(&self, group: usize, place: usize) -> Result<Vec<i64>, RecordError> {
        self.values::<Int64Type>(group, place)
    }

    /// The values of a column of kind [`super::Kind::Unsigned`] in this row group.
    pub(crate) fn unsigned(&self, group: usize, place: usize) -> Result<Vec<u32>, RecordError> {
        let values = self.values::<Int32Type>(group, place)?;
        Ok(values.into_iter().map(i32::cast_unsigned).collect())
    }

    /// The values of a column of kind [`super::Kind::Real`] in this row group.
    pub(crate) fn reals(&self, group: usize, place: usize) -> Result<Vec<f64>, RecordError> {
        self.values::<DoubleType>(group, place)
    }

    /// This file is damaged.
    pub(crate) fn damaged(&self, what: impl Into<String>) -> RecordError {
        RecordError::damaged(&self.path, what)
    }

    fn values<T: DataType>(&self, group: usize, place: usize) -> Result<Vec<T::T>, RecordError> {
        guarded(&self.path, || self.decode::<T>(group, place))
    }

    fn decode<T: DataType>(&self, group: usize, place: usize) -> Result<Vec<T::T>, RecordError> {
        let error = read_error(&self.path);
        let group = self.file.get_row_group(group).map_err(&error)?;
        let rows = group.metadata().num_rows() as usize;
        let column = group.get_column_reader(place).map_err(&error)?;
        let mut column = get_typed_column_reader::<T>(column);
        let mut values = Vec::new();
        while values.len() < rows {
            let (records, _, _) = column
                .read_records(rows - values.len(), None, None, &mut values)
                .map_err(&error)?;
            if records == 0 {
                return Err(self.damaged("a column is shorter than its row group"));
            }
        }
        Ok(values)
    }

    /// The value of a key of the file's own metadata.
    pub(crate) fn metadata(&self, key: &str) -> Option<&str> {
        let metadata = self.file.metadata().file_metadata().key_value_metadata();
        let pair = metadata?.iter().find(|pair| pair.key == key)?;
        pair.value.as_deref()
    }

    fn check_format(&self) -> Result<(), RecordError> {
        match self.metadata(FORMAT_KEY).map(str::parse::<u32>) {
            Some(Ok(found)) if found != FORMAT_VERSION => {
                Err(RecordError::Format { path: self.path.clone(), found, reads: FORMAT_VERSION })
            }
            Some(Ok(_)) => Ok(()),
            Some(Err(_)) => Err(self.damaged(format!("its `{FORMAT_KEY}` is not a number"))),
            None => Err(self.damaged(format!("it was not written by throng: no `{FORMAT_KEY}`"))),
        }
    }

    /// The library trusts the places of columns, and allocates as much memory as they claim.
    fn check_bounds(&self, group: &RowGroupMetaData, bytes: u64) -> Result<(), RecordError> {
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let length = column.compressed_size();
            let inside = start >= 0 && length >= 0 && start.saturating_add(length) as u64 <= bytes;
            if !inside || column.num_values() != group.num_rows() || group.num_rows() < 0 {
                return Err(self.damaged("a column lies outside of the file"));
            }
        }
        Ok(())
    }
}

/// Turns a panic into damage: the library does not check all that it computes from a page, and
/// where that is nonsense it overflows or indexes outside. What it held is dropped unseen.
fn guarded<T>(
    path: &Path,
    read: impl FnOnce() -> Result<T, RecordError>,
) -> Result<T, RecordError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(RecordError::damaged(path, "its content is invalid")))
}
