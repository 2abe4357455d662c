//! A table of things that come and go, addressed by a small number that is used again.

use std::marker::PhantomData;

const NO_SLOT: u32 = u32::MAX;

/// Names an entry of a table by its place: each table has a type of its own for that, so that no key is
/// used with the wrong one.
pub trait Key: Copy {
    /// The key of the entry at this place.
    fn new(place: u32) -> Self;
    /// The place of its entry.
    fn place(self) -> u32;
}

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Names no entry.
            pub const NONE: $name = $name(u32::MAX);
        }

        impl Key for $name {
            fn new(place: u32) -> $name {
                $name(place)
            }

            fn place(self) -> u32 {
                self.0
            }
        }
    )+};
}

keys! {
    /// Names a user of a shard.
    UserKey
    /// Names a connection of a shard. The user of none is idle in the shared pool.
    ConnSlot
}

/// A place of a table.
#[derive(Debug)]
pub enum Entry<T> {
    /// In use.
    Taken(T),
    /// The next free slot.
    Free(u32),
}

/// The table. Keys are dense, so that other tables can run beside it.
#[derive(Debug)]
pub struct Slots<K, T> {
    entries: Vec<Entry<T>>,
    free: u32,
    count: usize,
    keys: PhantomData<K>,
}

impl<K: Key, T> Slots<K, T> {
    /// A table with room for this number of entries; it grows if there are more.
    pub fn with_capacity(count: usize) -> Slots<K, T> {
        Slots { entries: Vec::with_capacity(count), free: NO_SLOT, count: 0, keys: PhantomData }
    }

    /// How many entries are in use.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Puts a value into the place that was freed last, or a new one.
    pub fn insert(&mut self, value: T) -> K {
        self.count += 1;
        if self.free == NO_SLOT {
            self.entries.push(Entry::Taken(value));
            return K::new((self.entries.len() - 1) as u32);
        }
        let place = self.free;
        let old = std::mem::replace(&mut self.entries[place as usize], Entry::Taken(value));
        if let Entry::Free(next) = old {
            self.free = next;
        }
        K::new(place)
    }

    /// Frees the place: what was in it.
    pub fn remove(&mut self, key: K) -> Option<T> {
        let entry = self.entries.get_mut(key.place() as usize)?;
        if matches!(entry, Entry::Free(_)) {
            return None;
        }
        let old = std::mem::replace(entry, Entry::Free(self.free));
        self.free = key.place();
        self.count -= 1;
        match old {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    /// The entry of the key, unless its slot is free.
    pub fn get(&self, key: K) -> Option<&T> {
        match self.entries.get(key.place() as usize)? {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    /// The entry of the key, unless its slot is free.
    pub fn get_mut(&mut self, key: K) -> Option<&mut T> {
        match self.entries.get_mut(key.place() as usize)? {
            Entry::Taken(value) => Some(value),
            Entry::Free(_) => None,
        }
    }

    /// The keys in use, in order.
    pub fn keys(&self) -> Vec<K> {
        let taken = self.entries.iter().enumerate();
        taken
            .filter(|(_, e)| matches!(e, Entry::Taken(_)))
            .map(|(place, _)| K::new(place as u32))
            .collect()
    }
}

impl<K: Key, T> std::ops::Index<K> for Slots<K, T> {
    type Output = T;
    /// Panics if the slot is free: the caller's table is out of step.
    fn index(&self, key: K) -> &T {
        self.get(key).expect("the key names a taken slot")
    }
}

impl<K: Key, T> std::ops::IndexMut<K> for Slots<K, T> {
    fn index_mut(&mut self, key: K) -> &mut T {
        self.get_mut(key).expect("the key names a taken slot")
    }
}
