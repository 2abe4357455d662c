//! Rows that stay on an agent's machine: where they are, for how long, and who may have them.
//!
//! A run's rows are in a directory of their own, `RUN.AGENT`: one file, or segments if the worker did not join them.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use serde::{Deserialize, Serialize};

use crate::names;
use crate::spool::is_private;

/// The file of a run's rows, and the folder of its segments, as `record` names them.
const WHOLE: &str = "requests.parquet";
const SEGMENTS: &str = "requests.parquet.parts";
/// How a segment's name ends.
const SEGMENT: &str = ".parquet";
/// Most bytes of a piece.
pub(crate) const PIECE_BYTES_MAX: usize = 512 << 10;
/// Most files of one answer.
pub(crate) const FILES_MAX: usize = 1_000;
/// How the answer begins that holds bytes of a file. All others are JSON.
pub(crate) const BYTES: u8 = 0;

/// The place where an agent keeps rows, and its limits.
#[derive(Debug, Clone)]
pub struct RowsKeep<'a> {
    pub directory: &'a Path,
    /// Bytes of the rows of one run.
    pub bytes_max: u64,
    /// After this time they are removed.
    pub age_max: Duration,
}

/// A request for an agent's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowsWhat {
    /// The names of the files of a run that follow this one.
    List { after: String },
    /// Bytes of a file, from here on.
    Piece { file: String, from: u64, bytes_max: u32 },
    /// Removes the files.
    Remove,
}

/// The answer to a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileList {
    pub(crate) refused: Option<String>,
    /// Names and bytes.
    #[serde(default)]
    pub(crate) files: Vec<(String, u64)>,
}

/// The directory of an agent's rows of a run.
pub(crate) fn directory(root: &Path, run: &str, agent: &str) -> PathBuf {
    root.join(format!("{run}.{agent}"))
}

/// The directory, if there is one. The error is for people.
fn find(root: &Path, run: &str, agent: &str) -> Result<PathBuf, String> {
    let found = names::is_name(run).then(|| directory(root, run, agent));
    let found = found.filter(|found| is_private(found));
    found.ok_or_else(|| {
        format!(
            "it has no rows of run {run} in {}: they were removed, or are in another --rows-dir",
            root.display()
        )
    })
}

/// The files of an agent's rows of a run that follow `after`, by name. The error is for people.
pub(crate) fn list(root: &Path, run: &str, agent: &str, after: &str) -> Result<FileList, String> {
    let directory = find(root, run, agent)?;
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |about| about.len());
    let whole = directory.join(WHOLE);
    let mut files = Vec::new();
    if whole.exists() {
        files.push((WHOLE.to_owned(), bytes(&whole)));
    } else {
        let entries = std::fs::read_dir(directory.join(SEGMENTS)).into_iter();
        for entry in entries.flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_segment(&name) {
                files.push((name, bytes(&entry.path())));
            }
        }
    }
    files.retain(|(name, _)| name.as_str() > after);
    files.sort();
    files.truncate(FILES_MAX);
    Ok(FileList { refused: None, files })
}

