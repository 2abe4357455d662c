//! The dynamic table: fields that the peer put there, the newest first (RFC 7541 §2.3.2, §4).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::FIELD_OVERHEAD_BYTES;

/// The dynamic table of one direction. Empty, it owns no memory.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Names and values, the oldest first. Those before `start` are gone.
    bytes: Vec<u8>,
    start: usize,
    /// The lengths of names and values, the oldest first.
    fields: VecDeque<FieldLengths>,
    /// The size of the table by the rules of HPACK.
    size: usize,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Memory of the table.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.fields.capacity() * size_of::<FieldLengths>()
    }

    /// The field at this place, 0 being the newest.
    pub(super) fn get(&self, place: usize) -> Option<(&[u8], &[u8])> {
        if place >= self.fields.len() {
            return None;
        }
        let newer = self.fields.iter().rev().take(place);
        let after: usize = newer.map(FieldLengths::sum).sum();
        let field = self.fields[self.fields.len() - 1 - place];
        let end = self.bytes.len() - after;
        let whole = &self.bytes[end - field.sum()..end];
        Some(whole.split_at(field.name as usize))
    }

    /// Adds a field and drops old ones until the table counts no more than `size_max`. A field that is
    /// larger than that empties it, which is no error (§4.4).
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8], size_max: usize) {
        let size = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        self.shrink(size_max.saturating_sub(size));
        if size > size_max {
            return;
        }
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.fields.push_back(FieldLengths { name: name.len() as u32, value: value.len() as u32 });
        self.size += size;
    }

    /// Drops the oldest fields until the table counts no more than `size_max`.
    pub(super) fn shrink(&mut self, size_max: usize) {
        while self.size > size_max
            && let Some(oldest) = self.fields.pop_front()
        {
            self.start += oldest.sum();
            self.size -= oldest.sum() + FIELD_OVERHEAD_BYTES;
        }
        if self.fields.is_empty() {
            *self = Table::default();
        } else if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

/// Bytes of a field's name and value.
#[derive(Debug, Clone, Copy)]
struct FieldLengths {
    name: u32,
    value: u32,
}

impl FieldLengths {
    fn sum(&self) -> usize {
        self.name as usize + self.value as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A table of plain fields, searched from the end, is the oracle.
        #[test]
        fn it_holds_the_newest_fields(
            fields in proptest::collection::vec(("[a-z]{0,40}", "[a-z]{0,60}"), 0..60),
            size_max in 0_usize..600,
        ) {
            let mut table = Table::default();
            let mut oracle: Vec<(&[u8], &[u8])> = Vec::new();
            for (name, value) in &fields {
                table.insert(name.as_bytes(), value.as_bytes(), size_max);
                oracle.insert(0, (name.as_bytes(), value.as_bytes()));
                let mut size = 0;
                let mut count = 0;
                for (name, value) in &oracle {
                    size += name.len() + value.len() + 32;
                    if size > size_max {
                        break;
                    }
                    count += 1;
                }
                oracle.truncate(count);
                prop_assert_eq!(table.len(), count);
                for (place, field) in oracle.iter().enumerate() {
                    prop_assert_eq!(table.get(place), Some(*field));
                }
                prop_assert_eq!(table.get(count), None);
                prop_assert!(table.memory_bytes() <= 4 * size_max.max(64));
            }
        }
    }
}
