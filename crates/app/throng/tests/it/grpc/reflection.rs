//! `throng protos` against servers that describe their services, and others.

use std::io::Write;

use super::{STEPS, space_with};
use crate::http2::{certificate, ok, outcomes};
use crate::support::{Ended, Served, Space, read_head, server, throng};

const METHODS: &str = "throng.echo.Echo/Say\nthrong.echo.Echo/Repeat\nthrong.echo.Echo/Collect\nthrong.echo.Echo/Talk\n";

#[test]
fn methods_are_listed_and_files_written_that_calls_need() {
    let space = Space::new();
    let (cert, key) = certificate(&space);
    let tls = ["grpc", "--tls-cert", &cert, "--tls-key", &key];
    for (args, trust) in [(&["grpc"][..], &[][..]), (&tls, &["--ca", &cert])] {
        let server = Served::start(args);
        let url = server.url.replace("127.0.0.1", "localhost");
        let mut list = throng(["protos", &url]);
        let listed = Ended::of(list.args(trust)).with(0);
        assert_eq!(listed.out, METHODS);
        let (space, text) = space_with(&server.url, "", STEPS);
        std::fs::remove_file(space.path("echo.proto")).unwrap();
        let mut write = throng(["protos", &url, "-o"]);
        let wrote = Ended::of(write.arg(space.path("own")).args(trust)).with(0);
        wrote.stdout_contains("protos: [echo.proto]");
        // Calls by the written file are those of the original one.
        let text = text.replace("[echo.proto]", "[echo.proto], import_paths: own");
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        assert_eq!(outcomes(&space.only(), "call"), ok(40));
        server.stop();
    }
}

#[test]
fn files_that_exist_are_kept_unless_forced() {
    let served = Served::start(&["grpc"]);
    let space = Space::new();
    let own = space.path("own");
    let write = |more: &[&str]| {
        let mut write = throng(["protos", &served.url, "-o"]);
        Ended::of(write.arg(&own).args(more))
    };
    write(&[]).with(0);
    let first = std::fs::read_to_string(own.join("echo.proto")).unwrap();
    // What would be written is there.
    write(&[]).with(0);
    std::fs::write(own.join("echo.proto"), "mine").unwrap();
    write(&[]).with(73).stderr_contains("echo.proto exists already, and differs");
    assert_eq!(std::fs::read_to_string(own.join("echo.proto")).unwrap(), "mine");
    write(&["--force"]).with(0);
    assert_eq!(std::fs::read_to_string(own.join("echo.proto")).unwrap(), first);
    let left = std::fs::read_dir(&own).unwrap().count();
    assert_eq!(left, 1, "no file is left half-written");

    std::fs::remove_file(own.join("echo.proto")).unwrap();
    std::os::unix::fs::symlink("../elsewhere.proto", own.join("echo.proto")).unwrap();
    write(&[]).with(0);
    assert!(own.join("echo.proto").is_symlink());
    assert_eq!(std::fs::read_to_string(space.path("elsewhere.proto")).unwrap(), first);
    served.stop();
}

#[test]
fn servers_that_do_not_describe_themselves_are_named() {
    let of = |url: &str, more: &[&str]| {
        let mut list = throng(["protos", url]);
        Ended::of(list.args(more))
    };
    // It answers every call with an empty message.
    let stall = Served::start(&["stall"]);
    of(&stall.url, &[]).with(69).stderr_contains("does not list its services");
    // It is none of TLS.
    let secure = stall.url.replace("http:", "https:");
    of(&secure, &[]).with(69).stderr_contains("cannot connect to");
    let gone = stall.url.clone();
    stall.stop();
    of(&gone, &[]).with(69).stderr_contains("cannot connect to");
    // It speaks another protocol.
    let other = server(|mut stream| {
        read_head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    });
    of(&format!("http://{other}"), &[]).with(69);
    // It says nothing.
    let silent = server(|mut stream| {
        while read_head(&mut stream).is_ok() {}
        std::thread::park_timeout(std::time::Duration::from_secs(20));
        Ok(())
    });
    of(&format!("http://{silent}"), &["--timeout", "500ms"])
        .with(69)
        .stderr_contains("no answer within");
    for (url, problem) in [
        ("localhost:80", "it begins with http:// or https://"),
        ("http://localhost/path", "it has no path"),
    ] {
        of(url, &[]).with(64).stderr_contains(problem);
    }
    of("http://localhost", &["-H", "no colon"]).with(64).stderr_contains("has no colon");
    of("http://localhost", &["--ca", "/nowhere.pem"]).with(66).stderr_contains("/nowhere.pem");
}
