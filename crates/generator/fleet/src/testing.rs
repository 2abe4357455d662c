//! What tests of this crate share: a NATS server, a directory.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use tempfile::TempDir;

use crate::access::Access;
use crate::local::{Local, LocalOptions};
use crate::nats::Nats;

/// A NATS server of a test's own, which ends with it.
pub(crate) struct Server {
    local: Local,
    _directory: TempDir,
}

impl Server {
    /// `None`: nats-server is not installed, and the test is skipped.
    pub(crate) fn start() -> Option<Server> {
        let directory = tempfile::tempdir().unwrap();
        let options = LocalOptions {
            agents: 0,
            directory: Some(directory.path()),
            program: Path::new("none"),
        };
        Local::start(&options).ok().map(|local| Server { local, _directory: directory })
    }

    pub(crate) fn access(&self) -> Access {
        Access::from_url(self.local.url())
    }

    pub(crate) fn connect(&self) -> Arc<Nats> {
        Nats::connect(&self.access(), "test").unwrap()
    }
}

/// A directory that is closed to others, which is removed at the end.
pub(crate) fn private_directory() -> TempDir {
    let mut how = tempfile::Builder::new();
    how.permissions(Permissions::from_mode(0o700));
    how.tempdir().unwrap()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn wait_until(mut is_so: impl FnMut() -> bool) {
    let (_open, never) = channel::<()>();
    for _ in 0..500 {
        if is_so() {
            return;
        }
        // Nobody sends: the time passes.
        let _ = never.recv_timeout(Duration::from_millis(20));
    }
    panic!("it does not come");
}
