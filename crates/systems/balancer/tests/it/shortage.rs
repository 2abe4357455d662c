//! What the balancer itself lacks is not its backends' fault.

use std::fs::File;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::time::Instant;

use crate::support::{Act, Backend, Running, request};

/// Open files of the process in which they run out.
const FILES: u64 = 256;

/// Where the inner test finds its backend, which has files left: it is in the outer one's process.
const BACKEND: &str = "THRONG_TEST_BACKEND";

/// Files run out for a process: this one is another.
#[tokio::test]
async fn a_balancer_without_files_blames_no_backend() {
    // Each request needs a new connection.
    let closing = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    let backend = Backend::start(Act::close(closing)).await;
    let mut inner = Command::new(std::env::current_exe().unwrap());
    inner
        .args(["--exact", "shortage::in_a_process_of_its_own", "--ignored"])
        .env(BACKEND, backend.address.to_string());
    let done = tokio::task::spawn_blocking(move || inner.output());
    let done = done.await.unwrap().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    let problem = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{printed}{problem}");
    assert!(printed.contains("1 passed"), "{printed}");
}

#[tokio::test]
#[ignore = "it uses up the files of its process"]
async fn in_a_process_of_its_own() {
    let Ok(backend) = std::env::var(BACKEND) else {
        return;
    };
    let limit = getrlimit(Resource::Nofile);
    let current = Some(FILES);
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    let balancer = Running::start(&[backend.parse().unwrap()], |options| {
        options.health.path = Some("/healthz".to_owned());
        options.health.every = Duration::from_millis(10);
        options.health.eject_max = 1.0;
    })
    .await;
    let mut client = balancer.connect().await;
    assert_eq!(request(&mut client, "GET", "/").await.0, 200);
    let mut files = Vec::new();
    let begin = Instant::now();
    let mut refused = 0.0;
    // Long enough for many checks; a file that one of those gives back is taken again.
    while begin.elapsed() < Duration::from_millis(500) {
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        let (status, _) = request(&mut client, "GET", "/").await;
        assert!([200, 503].contains(&status), "{status}");
        refused += f64::from(u8::from(status == 503));
    }
    drop(files);
    assert!(refused > 0.0);
    assert_eq!(request(&mut client, "GET", "/").await.0, 200);
    assert_eq!(balancer.metric("backends_up").await, 1.0);
    assert_eq!(balancer.metric("ejections_total").await, 0.0);
    assert_eq!(balancer.metric("connect_failures_total").await, 0.0);
    let failures = balancer.metric("local_failures_total").await;
    assert!(failures > refused, "checks failed as well: {failures}");
}
