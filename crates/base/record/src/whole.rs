//! Files that are written and read in one piece.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Durability, RecordError};

/// Longest file that is read in one piece, bytes: events of a million errors are a fifth of it.
const BYTES_MAX: u64 = 1 << 30;

/// The name of a file until it is complete.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Gives a complete file its name.
pub(crate) fn rename(from: &Path, to: &Path, durability: Durability) -> Result<(), RecordError> {
    if durability == Durability::PowerCut {
        let file = File::open(from).and_then(|file| file.sync_all());
        file.map_err(RecordError::io("sync", from))?;
    }
    fs::rename(from, to).map_err(RecordError::io("rename", from))?;
    durability.sync_folder_of(to)
}

/// Replaces the file in one step: readers see the old content or the new. A link stays, and what it
/// leads to is replaced. What is no regular file, as a device, a pipe or what a process has open
/// (`/dev/stdout`), is written to as it is.
///
/// # Errors
/// Fails if the system refuses, or if nobody reads a pipe; then the file is as it was.
pub fn write(path: &Path, content: &[u8]) -> Result<(), RecordError> {
    write_durable(path, content, Durability::Process)
}

/// As [`write()`], with a content that is too large to be held: it is written piece by piece.
///
/// # Errors
/// Fails if the system refuses, or if `content` fails; then the file is as it was.
pub fn write_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    replace(path, Durability::Process, content)
}

/// As [`write()`]; what it replaced, or its content, also survives a power cut if that is wanted.
pub(crate) fn write_durable(
    path: &Path,
    content: &[u8],
    durability: Durability,
) -> Result<(), RecordError> {
    replace(path, durability, |to| to.write_all(content))
}

fn replace(
    path: &Path,
    durability: Durability,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), RecordError> {
    let write_to = |file: File| {
        let mut to = BufWriter::new(file);
        content(&mut to)?;
        to.flush()
    };
    let Some(target) = replaceable(path) else {
        let opened = regular::open_to_write(path);
        return opened.and_then(write_to).map_err(RecordError::io("write", path));
    };
    let temporary = temporary(&target);
    let created = create_alone(&temporary, &target);
    let written = created.and_then(write_to).map_err(RecordError::io("write", path));
    if written.is_err() {
        // The rest of a file that did not fit is of no use, and the first error is the one that matters.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    rename(&temporary, &target, durability)
}

/// Makes a file with the permissions of the one that it will take the place of. What another process may have put there, as
/// a link to a file that is not ours, is not written to.
fn create_alone(path: &Path, replaced: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = File::options().write(true).create_new(true).open(path)?;
    if let Ok(about) = fs::metadata(replaced) {
        file.set_permissions(about.permissions())?;
    }
    Ok(file)
}

/// Which file another can take the place of; `None` where that would not be what is meant.
fn replaceable(path: &Path) -> Option<PathBuf> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() && !regular::is_open_file(path) => fs::canonicalize(path).ok(),
        Ok(_) => None,
        // Nothing is there yet, unless it is a link that leads nowhere.
        Err(_) => fs::symlink_metadata(path).is_err().then(|| path.to_owned()),
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    regular::read(path, BYTES_MAX)
}

/// Replaces the file by this value as indented JSON.
///
/// # Errors
/// Fails if the system refuses; then the file is as it was.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), RecordError> {
    write_json_durable(path, value, Durability::Process)
}

/// As [`write_json`]; see [`write_durable`].
pub(crate) fn write_json_durable<T: Serialize>(
    path: &Path,
    value: &T,
    durability: Durability,
) -> Result<(), RecordError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::io("write", path)(error.into()))?;
    text.push(b'\n');
    write_durable(path, &text, durability)
}

/// The file's text; `None`: there is no such file.
///
/// # Errors
/// Fails if the file cannot be read, is not a regular file, or is not UTF-8.
pub fn read(path: &Path) -> Result<Option<String>, RecordError> {
    let Some(bytes) = if_there(path, bytes(path))? else {
        return Ok(None);
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(text)),
        Err(error) => Err(RecordError::damaged(path, error.utf8_error().to_string())),
    }
}

/// The file that was opened, or its contents; `None`: there is no such file.
pub(crate) fn if_there<T>(path: &Path, opened: io::Result<T>) -> Result<Option<T>, RecordError> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::io("read", path)(error)),
    }
}

