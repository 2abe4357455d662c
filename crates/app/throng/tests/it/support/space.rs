//! Places on the disk: a test's own directory, and the project's.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use record::Run;
use record::schema::Summary;
use tempfile::TempDir;
use testkit::needs::root;

use super::throng;

/// Compares with `testdata/cli/NAME.expected`, which `UPDATE=1` rewrites.
#[track_caller]
pub(crate) fn golden(name: &str, found: &str) {
    golden_file(&format!("testdata/cli/{name}.expected"), found);
}

/// Compares with a file of the project, which `UPDATE=1` rewrites.
#[track_caller]
pub(crate) fn golden_file(name: &str, found: &str) {
    let path = root().join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name}\n--- expected\n{expected}\n--- found\n{found}");
}

/// Files below a folder that hold this text.
pub(crate) fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// A link in the place of a file, which is put back when this is dropped.
pub(crate) struct LinkedFile {
    path: PathBuf,
    /// The file meanwhile; `None`: there was none.
    aside: Option<PathBuf>,
}

impl LinkedFile {
    pub(crate) fn new(path: &Path, target: &Path, aside: &Path) -> LinkedFile {
        let aside = path.exists().then(|| aside.to_owned());
        if let Some(aside) = &aside {
            std::fs::rename(path, aside).unwrap();
        }
        symlink(target, path).unwrap();
        LinkedFile { path: path.to_owned(), aside }
    }
}

impl Drop for LinkedFile {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).unwrap();
        if let Some(aside) = &self.aside {
            std::fs::rename(aside, &self.path).unwrap();
        }
    }
}

/// A directory of a test's own.
pub(crate) struct Space(TempDir);

impl Space {
    pub(crate) fn new() -> Space {
        Space(tempfile::Builder::new().prefix("throng-").tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file with this text.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `throng run`, its run directory made here, and all there is to say printed. That the machine is busy with other tests must
    /// not make it untrusted.
    pub(crate) fn run(&self, args: &[&str]) -> Command {
        let mut command = throng(["run", "--full", "--set", "options.lag_max=5s", "--runs"]);
        command.arg(self.path("runs")).args(args);
        command
    }

    /// `throng run` of a URL: an open load of one request a user. The pause at its end is for users
    /// whom a busy machine has delayed.
    pub(crate) fn load(&self, url: &str, rate: &str, time: &str) -> Command {
        let phases = format!("[{{ constant: {rate}, for: {time} }}, {{ hold: 300ms }}]");
        self.run(&[url, "--rate", rate, "--set", &format!("arrivals={phases}")])
    }

    /// `throng run` of a scenario with this text.
    pub(crate) fn run_text(&self, text: &str, args: &[&str]) -> Command {
        let path = self.file("scenario.yaml", text);
        let mut command = self.run(args);
        command.arg(path);
        command
    }

    /// The directories of all runs made here, the oldest first.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.path("runs")).unwrap();
        let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }

    /// The only run made here.
    #[track_caller]
    pub(crate) fn only(&self) -> Run {
        let all = self.directories();
        assert!(all.len() == 1, "not one run: {all:?}");
        Run::open(&all[0]).unwrap()
    }

    /// Its summary.
    #[track_caller]
    pub(crate) fn summary(&self) -> Summary {
        self.only().summary().unwrap().expect("the run was judged")
    }

    /// Insists that the market of the only run here is gone.
    #[track_caller]
    pub(crate) fn market_is_gone(&self) {
        let target = self.only().info().target.clone();
        let address = target.strip_prefix("market (built in, at ").unwrap();
        let address: SocketAddr = address.trim_end_matches(')').parse().unwrap();
        assert!(TcpStream::connect(address).is_err(), "the market is still there");
    }
}
