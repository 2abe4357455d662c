//! Joining segments to one table.

use std::path::{Path, PathBuf};

use super::SEGMENT_ROWS;
use super::rows::{self, FIELDS, Rows};
use crate::columnar::{Metadata, SourceTable, TableReader, TableWriter};
use crate::{Durability, RecordError};

/// Row groups with fewer rows are encoded again, together: each costs a kilobyte beside its rows, and its readers
/// the time to begin it.
const COPIED_ROWS_MIN: usize = SEGMENT_ROWS / 16;

/// Puts the rows of the tables, in this order, into one table at `path`. Large row groups are copied as they are.
pub(crate) fn join(
    parts: &[PathBuf],
    path: &Path,
    metadata: &Metadata,
    durability: Durability,
) -> Result<(), RecordError> {
    let mut joined = JoinedTable {
        table: TableWriter::create(path.to_owned(), FIELDS, metadata, durability)?,
        small: Rows::with_capacity(SEGMENT_ROWS),
    };
    let appended = parts.iter().try_for_each(|part| joined.append(part));
    match appended.and_then(|()| joined.write_small()) {
        Ok(()) => joined.table.finish(),
        Err(error) => {
            joined.table.abandon();
            Err(error)
        }
    }
}

struct JoinedTable {
    table: TableWriter,
    /// Rows of small groups that are not in the table yet.
    small: Rows,
}

impl JoinedTable {
    fn append(&mut self, part: &Path) -> Result<(), RecordError> {
        let copied = SourceTable::open(part)?;
        for (group, count) in copied.rows().into_iter().enumerate() {
            if count >= COPIED_ROWS_MIN {
                self.write_small()?;
                copied.copy(group, &mut self.table)?;
                continue;
            }
            if self.small.len() + count > SEGMENT_ROWS {
                self.write_small()?;
            }
            let table = TableReader::open(part)?;
            let places = rows::places(&table)?;
            self.small.extend(&rows::read_group(&table, &places, group)?);
        }
        Ok(())
    }

    fn write_small(&mut self) -> Result<(), RecordError> {
        if self.small.is_empty() {
            return Ok(());
        }
        self.table.write_row_group(self.small.columns(), &mut || {})?;
        self.small.clear();
        Ok(())
    }
}