/// Bytes of a file behind the mark of such an answer; none at its end. The error is for people.
pub(crate) fn piece(
    root: &Path,
    run: &str,
    agent: &str,
    file: &str,
    from: u64,
    bytes_max: u32,
) -> Result<Bytes, String> {
    let directory = find(root, run, agent)?;
    let path = match file {
        WHOLE => directory.join(WHOLE),
        name if is_segment(name) => directory.join(SEGMENTS).join(name),
        _ => return Err(format!("{file:?} is no file of rows")),
    };
    let count = PIECE_BYTES_MAX.min(bytes_max as usize);
    let read = || -> io::Result<Bytes> {
        let file = regular::open(&path)?;
        let left = file.metadata()?.len().saturating_sub(from);
        let count = usize::try_from(left).map_or(count, |left| left.min(count));
        let mut bytes = BytesMut::with_capacity(count + 1);
        bytes.put_u8(BYTES);
        bytes.resize(count + 1, 0);
        file.read_exact_at(&mut bytes[1..], from)?;
        Ok(bytes.freeze())
    };
    read().map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Removes an agent's rows of a run. The error is for people.
pub(crate) fn remove(root: &Path, run: &str, agent: &str) -> Result<(), String> {
    let directory = find(root, run, agent)?;
    let removed = std::fs::remove_dir_all(&directory);
    removed.map_err(|error| format!("cannot remove {}: {error}", directory.display()))
}

/// Removes rows that are older than they are kept, of any agent but those of this run.
pub(crate) fn sweep(keep: &RowsKeep<'_>, running: Option<&str>) {
    let entries = std::fs::read_dir(keep.directory).into_iter();
    for entry in entries.flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of = name.split_once('.');
        let of = of.filter(|(run, agent)| names::is_name(run) && names::is_name(agent));
        let path = entry.path();
        let is_old = of.is_some_and(|(run, _)| Some(run) != running)
            && is_private(&path)
            && age(&path).is_some_and(|age| age > keep.age_max);
        if is_old {
            // What cannot be removed is met again.
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// How long nothing was written there.
fn age(directory: &Path) -> Option<Duration> {
    let paths = [directory.to_owned(), directory.join(WHOLE), directory.join(SEGMENTS)];
    let written = paths.iter().filter_map(|path| std::fs::metadata(path).ok()?.modified().ok());
    // A time that is to come is no age.
    Some(written.max()?.elapsed().unwrap_or_default())
}

/// Whether this is the name of a segment: a number.
fn is_segment(name: &str) -> bool {
    let number = name.strip_suffix(SEGMENT).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::private_directory;

    /// A directory of rows, with this file below it.
    fn kept(root: &Path, name: &str, file: &str) -> PathBuf {
        let directory = root.join(name);
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "0123456789").unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&directory, private).unwrap();
        directory
    }

    #[test]
    fn files_are_listed_and_read_in_pieces() {
        let space = private_directory();
        let root = space.path();
        kept(root, "r1.a1", WHOLE);
        for name in ["000002.parquet", "000001.parquet", "000003.parquet.tmp"] {
            kept(root, "r2.a1", &format!("{SEGMENTS}/{name}"));
        }
        let names = |run, after| {
            let files = list(root, run, "a1", after).unwrap().files;
            files.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names("r1", ""), [WHOLE]);
        assert_eq!(names("r2", ""), ["000001.parquet", "000002.parquet"]);
        assert_eq!(names("r2", "000001.parquet"), ["000002.parquet"]);
        let read = |file, from| piece(root, "r1", "a1", file, from, 4);
        assert_eq!(&read(WHOLE, 0).unwrap()[..], b"\x000123");
        assert_eq!(&read(WHOLE, 8).unwrap()[..], b"\x0089");
        assert_eq!(&read(WHOLE, 99).unwrap()[..], b"\x00");
        assert!(read("000001.parquet", 0).unwrap_err().contains("cannot read"));
    }

    #[test]
    fn nothing_else_is_given_away() {
        let space = private_directory();
        let root = space.path();
        kept(root, "r1.a1", WHOLE);
        let bad = |run, file| piece(root, run, "a1", file, 0, 4).unwrap_err();
        for file in ["", "..", "../r1.a1/requests.parquet", "/etc/passwd", ".parquet"] {
            assert!(bad("r1", file).contains("is no file of rows"), "{file}");
        }
        for run in ["", "..", "r2", "../x"] {
            assert!(bad(run, WHOLE).contains("it has no rows of run"), "{run}");
        }
        assert!(list(root, "r1", "a2", "").is_err());
        // Others may read it: we have not made it.
        let open = kept(root, "r3.a1", WHOLE);
        let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(open, all).unwrap();
        assert!(list(root, "r3", "a1", "").is_err());
    }

    #[test]
    fn rows_go_when_they_are_removed_or_old() {
        let space = private_directory();
        let root = space.path();
        let keep = |age_max| RowsKeep { directory: root, bytes_max: 1, age_max };
        let [one, two] = ["r1.a1", "r2.a1"].map(|name| kept(root, name, WHOLE));
        let other = kept(root, "notes", "text");
        remove(root, "r1", "a1").unwrap();
        assert!(!one.exists() && remove(root, "r1", "a1").is_err());
        sweep(&keep(Duration::from_secs(60)), None);
        sweep(&keep(Duration::ZERO), Some("r2"));
        assert!(two.exists());
        sweep(&keep(Duration::ZERO), None);
        assert!(!two.exists() && other.exists());
    }
}
