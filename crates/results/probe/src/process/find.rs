//! Which processes are meant.

use std::collections::HashSet;
use std::fs;

use plan::probes::ProcessSpec;

use crate::sockets::{self, LISTEN};
use machine::procfs;

/// Threads whose open files are looked through when a listening socket is sought.
const THREADS_MAX: usize = 64;

/// The processes there are now.
pub(super) fn pids(spec: &ProcessSpec) -> Vec<u32> {
    match spec {
        // It was replaced by a number or a port before.
        ProcessSpec::Target => Vec::new(),
        ProcessSpec::Pid(pid) => vec![*pid],
        ProcessSpec::Name(name) => procfs::pids().filter(|&pid| is_called(pid, name)).collect(),
        ProcessSpec::Port(port) => {
            let sockets = listening(*port);
            if sockets.is_empty() {
                return Vec::new();
            }
            procfs::pids().filter(|&pid| holds(pid, &sockets)).collect()
        }
    }
}

/// Text of the error that there is no such process.
pub(super) fn missing(spec: &ProcessSpec) -> String {
    match spec {
        ProcessSpec::Target => "the target is not known".to_owned(),
        ProcessSpec::Pid(pid) => format!("there is no process {pid}"),
        ProcessSpec::Name(name) => format!("there is no process called {name:?}"),
        ProcessSpec::Port(port) => {
            format!("no visible process listens on port {port}")
        }
    }
}

/// By its name, of which the kernel keeps 15 bytes, or by its program's file.
fn is_called(pid: u32, name: &str) -> bool {
    let folder = procfs::process(pid);
    let comm = procfs::text(&folder.join("comm")).unwrap_or_default();
    if comm.trim_end_matches('\n') == name {
        return true;
    }
    let program = fs::read_link(folder.join("exe"));
    program.is_ok_and(|path| path.file_name().is_some_and(|file| file == name))
}

/// The sockets that listen on a port, as links in `/proc/PID/fd` call them.
fn listening(port: u16) -> HashSet<String> {
    let mut found = HashSet::new();
    // Without the kernel's list there is none to be found.
    let _ = sockets::each(1 << LISTEN, |socket| {
        if socket.local_port == port {
            found.insert(format!("socket:[{}]", socket.inode));
        }
    });
    found
}

/// True if one of the process's threads has such a socket open: threads may have file tables of their
/// own.
fn holds(pid: u32, sockets: &HashSet<String>) -> bool {
    let mut threads = procfs::threads(pid).take(THREADS_MAX);
    threads.any(|(_, folder)| {
        let files = fs::read_dir(folder.join("fd")).into_iter().flatten();
        files.filter_map(Result::ok).any(|file| {
            let link = fs::read_link(file.path());
            link.is_ok_and(|link| link.to_str().is_some_and(|name| sockets.contains(name)))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listening_process_is_found_by_its_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(pids(&ProcessSpec::Port(port)), [std::process::id()]);
        drop(listener);
        assert_eq!(pids(&ProcessSpec::Port(port)), [0; 0]);
    }

    #[test]
    fn programs_are_known_by_their_file() {
        let own = std::env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(pids(&ProcessSpec::Name(name)).contains(&std::process::id()));
        assert_eq!(pids(&ProcessSpec::Name("no such program".into())), [0; 0]);
    }
}
