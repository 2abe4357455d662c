//! Resources that a fault takes from an instance: room on its disk, files that it may open, the right time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use machine::processes::{family, file_limits, lowest_free_file};
use rustix::process::{Pid, Resource, Rlimit, prlimit};

/// The file that takes the room of a disk.
const FILLER: &str = ".full";
/// Written at a time, in bytes.
const BLOCK: usize = 64 << 10;
/// The file that says by how many nanoseconds an instance's wall clock is ahead; see [`SKEW_VARIABLE`].
const SKEW: &str = ".clock-skew";
/// The environment variable that names that file to our own services.
pub(crate) const SKEW_VARIABLE: &str = "THRONG_CLOCK_SKEW";

/// Takes all room of the disk that an instance's directory is.
pub(crate) fn fill(folder: &Path) -> io::Result<()> {
    let mut file = File::create(folder.join(FILLER))?;
    let block = [0; BLOCK];
    for size in [BLOCK, 1] {
        loop {
            match file.write(&block[..size]) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Gives it back. A disk that is another meanwhile is not full.
pub(crate) fn empty(folder: &Path) -> io::Result<()> {
    remove(&folder.join(FILLER))
}

/// Removes a file if it is there.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The limits on open files of a process, as they were.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLimits {
    pid: u32,
    soft: u64,
    hard: u64,
}

/// Lets a process and all that descend from it open no further file. Those that end meanwhile are left out.
pub(crate) fn exhaust_files(pid: u32) -> Vec<FileLimits> {
    let processes = family(pid).into_iter();
    let limits = processes.filter_map(|pid| {
        let (soft, hard) = file_limits(pid)?;
        let next = lowest_free_file(pid)?.min(soft);
        set_limit(pid, next, hard).then_some(FileLimits { pid, soft, hard })
    });
    limits.collect()
}

/// Lets a process open as many files as before. One that has ended has no limits any more.
pub(crate) fn restore_files(limits: &FileLimits) {
    set_limit(limits.pid, limits.soft, limits.hard);
}

fn set_limit(pid: u32, soft: u64, hard: u64) -> bool {
    let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| prlimit(Some(pid), Resource::Nofile, limit).is_ok())
}

/// The file that a service reads by how much its clock is wrong.
pub(crate) fn skew_file(folder: &Path) -> std::path::PathBuf {
    folder.join(SKEW)
}

/// Lets the wall clock of an instance be ahead by this much.
pub(crate) fn skew(folder: &Path, by_ns: i64) -> io::Result<()> {
    let file = skew_file(folder);
    let new = file.with_extension("new");
    fs::write(&new, by_ns.to_string())?;
    fs::rename(new, file)
}

/// Lets the clock be right again. Without the file it is, which a full disk does not prevent.
pub(crate) fn set_right(folder: &Path) -> io::Result<()> {
    let file = skew_file(folder);
    remove(&file.with_extension("new"))?;
    remove(&file)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_has_gone_already_is_undone() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        assert!(empty(folder).is_ok() && set_right(folder).is_ok());
        skew(folder, 5).unwrap();
        // As it is left by a disk that was full.
        File::create(skew_file(folder).with_extension("new")).unwrap();
        set_right(folder).unwrap();
        assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    }

    #[test]
    fn a_process_whose_files_are_exhausted_opens_none_until_it_may() {
        let mut shell = Command::new("sh");
        // Each line that it reads lets it open a file.
        shell.args([
            "-c",
            "while read _; do if cat </dev/null; then echo opened; else echo failed; fi; done 2>/dev/null",
        ]);
        let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut orders = shell.stdin.take().unwrap();
        let mut answers = io::BufRead::lines(io::BufReader::new(shell.stdout.take().unwrap()));
        let mut opens = || {
            orders.write_all(b"\n").unwrap();
            answers.next().unwrap().unwrap() == "opened"
        };
        assert!(opens());
        let limits = exhaust_files(shell.id());
        assert_eq!(limits.len(), 1);
        assert!(!opens());
        limits.iter().for_each(restore_files);
        assert!(opens());
        drop(orders);
        shell.wait().unwrap();
    }
}
