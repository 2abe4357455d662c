//! A dense table with short-lived names: rows stand side by side, places are used again, and an
//! old name never means the row that took its place.

/// The name of a row, which is never used again (until 2³² rows have stood in its place).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    place: u32,
    generation: u32,
}

impl Key {
    /// The key as one number.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.place)
    }

    /// The key that [`Key::to_bits`] made `bits` of.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { place: bits as u32, generation: (bits >> 32) as u32 }
    }

    /// Index of the row.
    pub(crate) fn place(self) -> u32 {
        self.place
    }
}

/// A table of at most 2³² − 1 rows.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Vec<Entry<T>>,
    /// The first of the free places, which are linked.
    free: Option<u32>,
    len: usize,
}

#[derive(Debug)]
struct Entry<T> {
    generation: u32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Row(T),
    Free { next: Option<u32> },
}

impl<T> Table<T> {
    /// Size of a row, in bytes.
    #[cfg(test)]
    pub(crate) const ROW_BYTES: usize = size_of::<Entry<T>>();

    /// A table that does not have to grow for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { entries: Vec::with_capacity(rows), free: None, len: 0 }
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many places there are, free ones included. A row's place is below that.
    pub(crate) fn places(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Adds a row.
    pub(crate) fn insert(&mut self, row: T) -> Key {
        self.len += 1;
        if let Some(place) = self.free {
            let entry = &mut self.entries[place as usize];
            if let Content::Free { next } = entry.content {
                self.free = next;
            }
            entry.content = Content::Row(row);
            return Key { place, generation: entry.generation };
        }
        let place = u32::try_from(self.entries.len()).expect(
            "a row is an open file, of which \
            a table holds fewer",
        );
        self.entries.push(Entry { generation: 0, content: Content::Row(row) });
        Key { place, generation: 0 }
    }

    /// The row named `key`, if it is still there.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        match self.entries.get_mut(key.place as usize) {
            Some(Entry { generation, content: Content::Row(row) })
                if *generation == key.generation =>
            {
                Some(row)
            }
            _ => None,
        }
    }

    /// The row at `place`, and its name.
    pub(crate) fn at_mut(&mut self, place: u32) -> Option<(Key, &mut T)> {
        match self.entries.get_mut(place as usize) {
            Some(Entry { generation, content: Content::Row(row) }) => {
                let key = Key { place, generation: *generation };
                Some((key, row))
            }
            _ => None,
        }
    }

    /// Takes a row out.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.get_mut(key)?;
        let entry = &mut self.entries[key.place as usize];
        entry.generation = entry.generation.wrapping_add(1);
        let next = self.free.replace(key.place);
        self.len -= 1;
        match std::mem::replace(&mut entry.content, Content::Free { next }) {
            Content::Row(row) => Some(row),
            Content::Free { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again_and_names_are_not() {
        let mut table = Table::with_capacity(0);
        let keys: Vec<Key> = ["a", "b", "c"].map(|row| table.insert(row)).to_vec();
        assert_eq!(table.remove(keys[1]), Some("b"));
        assert_eq!(table.remove(keys[1]), None);
        assert_eq!(table.remove(keys[0]), Some("a"));
        assert_eq!((table.len(), table.places()), (1, 3));
        let d = table.insert("d");
        let e = table.insert("e");
        assert_eq!((d.place(), e.place()), (0, 1));
        assert_eq!(table.get_mut(keys[0]), None);
        assert_eq!(table.get_mut(d), Some(&mut "d"));
        assert_eq!(Key::from_bits(e.to_bits()), e);
        assert_eq!(table.at_mut(2), Some((keys[2], &mut "c")));
        assert_eq!(table.insert("f").place(), 3);
        assert_eq!(table.at_mut(4), None);
    }
}
