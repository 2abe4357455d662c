//! What a worker reports, on its machine's disk until the controller has stored it.
//!
//! A spool is a directory with the bytes of one connection in files of some megabytes, each named after the position of
//! its first byte. It has a bound. Above it, what the controller has stored is removed, oldest first; what it has not
//! stored stays, and the spool is full. A lock distinguishes a spool in use from one that was left behind
//! by a process that died.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cards::parse;

/// A file of the spool has about this number of bytes.
const SEGMENT_BYTES: u64 = 16 << 20;
/// What a spool is of.
const OWNER: &str = "owner.json";
/// Its file that is locked.
const LOCK: &str = "lock";
/// Spools that were left behind are removed after this time, as their streams are.
const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Whose reports a spool holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// The server of its fleet.
    pub(crate) server: String,
    pub(crate) run: String,
    pub(crate) agent: String,
}

/// The bytes of one connection.
#[derive(Debug)]
pub(crate) struct Spool {
    directory: PathBuf,
    /// Oldest first; never empty.
    segments: VecDeque<Segment>,
    /// The controller has stored all before this position.
    stored: u64,
    bytes_max: u64,
    _lock: File,
}

#[derive(Debug)]
struct Segment {
    start: u64,
    bytes: u64,
    file: File,
}

impl Segment {
    fn end(&self) -> u64 {
        self.start + self.bytes
    }

    fn path(directory: &Path, start: u64) -> PathBuf {
        directory.join(format!("{start:020}.spool"))
    }

    fn create(directory: &Path, start: u64) -> io::Result<Segment> {
        let mut how = OpenOptions::new();
        how.read(true).append(true).create_new(true).mode(0o600);
        Ok(Segment {
            start,
            bytes: 0,
            file: how.open(Segment::path(directory, start))?,
        })
    }
}

impl Spool {
    /// An empty spool below `root`, of which only this user may read.
    pub(crate) fn create(root: &Path, owner: &Owner, bytes_max: u64) -> io::Result<Spool> {
        let directory = root.join(format!("{}.{}", owner.run, owner.agent));
        let mut how = DirBuilder::new();
        how.mode(0o700).recursive(true).create(root)?;
        DirBuilder::new().mode(0o700).create(&directory)?;
        let lock = lock(&directory)?;
        let text = serde_json::to_vec(owner).map_err(io::Error::other)?;
        std::fs::write(directory.join(OWNER), text)?;
        Ok(Spool {
            segments: [Segment::create(&directory, 0)?].into(),
            directory,
            stored: 0,
            bytes_max,
            _lock: lock,
        })
    }

    /// The spools below `root` that no process uses, of these owners.
    pub(crate) fn left_behind(root: &Path, of: impl Fn(&Owner) -> bool) -> Vec<(Owner, Spool)> {
        let Ok(entries) = std::fs::read_dir(root) else {
            return Vec::new();
        };
        let directories = entries.flatten().map(|entry| entry.path());
        directories
            .filter(|path| path.is_dir())
            .filter_map(|path| Spool::take_over(&path, &of))
            .collect()
    }

