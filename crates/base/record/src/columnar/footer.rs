//! The schema in a Parquet file's footer, read here because the library recurses into a schema as deeply as the file
//! says, and makes as much room for a group's columns as it says. Tables of ours have no groups within groups, and
//! whatever does is refused.
//!
//! The footer is a struct in Thrift's compact protocol (`FileMetaData` of the Parquet format).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type};

use super::read_error;
use crate::RecordError;

/// After a footer: its length (4 bytes) and this.
const MAGIC: [u8; 4] = *b"PAR1";
/// Most columns and groups of a schema.
const ELEMENTS_MAX: usize = 1_000;
/// Deepest nesting of values that are skipped.
const LEVELS_MAX: usize = 16;
/// Kinds of values in the compact protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

/// A column of a schema, or its root.
#[derive(Debug, Default)]
struct Element {
    physical: Option<i64>,
    length: Option<i64>,
    repetition: Option<i64>,
    name: String,
    children: i64,
}

/// The schema of a file of this many bytes.
///
/// # Errors
/// If it cannot be read, or has groups.
pub(super) fn schema(file: &File, bytes: u64, path: &Path) -> Result<SchemaDescPtr, RecordError> {
    let damaged = |what: &str| RecordError::damaged(path, what);
    let read_at = |bytes: &mut [u8], at| {
        let read = file.read_exact_at(bytes, at);
        read.map_err(RecordError::io("read", path))
    };
    let mut tail = [0; 8];
    let tail_at = bytes.checked_sub(tail.len() as u64);
    let tail_at = tail_at.ok_or_else(|| damaged("it is too short for a table"))?;
    read_at(&mut tail, tail_at)?;
    let [a, b, c, d, magic @ ..] = tail;
    let length = u32::from_le_bytes([a, b, c, d]);
    let start = tail_at.checked_sub(u64::from(length));
    let start = start.filter(|_| magic == MAGIC);
    let start = start.ok_or_else(|| damaged("it has no footer of a table"))?;
    let mut footer = vec![0; length as usize];
    read_at(&mut footer, start)?;
    let elements = Bytes(&footer).elements();
    let elements = elements.ok_or_else(|| damaged("its schema is invalid"))?;
    flat(&elements)
        .ok_or_else(|| damaged("its schema is not that of a flat table"))?
        .map_err(read_error(path))
}

/// The schema of a root with columns; `None`: it is something else.
fn flat(elements: &[Element]) -> Option<Result<SchemaDescPtr, parquet::errors::ParquetError>> {
    let (root, columns) = elements.split_first()?;
    let is_flat = usize::try_from(root.children) == Ok(columns.len());
    if !is_flat || columns.iter().any(|column| column.children != 0) {
        return None;
    }
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let builder = Type::primitive_type_builder(&column.name, physical(column.physical?)?)
            .with_repetition(repetition(column.repetition?)?)
            .with_length(i32::try_from(column.length.unwrap_or(-1)).ok()?);
        match builder.build() {
            Ok(column) => fields.push(Arc::new(column)),
            Err(error) => return Some(Err(error)),
        }
    }
    let root = Type::group_type_builder(&root.name).with_fields(fields);
    Some(root.build().map(|root| Arc::new(SchemaDescriptor::new(Arc::new(root)))))
}

fn physical(number: i64) -> Option<Physical> {
    Some(match number {
        0 => Physical::BOOLEAN,
        1 => Physical::INT32,
        2 => Physical::INT64,
        3 => Physical::INT96,
        4 => Physical::FLOAT,
        5 => Physical::DOUBLE,
        6 => Physical::BYTE_ARRAY,
        7 => Physical::FIXED_LEN_BYTE_ARRAY,
        _ => return None,
    })
}

fn repetition(number: i64) -> Option<Repetition> {
    Some(match number {
        0 => Repetition::REQUIRED,
        1 => Repetition::OPTIONAL,
        2 => Repetition::REPEATED,
        _ => return None,
    })
}

