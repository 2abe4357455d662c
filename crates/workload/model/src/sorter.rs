//! Sorting more than memory holds: sorted runs, in memory as long as there is room and in files beyond,
//! merged as they are read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// An item to sort: a few numbers of a fixed size.
pub(crate) trait Item: Ord + Copy {
    /// Bytes in a file.
    const BYTES: usize;
    /// Writes exactly that many.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads exactly that many.
    fn get(bytes: &[u8]) -> Self;
}

/// Items of one run.
pub(crate) const RUN_ITEMS: usize = 1 << 20;

/// A directory for runs that is gone when this is.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the directory.
    pub(crate) fn new(path: PathBuf) -> io::Result<Scratch> {
        std::fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is in a directory whose name says what it was.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A sorted run.
#[derive(Debug)]
pub(crate) enum Run<T> {
    Memory(Vec<T>),
    File(PathBuf),
}

/// Takes items in any order.
#[derive(Debug)]
pub(crate) struct Sorter<'s, T> {
    scratch: &'s Scratch,
    /// Distinguishes this sorter's files from others'.
    name: String,
    runs_in_memory_max: usize,
    current: Vec<T>,
    runs: Vec<Run<T>>,
}

impl<'s, T: Item> Sorter<'s, T> {
    /// `runs_in_memory_max` runs stay in memory, each of 2²⁰ items.
    pub(crate) fn new(
        scratch: &'s Scratch,
        name: String,
        runs_in_memory_max: usize,
    ) -> Sorter<'s, T> {
        Sorter { scratch, name, runs_in_memory_max, current: Vec::new(), runs: Vec::new() }
    }

    pub(crate) fn push(&mut self, item: T) -> io::Result<()> {
        self.current.push(item);
        if self.current.len() >= RUN_ITEMS {
            self.close_run()?;
        }
        Ok(())
    }

    fn close_run(&mut self) -> io::Result<()> {
        let mut items = std::mem::take(&mut self.current);
        items.sort_unstable();
        let run = if self.runs.len() < self.runs_in_memory_max {
            items.shrink_to_fit();
            Run::Memory(items)
        } else {
            let path = self.scratch.path().join(format!("{}-{}.run", self.name, self.runs.len()));
            let mut file = BufWriter::with_capacity(1 << 18, File::create(&path)?);
            let mut bytes = Vec::with_capacity(T::BYTES);
            for item in &items {
                bytes.clear();
                item.put(&mut bytes);
                file.write_all(&bytes)?;
            }
            file.into_inner().map_err(io::IntoInnerError::into_error)?;
            items.clear();
            // The next run reuses the room.
            self.current = items;
            Run::File(path)
        };
        self.runs.push(run);
        Ok(())
    }

    /// The sorted runs.
    pub(crate) fn finish(mut self) -> io::Result<Vec<Run<T>>> {
        if !self.current.is_empty() {
            self.close_run()?;
        }
        Ok(self.runs)
    }
}

/// Hands over all items of the runs in order. Can be called again.
pub(crate) fn merge<T: Item>(runs: &[Run<T>], mut each: impl FnMut(T)) -> io::Result<()> {
    let mut sources: Vec<Cursor<'_, T>> =
        runs.iter().map(Cursor::open).collect::<io::Result<_>>()?;
    let mut heap = BinaryHeap::with_capacity(sources.len());
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(item) = source.next()? {
            heap.push(Reverse((item, number)));
        }
    }
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((item, number)) = *top;
        each(item);
        match sources[number].next()? {
            Some(next) => *top = Reverse((next, number)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    Ok(())
}

enum Cursor<'r, T> {
    Memory(std::slice::Iter<'r, T>),
    File(BufReader<File>, Vec<u8>),
}

impl<'r, T: Item> Cursor<'r, T> {
    fn open(run: &'r Run<T>) -> io::Result<Cursor<'r, T>> {
        Ok(match run {
            Run::Memory(items) => Cursor::Memory(items.iter()),
            Run::File(path) => {
                let reader = BufReader::with_capacity(1 << 18, File::open(path)?);
                Cursor::File(reader, vec![0; T::BYTES])
            }
        })
    }

    fn next(&mut self) -> io::Result<Option<T>> {
        match self {
            Cursor::Memory(items) => Ok(items.next().copied()),
            Cursor::File(reader, bytes) => match reader.read_exact(bytes) {
                Ok(()) => Ok(Some(T::get(bytes))),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
                Err(error) => Err(error),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Item for u64 {
        const BYTES: usize = 8;
        fn put(&self, out: &mut Vec<u8>) {
            out.extend(self.to_le_bytes());
        }
        fn get(bytes: &[u8]) -> u64 {
            u64::from_le_bytes(bytes.try_into().unwrap())
        }
    }

    #[test]
    fn runs_merge_in_order_repeatedly() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let scratch = Scratch::new(path.clone()).unwrap();
        let mut sorter = Sorter::new(&scratch, "test".to_owned(), 1);
        let count = 2 * RUN_ITEMS as u64 + 77;
        for i in 0..count {
            sorter.push(i.wrapping_mul(0x9E37_79B9_7F4A_7C15)).unwrap();
        }
        let runs = sorter.finish().unwrap();
        assert_eq!(runs.iter().filter(|run| matches!(run, Run::File(_))).count(), 2);
        for _ in 0..2 {
            let mut last = 0;
            let mut seen = 0;
            merge(&runs, |item| {
                assert!(item >= last);
                last = item;
                seen += 1;
            })
            .unwrap();
            assert_eq!(seen, count);
        }
        drop(scratch);
        assert!(!path.exists());
    }
}
