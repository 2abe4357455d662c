//! Network namespaces: the thread of a loop connects from the one that it has entered.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::AsFd;

/// A network namespace by its file, such as `/run/netns/NAME` or `/proc/PID/ns/net`.
///
/// It holds no open file: a loop's thread leaves the process's file table, and could not close one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    path: Arc<Path>,
}

/// Why a thread cannot enter a network namespace.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error("cannot open the network namespace {}; `ip netns add NAME` makes /run/netns/NAME", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not the file of a network namespace, such as /run/netns/NAME or /proc/PID/ns/net", path.display())]
    NoNamespace { path: PathBuf },
    #[error(
        "entering the network namespace {} is not permitted; it needs CAP_SYS_ADMIN: run as root, or in the user \
         namespace that owns it",
        path.display()
    )]
    Denied { path: PathBuf },
    #[error("cannot enter the network namespace {}", path.display())]
    Enter {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("no thread can be started for the network namespace {}", path.display())]
    Thread {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Namespace {
    /// The namespace of this file. It is opened when a thread enters.
    pub fn at(path: &Path) -> Namespace {
        Namespace { path: path.into() }
    }

    /// The file of the namespace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the calling thread into it, for good.
    ///
    /// # Errors
    /// If the file is missing or none of a network namespace, or the process may not enter it.
    pub fn enter(&self) -> Result<(), NamespaceError> {
        let path = self.path.to_path_buf();
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(source) => return Err(NamespaceError::Open { path, source }),
        };
        let entered = move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network));
        entered.map_err(|errno| match errno {
            Errno::INVAL => NamespaceError::NoNamespace { path },
            Errno::PERM => NamespaceError::Denied { path },
            errno => NamespaceError::Enter { path, source: errno.into() },
        })
    }

    /// Runs `work` on a thread of its own inside the namespace, and waits for it.
    ///
    /// # Errors
    /// As those of [`enter`](Self::enter).
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        std::thread::scope(|scope| {
            let inside = || self.enter().map(|()| work());
            let thread = std::thread::Builder::new().spawn_scoped(scope, inside);
            let thread = thread.map_err(|source| NamespaceError::Thread {
                path: self.path.to_path_buf(),
                source,
            })?;
            // What panics there has met a broken invariant; the panic continues here.
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_namespace_is_refused_with_the_reason() {
        let missing = Namespace::at(Path::new("/nonexistent/netns"));
        let error = missing.run(|| ()).unwrap_err();
        assert!(matches!(error, NamespaceError::Open { .. }), "{error}");
        let other = Namespace::at(Path::new("/proc/self/ns/uts"));
        let error = other.run(|| ()).unwrap_err();
        // Whoever may not enter any namespace is refused before the kernel looks at its kind.
        let refused =
            matches!(error, NamespaceError::NoNamespace { .. } | NamespaceError::Denied { .. });
        assert!(refused, "{error}");
    }
}
