//! A table of things that come and go, addressed by a small number that is used again.

const NO_SLOT: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) enum Entry<T> {
    Taken(T),
    /// The next free slot.
    Free(u32),
}

/// The table. Keys are dense, so that other tables can run beside it.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    count: usize,
}

impl<T> Slots<T> {
    pub(crate) fn with_capacity(count: usize) -> Slots<T> {
        Slots {
            entries: Vec::with_capacity(count),
            free: NO_SLOT,
            count: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        self.count += 1;
        if self.free == NO_SLOT {
            self.entries.push(Entry::Taken(value));
            return (self.entries.len() - 1) as u32;
        }
        let key = self.free;
        let old = std::mem::replace(&mut self.entries[key as usize], Entry::Taken(value));
        if let Entry::Free(next) = old {
            self.free = next;
        }
        key
    }

    pub(crate) fn remove(&mut self, key: u32) -> Option<T> {
        let entry = self.entries.get_mut(key as usize)?;
        if matches!(entry, Entry::Free(_)) {
            return None;
        }
        let old = std::mem::replace(entry, Entry::Free(self.free));
        self.free = key;
        self.count -= 1;
        match old {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    pub(crate) fn get(&self, key: u32) -> Option<&T> {
        match self.entries.get(key as usize)? {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: u32) -> Option<&mut T> {
        match self.entries.get_mut(key as usize)? {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    /// The keys in use, in order.
    pub(crate) fn keys(&self) -> Vec<u32> {
        let taken = self.entries.iter().enumerate();
        taken
            .filter(|(_, e)| matches!(e, Entry::Taken(_)))
            .map(|(key, _)| key as u32)
            .collect()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;
    /// Panics if the slot is free: the caller's table is out of step.
    fn index(&self, key: u32) -> &T {
        self.get(key).expect("the key names a taken slot")
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    fn index_mut(&mut self, key: u32) -> &mut T {
        self.get_mut(key).expect("the key names a taken slot")
    }
}
