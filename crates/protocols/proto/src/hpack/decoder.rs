//! Header blocks → fields (RFC 7541 §3, §6).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use super::table::Table;
use super::{TABLE_BYTES_DEFAULT, huffman, integer, statics};

/// Changes of the table's size at the front of a block: to the smallest and to the last of those agreed on
/// since the block before (§4.2).
const SIZE_UPDATES_MAX: u32 = 2;

/// An error of the peer in a header block. The connection is of no more use: both tables differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The block ends within a field.
    Truncated,
    /// A number does not fit in 32 bits.
    NumberTooLarge,
    /// An index names no field of the tables.
    BadIndex,
    /// A string is no Huffman code.
    BadHuffman,
    /// The table's size is changed after a field, or too often.
    MisplacedSizeUpdate,
    /// The table would be larger than what was agreed on.
    TableTooLarge,
}

impl Error {
    /// The error in words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Truncated => "a header block ends within a field",
            Self::NumberTooLarge => "a number in a header block is too large",
            Self::BadIndex => "an index in a header block names no field",
            Self::BadHuffman => "a string in a header block is no Huffman code",
            Self::MisplacedSizeUpdate => "a header block changes the table's size after a field",
            Self::TableTooLarge => "a header block makes the table larger than agreed",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl core::error::Error for Error {}

/// Room for strings that are decoded. One serves all connections.
#[derive(Debug, Default)]
pub struct Scratch {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Reads the header blocks of one connection, in their order.
#[derive(Debug)]
pub struct Decoder {
    /// Made when the peer adds the first field.
    table: Option<Box<Table>>,
    /// The most that the table may count: what we have announced.
    announced: u32,
    /// The most that the peer wants it to count.
    size_max: u32,
}

/// How a literal's field is to be treated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Literal {
    Added,
    NotAdded,
}

impl Decoder {
    /// For a fresh connection. `announced`: what we say our table may count; it holds at once, since no
    /// block comes before our settings.
    pub fn new(announced: u32) -> Self {
        Self { table: None, announced, size_max: announced.min(TABLE_BYTES_DEFAULT) }
    }

    /// Memory of the dynamic table.
    pub fn memory_bytes(&self) -> usize {
        let table = self.table.as_deref();
        table.map_or(0, |table| size_of::<Table>() + table.memory_bytes())
    }

    /// Reads a whole block and calls `each` with its fields, in their order.
    ///
    /// # Errors
    /// The block is wrong; fields before the fault were reported.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        scratch: &mut Scratch,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        let mut updates_left = SIZE_UPDATES_MAX;
        while let Some(&first) = block.first() {
            if first & 0xe0 == 0x20 {
                updates_left = updates_left.checked_sub(1).ok_or(Error::MisplacedSizeUpdate)?;
                self.resize(number(&mut block, 5)?)?;
                continue;
            }
            updates_left = 0;
            if first & 0x80 != 0 {
                let index = number(&mut block, 7)?;
                let (name, value) = self.field(index).ok_or(Error::BadIndex)?;
                each(name, value);
            } else if first & 0x40 != 0 {
                self.literal(&mut block, 6, Literal::Added, scratch, &mut each)?;
            } else {
                // Without indexing, or never indexed: that is for those who pass fields on.
                self.literal(&mut block, 4, Literal::NotAdded, scratch, &mut each)?;
            }
        }
        Ok(())
    }

    fn literal(
        &mut self,
        block: &mut &[u8],
        prefix_bits: u32,
        treatment: Literal,
        scratch: &mut Scratch,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        let index = number(block, prefix_bits)?;
        let Scratch { name: buffer, value } = scratch;
        let name = match index {
            0 => string(block, buffer)?,
            index => self.field(index).ok_or(Error::BadIndex)?.0,
        };
        let value = string(block, value)?;
        each(name, value);
        if treatment == Literal::Added {
            // The name may stand in a field that makes room for this one (§4.4).
            let name = name.to_vec();
            let table = self.table.get_or_insert_default();
            table.insert(&name, value, self.size_max as usize);
            self.drop_empty();
        }
        Ok(())
    }

    fn field(&self, index: u32) -> Option<(&[u8], &[u8])> {
        let index = index as usize;
        match index.checked_sub(statics::FIELDS.len() + 1) {
            Some(place) => self.table.as_ref()?.get(place),
            None => {
                let (name, value) = statics::field(index)?;
                Some((name.as_bytes(), value.as_bytes()))
            }
        }
    }

    fn resize(&mut self, size_max: u32) -> Result<(), Error> {
        if size_max > self.announced {
            return Err(Error::TableTooLarge);
        }
        self.size_max = size_max;
        if let Some(table) = &mut self.table {
            table.shrink(size_max as usize);
        }
        self.drop_empty();
        Ok(())
    }

    fn drop_empty(&mut self) {
        self.table.take_if(|table| table.len() == 0);
    }
}

fn number(block: &mut &[u8], prefix_bits: u32) -> Result<u32, Error> {
    let whole = *block;
    integer::take(block, prefix_bits).ok_or_else(|| {
        // Its last byte has no high bit; without one the block ended first.
        let ends = whole.iter().skip(1).any(|byte| byte & 0x80 == 0);
        if ends || whole.len() > 6 { Error::NumberTooLarge } else { Error::Truncated }
    })
}

/// A string (§5.2): as it stands in the block, or decoded to `buffer`.
fn string<'a, 'b: 'a>(block: &mut &'b [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Error> {
    let is_coded = *block.first().ok_or(Error::Truncated)? & 0x80 != 0;
    let len = number(block, 7)? as usize;
    let (text, rest) = block.split_at_checked(len).ok_or(Error::Truncated)?;
    *block = rest;
    if !is_coded {
        return Ok(text);
    }
    buffer.clear();
    huffman::decode(text, buffer).ok_or(Error::BadHuffman)?;
    Ok(buffer)
}