    /// Opens a spool that was left behind; one that is too old is removed.
    fn take_over(directory: &Path, of: impl Fn(&Owner) -> bool) -> Option<(Owner, Spool)> {
        let owner: Owner = parse(&std::fs::read(directory.join(OWNER)).ok()?)?;
        if !of(&owner) {
            return None;
        }
        let lock = lock(directory).ok()?;
        let age = || lock.metadata().ok()?.modified().ok()?.elapsed().ok();
        if age().is_some_and(|age| age > AGE_MAX) {
            // What cannot be removed is met again.
            let _ = std::fs::remove_dir_all(directory);
            return None;
        }
        let mut starts: Vec<u64> = std::fs::read_dir(directory)
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                name.to_str()?.strip_suffix(".spool")?.parse().ok()
            })
            .collect();
        starts.sort_unstable();
        let mut segments: VecDeque<Segment> = VecDeque::new();
        for start in starts {
            let mut how = OpenOptions::new();
            let file = how.read(true).append(true);
            let file = file.open(Segment::path(directory, start)).ok()?;
            // Nothing is sent from behind a gap.
            if segments.back().is_some_and(|last| last.end() != start) {
                break;
            }
            let bytes = file.metadata().ok()?.len();
            segments.push_back(Segment { start, bytes, file });
        }
        let stored = segments.front()?.start;
        let spool = Spool {
            directory: directory.to_owned(),
            segments,
            stored,
            bytes_max: u64::MAX,
            _lock: lock,
        };
        Some((owner, spool))
    }

    /// The position of the oldest byte that is kept.
    pub(crate) fn start(&self) -> u64 {
        self.segments.front().map_or(0, |segment| segment.start)
    }

    /// Behind the newest.
    pub(crate) fn end(&self) -> u64 {
        self.segments.back().map_or(0, Segment::end)
    }

    /// Adds bytes, and removes what was stored and is too much.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let end = self.end();
        let is_long = |segment: &Segment| segment.bytes >= SEGMENT_BYTES;
        if self.segments.back().is_none_or(is_long) {
            self.segments
                .push_back(Segment::create(&self.directory, end)?);
        }
        let Some(last) = self.segments.back_mut() else {
            return Ok(());
        };
        last.file.write_all(bytes)?;
        last.bytes += bytes.len() as u64;
        self.trim();
        Ok(())
    }

    fn trim(&mut self) {
        while self.end() - self.start() > self.bytes_max && self.segments.len() > 1 {
            let Some(front) = self.segments.pop_front_if(|s| s.end() <= self.stored) else {
                return;
            };
            // One that cannot be removed goes with the directory.
            let _ = std::fs::remove_file(Segment::path(&self.directory, front.start));
        }
    }

    /// Bytes from `position` on, `bytes_max` at most; none at the end.
    pub(crate) fn read(&self, position: u64, bytes_max: usize) -> io::Result<Vec<u8>> {
        let holds = |segment: &&Segment| (segment.start..segment.end()).contains(&position);
        let Some(segment) = self.segments.iter().find(holds) else {
            return Ok(Vec::new());
        };
        let left = segment.end() - position;
        let mut bytes = vec![0; bytes_max.min(usize::try_from(left).unwrap_or(bytes_max))];
        segment
            .file
            .read_exact_at(&mut bytes, position - segment.start)?;
        Ok(bytes)
    }

    /// The controller has stored all before this position.
    pub(crate) fn mark_stored(&mut self, position: u64) {
        self.stored = self.stored.max(position.min(self.end()));
    }

    /// Whether what is not stored has reached the bound.
    pub(crate) fn is_full(&self) -> bool {
        self.end() - self.stored.max(self.start()) >= self.bytes_max
    }

    /// Removes it: the run is over.
    pub(crate) fn remove(&self) {
        // What stays is removed as too old.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Locks the directory of a spool, or fails at once.
fn lock(directory: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    let lock = how.write(true).create(true).truncate(false).mode(0o600);
    let lock = lock.open(directory.join(LOCK))?;
    lock.try_lock()?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            server: "h:1".to_owned(),
            run: "r".to_owned(),
            agent: "a".to_owned(),
        }
    }

    /// Everything from the oldest byte on.
    fn contents(spool: &Spool) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let piece = spool
                .read(spool.start() + all.len() as u64, 7 << 20)
                .unwrap();
            if piece.is_empty() {
                return all;
            }
            all.extend(piece);
        }
    }

    #[test]
    fn what_was_left_behind_is_read_from_the_beginning_by_one_process() {
        let root = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(root.path(), &owner(), 1 << 30).unwrap();
        let frame: Vec<u8> = (0..5_u32 << 20).map(|n| n as u8).collect();
        for _ in 0..5 {
            spool.append(&frame).unwrap();
        }
        assert_eq!(spool.segments.len(), 2);
        assert!(
            Spool::left_behind(root.path(), |_| true).is_empty(),
            "it is in use"
        );
        let (all, end) = (contents(&spool), spool.end());
        assert_eq!((all.len() as u64, end), (25 << 20, 25 << 20));
        assert!(all == frame.repeat(5));
        drop(spool);
        let left = Spool::left_behind(root.path(), |_| true);
        let [(found, spool)] = &left[..] else {
            panic!("{left:?}");
        };
        assert_eq!((found, spool.end()), (&owner(), end));
        assert!(contents(spool) == all);
        assert!(
            Spool::left_behind(root.path(), |_| true).is_empty(),
            "it was taken"
        );
        spool.remove();
        drop(left);
        assert!(
            Spool::left_behind(root.path(), |_| true).is_empty(),
            "it is gone"
        );
    }

    #[test]
    fn above_the_bound_what_was_stored_goes_and_the_rest_stays() {
        let root = tempfile::tempdir().unwrap();
        let mut spool = Spool::create(root.path(), &owner(), 20 << 20).unwrap();
        let frame = vec![1; 16 << 20];
        spool.append(&frame).unwrap();
        assert!(!spool.is_full());
        spool.append(&frame).unwrap();
        assert!(spool.is_full(), "nothing was stored");
        assert_eq!(spool.start(), 0);
        spool.mark_stored(17 << 20);
        assert!(!spool.is_full());
        spool.append(&frame).unwrap();
        // The first file is whole before the stored position; the second is not.
        assert_eq!((spool.start(), spool.end()), (16 << 20, 48 << 20));
        assert!(spool.is_full());
        spool.mark_stored(u64::MAX);
        assert!(!spool.is_full(), "no more than there is was stored");
    }

    #[test]
    fn what_is_no_spool_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        assert!(Spool::left_behind(&root.path().join("none"), |_| true).is_empty());
        let odd = root.path().join("odd");
        std::fs::create_dir(&odd).unwrap();
        std::fs::write(odd.join(OWNER), b"{").unwrap();
        assert!(Spool::left_behind(root.path(), |_| true).is_empty());
        let spool = Spool::create(root.path(), &owner(), 1).unwrap();
        let again = Spool::create(root.path(), &owner(), 1).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        drop(spool);
    }
}