/// The bytes that are still to be read. Every method returns `None` if they are malformed.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// The schema of `FileMetaData`, its field 2.
    fn elements(&mut self) -> Option<Vec<Element>> {
        let mut field = 0;
        while let Some(kind) = self.field(&mut field)? {
            if field != 2 {
                self.skip(kind, 0)?;
                continue;
            }
            let (kind, count) = self.list()?;
            if kind != STRUCT || count > ELEMENTS_MAX {
                return None;
            }
            return (0..count).map(|_| self.element()).collect();
        }
        None
    }

    fn element(&mut self) -> Option<Element> {
        let mut element = Element::default();
        let mut field = 0;
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind) {
                (1, I32) => element.physical = Some(self.integer()?),
                (2, I32) => element.length = Some(self.integer()?),
                (3, I32) => element.repetition = Some(self.integer()?),
                (4, BINARY) => {
                    let name = self.binary()?;
                    element.name = String::from_utf8(name.to_vec()).ok()?;
                }
                (5, I32) => element.children = self.integer()?,
                _ => self.skip(kind, 0)?,
            }
        }
        Some(element)
    }

    /// The kind of the next field of a struct, whose number goes to `field`; `Some(None)` at its end.
    fn field(&mut self, field: &mut i64) -> Option<Option<u8>> {
        let first = self.take(1)?[0];
        let step = first >> 4;
        let kind = first & 15;
        if kind == 0 {
            return Some(None);
        }
        *field = match step {
            0 => self.integer()?,
            step => field.checked_add(i64::from(step))?,
        };
        Some(Some(kind))
    }

    /// The kind of a list's items and how many they are: no more than there are bytes left.
    fn list(&mut self) -> Option<(u8, usize)> {
        let first = self.take(1)?[0];
        let count = match first >> 4 {
            15 => usize::try_from(self.number()?).ok()?,
            count => usize::from(count),
        };
        (count <= self.0.len()).then_some((first & 15, count))
    }

    fn skip(&mut self, kind: u8, level: usize) -> Option<()> {
        if level > LEVELS_MAX {
            return None;
        }
        match kind {
            TRUE | FALSE => {}
            BYTE => drop(self.take(1)?),
            // 16, 32 and 64 bits.
            4..=I64 => drop(self.number()?),
            DOUBLE => drop(self.take(8)?),
            BINARY => drop(self.binary()?),
            LIST | SET => {
                let (kind, count) = self.list()?;
                // Booleans take a byte each in a list.
                let kind = if kind == TRUE || kind == FALSE { BYTE } else { kind };
                (0..count).try_for_each(|_| self.skip(kind, level + 1))?;
            }
            STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, level + 1)?;
                }
            }
            // Maps are in no footer.
            _ => return None,
        }
        Some(())
    }

    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn binary(&mut self) -> Option<&[u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        self.take(length)
    }

    /// Seven bits in each byte, the lowest first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    /// A number with its sign in the lowest bit.
    fn integer(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Elements of a schema: root, groups within each other and a column.
    fn nested(groups: usize, children: u8) -> Vec<u8> {
        // Repetition (field 3) required, an empty name (field 4), its children (field 5).
        let group = [0x35, 0, 0x18, 0, 0x15, children * 2, 0];
        let column = [0x15, 2, 0x25, 0, 0x18, 1, b'a', 0];
        [group.repeat(groups), column.to_vec()].concat()
    }

    /// A file with nothing but a footer.
    fn file(elements_count: usize, elements: &[u8]) -> File {
        let mut footer = vec![0x15, 2, 0x19, 0xfc];
        let mut left = elements_count;
        while left >= 128 {
            footer.push((left % 128) as u8 | 128);
            left /= 128;
        }
        footer.push(left as u8);
        footer.extend_from_slice(elements);
        // No rows, no row groups.
        footer.extend([0x16, 0, 0x19, 0x0c, 0]);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"PAR1").unwrap();
        file.write_all(&footer).unwrap();
        file.write_all(&(footer.len() as u32).to_le_bytes()).unwrap();
        file.write_all(&MAGIC).unwrap();
        file
    }

    fn read(file: &File) -> Result<SchemaDescPtr, RecordError> {
        schema(file, file.metadata().unwrap().len(), Path::new("x"))
    }

    #[test]
    fn a_flat_schema_is_read() {
        let schema = read(&file(2, &nested(1, 1))).unwrap();
        assert_eq!(schema.num_columns(), 1);
        assert_eq!(schema.column(0).name(), "a");
        assert_eq!(schema.column(0).physical_type(), Physical::INT32);
    }

    #[test]
    fn groups_in_groups_are_refused_however_many() {
        let what = "its schema is not that of a flat table";
        for (groups, expected) in [(2, what), (999, what), (1_000_000, "its schema is invalid")] {
            let error = read(&file(groups + 1, &nested(groups, 1))).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn counts_that_are_wrong_are_refused() {
        for file in
            [file(2, &nested(1, 60)), file(1_000_000, &nested(1, 1)), file(3, &nested(1, 1))]
        {
            assert!(read(&file).is_err());
        }
        let mut short = tempfile::tempfile().unwrap();
        short.write_all(b"PAR1").unwrap();
        assert!(read(&short).is_err());
    }
}