/// The value in the JSON file; `None`: there is no such file.
///
/// # Errors
/// Fails if the file cannot be read or is damaged.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    let Some(text) = read(path)? else {
        return Ok(None);
    };
    match serde_json::from_str(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(RecordError::damaged(path, error.to_string())),
    }
}

/// As [`read`], for files whose last character may be cut off: what is no UTF-8 is replaced.
pub(crate) fn read_lossy(path: &Path) -> Result<Option<String>, RecordError> {
    let bytes = if_there(path, bytes(path))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn a_link_stays_and_its_target_is_replaced() {
        let space = tempfile::tempdir().unwrap();
        let path = |name: &str| space.path().join(name);
        fs::create_dir(path("elsewhere")).unwrap();
        fs::write(path("elsewhere/file"), "old").unwrap();
        symlink("elsewhere/file", path("link")).unwrap();
        write(&path("link"), b"new").unwrap();
        assert_eq!(text(&path("elsewhere/file")), "new");
        assert!(fs::symlink_metadata(path("link")).unwrap().is_symlink());
        symlink("elsewhere/made", path("nowhere")).unwrap();
        write(&path("nowhere"), b"made").unwrap();
        assert_eq!(text(&path("elsewhere/made")), "made");
        let names = fs::read_dir(path("elsewhere")).unwrap().count();
        assert_eq!(names, 2, "nothing temporary stays");
    }

    #[test]
    fn a_content_that_ends_early_replaces_nothing() {
        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("file");
        let pieces = |to: &mut dyn Write| {
            to.write_all(b"one, ")?;
            to.write_all(b"two")
        };
        write_with(&path, pieces).unwrap();
        let half = |to: &mut dyn Write| {
            to.write_all(b"half")?;
            Err(io::Error::other("no more"))
        };
        write_with(&path, half).unwrap_err();
        assert_eq!(text(&path), "one, two");
        assert_eq!(fs::read_dir(space.path()).unwrap().count(), 1);
    }

    /// The name of the temporary file can be guessed, and the directory may be everybody's.
    #[test]
    fn a_link_at_the_temporary_name_is_not_followed() {
        let space = tempfile::tempdir().unwrap();
        let path = |name: &str| space.path().join(name);
        fs::write(path("victim"), "whole").unwrap();
        symlink("victim", temporary(&path("file"))).unwrap();
        write(&path("file"), b"new").unwrap();
        assert_eq!(text(&path("victim")), "whole");
        assert_eq!(text(&path("file")), "new");
        assert!(fs::symlink_metadata(path("file")).unwrap().is_file());
        assert_eq!(fs::read_dir(space.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;

        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("file");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_file_is_written_to_as_it_is() {
        let null = Path::new("/dev/null");
        write(null, b"gone").unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
        let links = tempfile::tempdir().unwrap();
        let link = links.path().join("null");
        symlink(null, &link).unwrap();
        write(&link, b"gone").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let full = write(Path::new("/dev/full"), b"too much").unwrap_err();
        assert!(full.is_disk_full(), "{full:?}");
        let space = tempfile::tempdir().unwrap();
        assert!(write(space.path(), b"a directory").is_err());
    }

    /// As `throng … > file` if it writes to `/dev/stdout`.
    #[test]
    fn a_file_that_is_open_is_written_to_and_not_replaced() {
        use std::os::fd::AsRawFd;

        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("file");
        let mut open = File::create(&path).unwrap();
        open.write_all(b"before ").unwrap();
        let name = format!("/proc/self/fd/{}", open.as_raw_fd());
        write(Path::new(&name), b"after").unwrap();
        assert_eq!(text(&path), "before after");
        let link = space.path().join("stdout");
        symlink(&name, &link).unwrap();
        write(&link, b", again").unwrap();
        assert_eq!(text(&path), "before after, again");
    }

    #[test]
    fn nothing_is_read_that_is_no_file() {
        for path in ["/dev/zero", "/dev"] {
            let error = read(Path::new(path)).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(cause, "it is not a regular file", "{path}");
        }
        assert_eq!(read(Path::new("/dev/none")).unwrap(), None);
    }
}
