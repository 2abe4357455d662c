//! A worker's reports, on its machine's disk until the controller has stored them.
//!
//! A spool is a directory with the bytes of one connection in files of some megabytes, each named after the position of
//! its first byte. It has a bound. Above it, what the controller has stored is removed, oldest first; what it has not
//! stored stays, and the spool is full. A lock distinguishes a spool in use from one that was left behind
//! by a process that died.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::procfs;
use serde::{Deserialize, Serialize};

use crate::cards::parse;
use crate::names;

/// The option that chooses another directory of spools.
pub(crate) const OPTION: &str = "--spool";
/// A file of the spool has about this number of bytes.
const SEGMENT_BYTES: u64 = 16 << 20;
/// The file with the owner of a spool.
const OWNER: &str = "owner.json";
/// The file of a spool that is locked.
const LOCK: &str = "lock";
/// How the names of files with bytes end.
const SEGMENT: &str = ".spool";
/// Spools that were left behind are removed when nothing was written to them for this time.
pub(crate) const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Permissions of others, and that others may create files.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o002;

/// The worker whose reports a spool holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    /// The server of its fleet.
    pub(crate) server: String,
    pub(crate) run: String,
    pub(crate) agent: String,
}

impl Owner {
    fn directory(&self, root: &Path) -> PathBuf {
        root.join(format!("{}.{}", self.run, self.agent))
    }
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
        directory.join(format!("{start:020}{SEGMENT}"))
    }

    fn create(directory: &Path, start: u64) -> io::Result<Segment> {
        let mut how = OpenOptions::new();
        how.read(true).append(true).create_new(true).mode(0o600);
        Ok(Segment { start, bytes: 0, file: how.open(Segment::path(directory, start))? })
    }
}

impl Spool {
    /// An empty spool below `root`, of which only this user may read.
    pub(crate) fn create(root: &Path, owner: &Owner, bytes_max: u64) -> io::Result<Spool> {
        let directory = owner.directory(root);
        prepare_root(root, OPTION)?;
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

    /// The spools below `root` that no process uses, of these owners. Those that are too old are removed, whoever's they
    /// are.
    pub(crate) fn left_behind(root: &Path, of: impl Fn(&Owner) -> bool) -> Vec<(Owner, Spool)> {
        let Ok(entries) = std::fs::read_dir(root) else {
            return Vec::new();
        };
        let directories = entries.flatten().map(|entry| entry.path());
        directories
            .filter(|path| is_spool(path))
            .filter(|path| !remove_if_old(path))
            .filter_map(|path| Spool::take_over(&path, &of))
            .collect()
    }

    /// The spool of this owner below `root`, however old, if no process uses it.
    pub(crate) fn find(root: &Path, owner: &Owner) -> Option<(Owner, Spool)> {
        let directory = owner.directory(root);
        let found = is_spool(&directory).then(|| Spool::take_over(&directory, |o| o == owner));
        found.flatten()
    }

    /// How long nothing was written to it.
    pub(crate) fn age(&self) -> Duration {
        age(&self.directory).unwrap_or_default()
    }

    /// Opens a spool that was left behind.
    fn take_over(directory: &Path, of: impl Fn(&Owner) -> bool) -> Option<(Owner, Spool)> {
        let owner: Owner = parse(&std::fs::read(directory.join(OWNER)).ok()?)?;
        let is_named = names::is_name(&owner.run) && names::is_name(&owner.agent);
        if !is_named || !of(&owner) {
            return None;
        }
        let lock = lock(directory).ok()?;
        let mut starts: Vec<u64> = std::fs::read_dir(directory)
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                name.to_str()?.strip_suffix(SEGMENT)?.parse().ok()
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
            self.segments.push_back(Segment::create(&self.directory, end)?);
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
        segment.file.read_exact_at(&mut bytes, position - segment.start)?;
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

/// Makes the directory of spools. Below one in which anybody may create files, as `/var/tmp` is, it must be ours and closed
/// to others: somebody else may have made it before us.
pub(crate) fn prepare_root(root: &Path, option: &str) -> io::Result<()> {
    let mut how = DirBuilder::new();
    how.mode(0o700).recursive(true).create(root)?;
    let parent = std::path::absolute(root)?;
    let parent = parent.parent().map(std::fs::metadata).transpose()?;
    if parent.is_none_or(|parent| parent.mode() & OTHERS_WRITE == 0) || is_private(root) {
        return Ok(());
    }
    let why = format!(
        "it must be a directory of this user that is closed to others; choose another one with {option}"
    );
    Err(io::Error::new(ErrorKind::PermissionDenied, why))
}

/// Whether this is a directory of ours that is closed to others.
pub(crate) fn is_private(directory: &Path) -> bool {
    let is_ours = |about: &std::fs::Metadata| {
        // The directory of a process is its user's.
        let own = std::fs::metadata(procfs::process(std::process::id()));
        own.is_ok_and(|process| process.uid() == about.uid())
    };
    std::fs::symlink_metadata(directory)
        .is_ok_and(|about| about.is_dir() && about.mode() & OTHERS == 0 && is_ours(&about))
}

/// Whether this is a spool of ours, and nothing else is in it.
fn is_spool(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    let is_named = |(run, agent)| names::is_name(run) && names::is_name(agent);
    if !name.and_then(|name| name.split_once('.')).is_some_and(is_named) || !is_private(directory) {
        return false;
    }
    let is_file_of_it = |name: &str| [OWNER, LOCK].contains(&name) || name.ends_with(SEGMENT);
    std::fs::read_dir(directory).is_ok_and(|entries| {
        let mut names = entries.flatten().map(|entry| entry.file_name());
        names.all(|name| name.to_str().is_some_and(is_file_of_it))
    })
}

/// Removes a spool that no process uses and that is too old; also one that was not made to its end.
fn remove_if_old(directory: &Path) -> bool {
    if age(directory).is_none_or(|age| age <= AGE_MAX) {
        return false;
    }
    let Ok(_lock) = lock(directory) else {
        return false;
    };
    // What cannot be removed is met again.
    let _ = std::fs::remove_dir_all(directory);
    true
}

/// How long nothing was written to a spool.
fn age(directory: &Path) -> Option<Duration> {
    let entries = std::fs::read_dir(directory).ok()?.flatten();
    let files = entries.filter(|entry| entry.file_name().to_string_lossy().ends_with(SEGMENT));
    let written = files.filter_map(|entry| entry.metadata().ok()?.modified().ok());
    let made = || std::fs::metadata(directory).ok()?.modified().ok();
    // A time that is to come is no age.
    let last = written.max().or_else(made)?;
    Some(last.elapsed().unwrap_or_default())
}

/// Locks the directory of a spool, or fails at once.
fn lock(directory: &Path) -> io::Result<File> {
    let mut how = OpenOptions::new();
    let lock = how.write(true).create(true).truncate(false).mode(0o600);
    let lock = lock.open(directory.join(LOCK))?;
    lock.try_lock()?;
    Ok(lock)
}
