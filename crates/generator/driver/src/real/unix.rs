//! Unix sockets in place of TCP connections (unix(7)).

use std::os::fd::OwnedFd;

use plan::{Plan, Via};
use record::Outcome;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::sockets::failure;

/// Paths of Unix sockets, by endpoint.
pub(super) type Paths = Box<[Option<String>]>;

/// The paths of a plan; empty: it has no Unix sockets.
pub(super) fn paths(plan: &Plan) -> Paths {
    let path = |via: &Via| match via {
        Via::Unix(path) => Some(path.clone()),
        Via::Tcp | Via::Proxy(_) => None,
    };
    let paths = plan.endpoints.iter().map(|endpoint| path(&endpoint.via));
    let paths: Vec<_> = paths.collect();
    match paths.iter().any(Option::is_some) {
        true => paths.into(),
        false => Box::default(),
    }
}

/// Connects. The kernel decides at once: a connection is made, or there is none.
pub(super) fn connect(path: &str) -> Result<OwnedFd, (Outcome, String)> {
    try_connect(path).map_err(|errno| explained(path, errno))
}

fn try_connect(path: &str) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    net::connect(&fd, &address)?;
    Ok(fd)
}

/// The meaning of an error on a Unix socket (connect(2), unix(7)).
fn explained(path: &str, errno: Errno) -> (Outcome, String) {
    let (outcome, detail) = match errno {
        Errno::NOENT => (
            Outcome::Unreachable,
            "there is no such file; no server has made the socket".to_owned(),
        ),
        Errno::NOTDIR => (
            Outcome::Unreachable,
            "a part of the path is not a directory".to_owned(),
        ),
        Errno::ACCESS | Errno::PERM => (
            Outcome::Unreachable,
            "permission denied; connecting requires write permission on the socket and search permission on its \
             directories"
                .to_owned(),
        ),
        Errno::AGAIN => (
            Outcome::Refused,
            "the server's accept queue is full (its backlog, at most net.core.somaxconn)".to_owned(),
        ),
        Errno::CONNREFUSED => (
            Outcome::Refused,
            "connection refused: the file is there, but no server listens".to_owned(),
        ),
        errno => failure(errno),
    };
    (outcome, format!("unix:{path}: {detail}"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_denies_a_connection_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let denied = |name: &str| connect(&path(name)).err().unwrap();
        let (outcome, detail) = denied("none.sock");
        assert_eq!(outcome, Outcome::Unreachable);
        assert!(detail.contains("none.sock: there is no such file"), "{detail}");
        drop(UnixListener::bind(path("left.sock")).unwrap());
        let (outcome, detail) = denied("left.sock");
        assert_eq!(outcome, Outcome::Refused);
        assert!(detail.contains("no server listens"), "{detail}");
        std::fs::write(path("file"), "").unwrap();
        assert_eq!(denied("file").0, Outcome::Refused);
        assert_eq!(denied("file/x.sock").0, Outcome::Unreachable);
        let _listener = UnixListener::bind(path("closed.sock")).unwrap();
        let nobody = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(path("closed.sock"), nobody).unwrap();
        // Permissions do not bind root.
        if !rustix::process::geteuid().is_root() {
            let (outcome, detail) = denied("closed.sock");
            assert_eq!(outcome, Outcome::Unreachable);
            assert!(detail.contains("permission denied"), "{detail}");
        }
        let long = "x".repeat(200);
        assert_eq!(denied(&long).0, Outcome::Other);
    }

    #[test]
    fn a_full_accept_queue_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("full.sock");
        let fd =
            net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        net::bind(&fd, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        net::listen(&fd, 1).unwrap();
        let path = path.to_str().unwrap();
        let mut open = Vec::new();
        let (outcome, detail) = loop {
            match connect(path) {
                Ok(fd) => open.push(fd),
                Err(failure) => break failure,
            }
            assert!(open.len() < 10, "the queue has no end");
        };
        assert_eq!(outcome, Outcome::Refused);
        assert!(detail.contains("accept queue is full"), "{detail}");
    }
}
