//! The directory of a lab's files while it is up.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// A lab's directory: nobody but its user may look in.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
}

/// Held as long as the lab is up.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Folder {
    /// Folder of the lab with this name.
    pub fn by_name(name: &str) -> Folder {
        Folder { path: root().join(name) }
    }

    /// Folder with this path.
    pub fn at(path: &Path) -> Folder {
        Folder { path: path.to_owned() }
    }

    /// Path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket that the lab listens on.
    pub fn socket(&self) -> PathBuf {
        self.path.join("control")
    }

    /// The file of its events.
    pub fn events(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// The file with the number of its first process.
    pub fn pid(&self) -> PathBuf {
        self.path.join("pid")
    }

    /// The log of an instance: everything that it prints.
    pub fn log(&self, instance: &str) -> PathBuf {
        self.path.join("logs").join(instance)
    }

    /// The files of an instance.
    pub fn data(&self, instance: &str) -> PathBuf {
        self.path.join("data").join(instance)
    }

    /// The network namespace of a host, as `ip netns` keeps them.
    pub fn namespace(&self, host: &str) -> PathBuf {
        self.path.join("net").join(host)
    }

    /// Makes what a lab needs.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(&self) -> io::Result<()> {
        let mut private = DirBuilder::new();
        private.recursive(true).mode(0o711).create(root())?;
        // Databases run as users of their own, which have to pass through.
        private.create(&self.path)?;
        for inside in ["logs", "data", "net"] {
            private.create(self.path.join(inside))?;
        }
        Ok(())
    }

    /// Takes the lab's lock; `None`: it is up.
    ///
    /// # Errors
    /// The file cannot be opened or locked.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.join("lock"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what a lab has left.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Names of all labs that have a directory.
pub fn all() -> Vec<String> {
    let Ok(entries) = fs::read_dir(root()) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The variable that names another directory of all labs.
pub const VARIABLE: &str = "THRONG_LABS";

/// Whether this user may make namespaces only in a user namespace.
pub fn is_unprivileged() -> bool {
    !rustix::process::geteuid().is_root()
}

/// The directory of all labs of this user. Paths of sockets are short, so it is, too.
pub fn root() -> PathBuf {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return PathBuf::from(path);
    }
    match is_unprivileged() {
        false => PathBuf::from("/run/throng-labs"),
        true => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("throng-labs-{user}"))
        }
    }
}
