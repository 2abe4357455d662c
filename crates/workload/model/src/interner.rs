//! Texts as small numbers.

use std::sync::{Mutex, PoisonError};

/// Texts by small numbers, shared by several readers. The first `max` texts get one of their own.
#[derive(Debug)]
pub(crate) struct Interner {
    max: usize,
    all: Mutex<std::collections::HashMap<Box<[u8]>, u32>>,
}

/// Stands for all texts beyond the maximum.
pub(crate) const OVERFLOW: &[u8] = b"(others)";

impl Interner {
    pub(crate) fn new(max: usize) -> Interner {
        Interner { max, all: Mutex::default() }
    }

    /// The number of a text.
    pub(crate) fn number(&self, text: &[u8]) -> u32 {
        // A reader that panicked ended the process with it.
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = all.get(text) {
            return number;
        }
        let text = if all.len() < self.max { text } else { OVERFLOW };
        let next = all.len() as u32;
        *all.entry(text.into()).or_insert(next)
    }

    /// The texts by their numbers.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let all = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut texts = vec![String::new(); all.len()];
        for (text, number) in all {
            texts[number as usize] = String::from_utf8_lossy(&text).into_owned();
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_beyond_the_limit_share_a_number() {
        let names = Interner::new(2);
        assert_eq!((names.number(b"a"), names.number(b"b")), (0, 1));
        assert_eq!((names.number(b"c"), names.number(b"d"), names.number(b"a")), (2, 2, 0));
        assert_eq!(names.into_texts(), ["a", "b", "(others)"]);
    }
}
