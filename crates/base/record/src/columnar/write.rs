//! Writing tables, and copying parts of them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;

use super::{Field, Metadata, Packing, read_error, schema, write_error};
use crate::{Durability, RecordError, whole};

/// Rows in a page. Each costs a header of some 30 bytes; one of this size takes some ten microseconds
/// to encode, and its buffers are small enough for the allocator to keep them.
const PAGE_ROWS: usize = 1 << 12;

/// The values of one column of a row group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Column<'a> {
    Long(&'a [i64]),
    Unsigned(&'a [i32]),
    Real(&'a [f64]),
}

/// A table in the making; it has its name only once it is whole.
pub(crate) struct TableWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: SerializedFileWriter<File>,
    durability: Durability,
}

impl TableWriter {
    /// Begins the file that shall stand at `path`.
    pub(crate) fn create(
        path: PathBuf,
        fields: &[Field],
        metadata: &Metadata,
        durability: Durability,
    ) -> Result<TableWriter, RecordError> {
        let temporary = whole::temporary(&path);
        let file = File::create(&temporary).map_err(RecordError::io("create", &path))?;
        let file = schema(fields)
            .and_then(|schema| {
                SerializedFileWriter::new(file, schema, Arc::new(properties(fields, metadata)))
            })
            .map_err(write_error(&path))?;
        Ok(TableWriter { path, temporary, file, durability })
    }

    /// Writes the columns, all of one length, in the order of the fields. `pause` is called after
    /// each page, some ten microseconds of work.
    pub(crate) fn write_row_group<'a>(
        &mut self,
        columns: impl IntoIterator<Item = Column<'a>>,
        pause: &mut dyn FnMut(),
    ) -> Result<(), RecordError> {
        let error = write_error(&self.path);
        let mut group = self.file.next_row_group().map_err(&error)?;
        for column in columns {
            write_column(&mut group, column, pause).map_err(&error)?;
        }
        group.close().map_err(&error)?;
        Ok(())
    }

    /// Ends the file and puts it in its place.
    pub(crate) fn finish(mut self) -> Result<(), RecordError> {
        if let Err(error) = self.file.finish() {
            let error = write_error(&self.path)(error);
            self.abandon();
            return Err(error);
        }
        whole::rename(&self.temporary, &self.path, self.durability)
    }

    /// Takes away what was written.
    pub(crate) fn abandon(self) {
        drop(self.file);
        // Only the space matters, and the caller has an error to return already.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// A table whose row groups are copied to another one as they are.
pub(crate) struct SourceTable {
    file: File,
    groups: Vec<RowGroupMetaData>,
}

impl SourceTable {
    /// Opens the table at `path`, which must have the same fields as the one that it is copied to.
    pub(crate) fn open(path: &Path) -> Result<SourceTable, RecordError> {
        let file = regular::open(path).map_err(RecordError::io("read", path))?;
        let metadata =
            ParquetMetaDataReader::new().parse_and_finish(&file).map_err(read_error(path))?;
        Ok(SourceTable { file, groups: metadata.row_groups().to_vec() })
    }

    /// The rows of each row group.
    pub(crate) fn rows(&self) -> Vec<usize> {
        let rows = self.groups.iter().map(|group| group.num_rows() as usize);
        rows.collect()
    }

    /// Copies the encoded columns of a row group.
    pub(crate) fn copy(&self, group: usize, to: &mut TableWriter) -> Result<(), RecordError> {
        let Some(group) = self.groups.get(group) else {
            return Ok(());
        };
        append_group(to, &self.file, group).map_err(write_error(&to.path))
    }
}

fn append_group(
    joined: &mut TableWriter,
    file: &File,
    group: &RowGroupMetaData,
) -> Result<(), ParquetError> {
    let mut copy = joined.file.next_row_group()?;
    for column in group.columns() {
        let chunk = ColumnCloseResult {
            bytes_written: column.compressed_size() as u64,
            rows_written: group.num_rows() as u64,
            metadata: column.clone(),
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        copy.append_column(file, chunk)?;
    }
    copy.close()?;
    Ok(())
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    column: Column<'_>,
    pause: &mut dyn FnMut(),
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("more columns than fields".to_owned());
    let mut writer = group.next_column()?.ok_or_else(missing)?;
    match column {
        Column::Long(values) => {
            write_pages(writer.typed::<Int64Type>(), values, pause)?;
        }
        Column::Unsigned(values) => {
            write_pages(writer.typed::<Int32Type>(), values, pause)?;
        }
        Column::Real(values) => {
            write_pages(writer.typed::<DoubleType>(), values, pause)?;
        }
    }
    writer.close()
}

fn write_pages<T: DataType>(
    writer: &mut ColumnWriterImpl<'_, T>,
    values: &[T::T],
    pause: &mut dyn FnMut(),
) -> Result<(), ParquetError> {
    for page in values.chunks(PAGE_ROWS) {
        writer.write_batch(page, None, None)?;
        pause();
    }
    Ok(())
}

fn properties(fields: &[Field], metadata: &Metadata) -> WriterProperties {
    let metadata =
        metadata.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
    let common = WriterProperties::builder()
        .set_created_by("throng".to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_key_value_metadata(Some(metadata.collect()))
        .set_compression(Compression::LZ4_RAW)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_write_batch_size(PAGE_ROWS)
        .set_data_page_row_count_limit(PAGE_ROWS);
    let columns = fields.iter().fold(common, |properties, field| {
        let encoding = match field.packing {
            Packing::Differences => Encoding::DELTA_BINARY_PACKED,
            Packing::Repeats => Encoding::PLAIN,
        };
        properties.set_column_encoding(ColumnPath::from(field.name), encoding)
    });
    columns.build()
}
