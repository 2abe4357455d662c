//! `throng record` between a client and a server, and the scenario that it writes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{Ended, Running, Space, read_head, server, throng};

/// A server whose login returns a token, which the next request has to send.
fn shop() -> SocketAddr {
    server(|mut stream| {
        loop {
            read_head(&mut stream)?;
            let body = r#"{"token":"a1b2c3d4e5"}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length";
            write!(stream, "{head}: {}\r\n\r\n{body}", body.len())?;
        }
    })
}

/// The address in the line that the recorder prints first.
fn address_of(recorder: &mut Running) -> String {
    let line = recorder.stderr_line();
    let found = line.split_once("http://").and_then(|(_, rest)| rest.split_once(','));
    found.unwrap_or_else(|| panic!("{line}")).0.to_owned()
}

/// Sends a request through the recorder; the response's body is read whole.
fn send(stream: &mut TcpStream, request: &str) {
    stream.write_all(request.as_bytes()).unwrap();
    read_head(stream).unwrap();
    let mut body = [0; 22];
    stream.read_exact(&mut body).unwrap();
    assert!(body.ends_with(b"}"), "{body:?}");
}

#[test]
fn what_passes_becomes_an_archive_and_a_scenario() {
    let space = Space::new();
    let scenario = space.path("shop.yaml");
    let archive = space.path("shop.har");
    let mut command = throng(["record", "--listen", "127.0.0.1:0", "--until-stdin-closes"]);
    command.arg("--output").arg(&scenario).arg("--har").arg(&archive);
    command.arg("--ca").arg(space.path("ca"));
    let mut recorder = Running::start(command.stdin(Stdio::piped()));
    let address = address_of(&mut recorder);
    let target = shop();
    let mut stream = TcpStream::connect(&address).unwrap();
    send(
        &mut stream,
        &format!(
            "POST http://{target}/login HTTP/1.1\r\nHost: {target}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: 29\r\n\r\nuser=ann&password=correcthors"
        ),
    );
    send(
        &mut stream,
        &format!("GET http://{target}/basket?t=a1b2c3d4e5 HTTP/1.1\r\nHost: {target}\r\n\r\n"),
    );
    recorder.release();
    recorder.end().with(0).stderr_contains("recorded 2 requests");
    let text = std::fs::read_to_string(&scenario).unwrap();
    assert!(text.contains(&format!("target: \"http://{target}\"")), "{text}");
    assert!(text.contains("get: \"/basket?t=${token}\"") && text.contains("save:"), "{text}");
    assert!(!text.contains("correcthors") && text.contains("env('PASSWORD')"), "{text}");
    let mut check = throng(["check"]);
    check.arg(&scenario).env("PASSWORD", "x");
    Ended::of(&mut check).with(0);
    assert!(std::fs::read_to_string(&archive).unwrap().contains("correcthors"));
    for secret in [archive, space.path("ca/ca.key")] {
        let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", secret.display());
    }
    // What was recorded can be imported again.
    let mut import = throng(["import"]);
    import.arg(space.path("shop.har"));
    Ended::of(&mut import).with(0).stdout_contains("get: \"/basket?t=${token}\"");
}

#[test]
fn addresses_beyond_this_machine_have_to_be_allowed() {
    let mut command = throng(["record", "--listen", "0.0.0.0:0"]);
    Ended::of(&mut command).with(64).stderr_contains("--allow-remote");
}

#[test]
fn an_interrupt_ends_a_recording_and_an_empty_one_is_no_scenario() {
    let mut recorder = Running::start(&mut throng(["record", "--listen", "0"]));
    address_of(&mut recorder);
    recorder.interrupt();
    recorder.end().with(65).stderr_contains("the recording has no HTTP request with a response");
}
