//! Reads files that somebody names: regular ones alone, and no more of them than a limit.
//!
//! To open a pipe whose other end nobody has, or to read a device, takes for ever. Whoever may choose the name of a file, as the
//! author of a scenario or of a run directory, could stop its reader so.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file to be read. Whatever is no regular file is refused.
///
/// # Errors
/// Fails if the file cannot be opened, or is not a regular file ([`ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> io::Result<File> {
    // A device is not even opened: that alone may have effects.
    check(&fs::metadata(path)?)?;
    // Since then another process may have put a pipe there. Opened in this way, it does not wait for a writer.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Opens a file that the user names on the command line. As [`open()`]; but what this process has open already, as
/// `/dev/stdin` or a shell's `<(command)`, may be anything: the user has connected it.
///
/// # Errors
/// As those of [`open()`].
pub fn open_given(path: &Path) -> io::Result<File> {
    match is_open_file(path) {
        true => File::open(path),
        false => open(path),
    }
}

/// The bytes of a file, `bytes_max` at most.
///
/// # Errors
/// As those of [`open()`]; and if the file cannot be read, or is larger ([`ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, bytes_max)
}

/// The text of a file, `bytes_max` bytes at most.
///
/// # Errors
/// As those of [`read`]; and if the file is not UTF-8 ([`ErrorKind::InvalidData`]).
pub fn read_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read(path, bytes_max)?)
}

/// The bytes of a file that the user names on the command line, `bytes_max` at most.
///
/// # Errors
/// As those of [`open_given`] and [`read`].
pub fn read_given(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    whole(open_given(path)?, bytes_max)
}

/// The text of a file that the user names on the command line, `bytes_max` bytes at most.
///
/// # Errors
/// As those of [`open_given`] and [`read_text`].
pub fn read_given_text(path: &Path, bytes_max: u64) -> io::Result<String> {
    text(read_given(path, bytes_max)?)
}

/// The bytes of a stream until its end, `bytes_max` at most.
///
/// # Errors
/// Fails if it cannot be read, or has more ([`ErrorKind::FileTooLarge`]).
pub fn read_stream(stream: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(too_large(bytes_max)),
        false => Ok(bytes),
    }
}

/// Opens what is no regular file, such as a device or a pipe, to be written to. A pipe that nobody reads is refused, unless
/// this process has it open already.
///
/// # Errors
/// Fails if it cannot be opened, or is a pipe that nobody reads ([`ErrorKind::NotConnected`]).
pub fn open_to_write(path: &Path) -> io::Result<File> {
    let open = || File::options().create(true).append(true).open(path);
    let is_pipe = fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo());
    if !is_pipe || is_open_file(path) {
        return open();
    }
    // Opened in this way, it does not wait for a reader; and while it is open, it has a reader for the next one.
    let probe = File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    let _probe = probe.map_err(|error| match error.raw_os_error() {
        Some(libc::ENXIO) => {
            io::Error::new(ErrorKind::NotConnected, "it is a pipe that nobody reads")
        }
        _ => error,
    })?;
    open()
}

/// Whether the path is a process's name for a file that it has open: other names of that file may be gone.
pub fn is_open_file(path: &Path) -> bool {
    let named = |path: &Path| {
        let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
        folder.is_some_and(|folder| folder.starts_with("/proc"))
    };
    named(path) || fs::read_link(path).is_ok_and(|target| named(&target))
}

fn check(about: &Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

fn whole(file: File, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Of what is too large nothing is read. What grows meanwhile, or has no length, is met by the reader.
    match file.metadata()?.len() > bytes_max {
        true => Err(too_large(bytes_max)),
        false => read_stream(file, bytes_max),
    }
}

fn too_large(bytes_max: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {bytes_max} bytes"))
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    let text = String::from_utf8(bytes);
    text.map_err(|error| io::Error::new(ErrorKind::InvalidData, error.utf8_error().to_string()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};
    use std::sync::mpsc;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;

    const REFUSED: &str = "it is not a regular file";
    /// Far above what a refusal takes; a reader that waits for a pipe would wait for ever.
    const SOON: Duration = Duration::from_secs(10);

    /// What a reader says of a path, or that it does not end.
    fn said<T: Send + 'static>(
        path: &Path,
        read: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> String {
        let (sender, receiver) = mpsc::channel();
        let path = path.to_owned();
        std::thread::spawn(move || {
            // Nobody may be waiting any more.
            let _ = sender.send(read(&path).err().map(|error| error.to_string()));
        });
        let said = receiver.recv_timeout(SOON);
        said.map_or_else(|_| "it waits".to_owned(), Option::unwrap_or_default)
    }

    fn pipe(space: &TempDir) -> std::path::PathBuf {
        let path = space.path().join("pipe");
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    #[test]
    fn nothing_is_waited_for_that_is_no_file() {
        let space = tempfile::tempdir().unwrap();
        let pipe = pipe(&space);
        let link = space.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [pipe.as_path(), link.as_path(), space.path(), Path::new("/dev/zero")] {
            assert_eq!(said(path, open), REFUSED, "{}", path.display());
            assert_eq!(said(path, open_given), REFUSED, "{}", path.display());
            assert_eq!(said(path, |path| read(path, 5)), REFUSED, "{}", path.display());
            assert_eq!(said(path, |path| read_text(path, 5)), REFUSED, "{}", path.display());
            let given = said(path, |path| read_given_text(path, 5));
            assert_eq!(given, REFUSED, "{}", path.display());
        }
        assert_eq!(open(&space.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn no_pipe_is_written_to_that_nobody_reads() {
        let space = tempfile::tempdir().unwrap();
        let pipe = pipe(&space);
        assert_eq!(said(&pipe, open_to_write), "it is a pipe that nobody reads");
        // A reader waits for its writer.
        let path = pipe.clone();
        let (sender, receiver) = mpsc::channel();
        let reader = std::thread::spawn(move || sender.send(fs::read(path).unwrap()));
        let mut opened = open_to_write(&pipe);
        while opened.is_err() && !reader.is_finished() {
            std::thread::yield_now();
            opened = open_to_write(&pipe);
        }
        opened.unwrap().write_all(b"text").unwrap();
        assert_eq!(receiver.recv_timeout(SOON).unwrap(), b"text");
        assert!(open_to_write(Path::new("/dev/null")).is_ok());
    }

    #[test]
    fn no_more_is_read_than_is_wanted() {
        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("file");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert_eq!(read_given_text(&path, u64::MAX).unwrap(), "12345");
        let error = read(&path, 4).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 4 bytes");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_text(&path, 5).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    /// A file of 10 GiB without a block on the disk.
    #[test]
    fn nothing_is_read_of_what_is_too_large() {
        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("sparse");
        File::create(&path).unwrap().set_len(10 << 30).unwrap();
        let error = read(&path, 9 << 30).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }

    /// As `throng check <(command)`.
    #[test]
    fn what_a_user_has_connected_is_read() {
        let mut command = Command::new("echo").arg("text").stdout(Stdio::piped()).spawn().unwrap();
        let stdout = command.stdout.take().unwrap();
        let descriptor = stdout.as_raw_fd();
        let path = format!("/proc/self/fd/{descriptor}");
        assert_eq!(open(Path::new(&path)).unwrap_err().to_string(), REFUSED);
        assert_eq!(read_given_text(Path::new(&path), 5).unwrap(), "text\n");
        assert!(command.wait().unwrap().success());
    }
}
