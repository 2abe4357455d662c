//! `throng protos` against servers that describe their services, and others.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use super::{STEPS, space_with};
use crate::http2::{certificate, ok, outcomes};
use crate::support::{Ended, Served, Space, pass, read_head, server, throng};

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
        std::thread::park_timeout(Duration::from_secs(20));
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

// Frames of HTTP/2 (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A field of Protocol Buffers that has a length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3) | 2];
    let mut length = content.len();
    while length > 127 {
        field.push(u8::try_from(length % 128).unwrap() | 128);
        length /= 128;
    }
    field.push(u8::try_from(length).unwrap());
    field.extend_from_slice(content);
    field
}

/// A server that lists this number of services at once, and takes this long for each byte of its other answers.
fn dripping(services_count: usize, byte_time: Duration) -> SocketAddr {
    let services = (0..services_count).flat_map(|number| {
        let name = field(1, format!("s.S{number}").as_bytes());
        field(1, &name)
    });
    // The responses `list_services_response` and `file_descriptor_response`; the second has no file.
    let list = field(6, &services.collect::<Vec<u8>>());
    let files = field(4, &[]);
    server(move |mut stream| {
        stream.set_nodelay(true)?;
        // The client's preface (§3.4).
        stream.read_exact(&mut [0; 24])?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
        let mut has_listed = false;
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head)?;
            let [high, middle, low, kind, flags, id @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
            stream.read_exact(&mut payload)?;
            if kind == SETTINGS && flags & ACK == 0 {
                stream.write_all(&frame(SETTINGS, ACK, 0, &[]))?;
            }
            if kind != DATA || flags & END_STREAM == 0 {
                continue;
            }
            let id = u32::from_be_bytes(id);
            // `:status: 200` and `content-type` of the static table (RFC 7541 appendix A).
            let mut fields = vec![0x88_u8, 0x0f, 0x10, 16];
            fields.extend(b"application/grpc");
            stream.write_all(&frame(HEADERS, END_HEADERS, id, &fields))?;
            let message = if has_listed { &files } else { &list };
            let mut framed = vec![0_u8];
            framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
            framed.extend_from_slice(message);
            match has_listed {
                false => stream.write_all(&frame(DATA, 0, id, &framed))?,
                true => {
                    for byte in framed {
                        pass(byte_time);
                        stream.write_all(&frame(DATA, 0, id, &[byte]))?;
                    }
                }
            }
            has_listed = true;
            let mut trailers = vec![0_u8, 11];
            trailers.extend(b"grpc-status");
            trailers.extend([1, b'0']);
            stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, id, &trailers))?;
        }
    })
}

/// Each answer in time, and all of them for ever; and one that does not come to its end.
#[test]
fn servers_that_drip_are_given_up() {
    let of = |address: SocketAddr, code: i32| {
        let mut list = throng(["protos", &format!("http://{address}"), "--timeout", "300ms"]);
        Ended::of(&mut list).with(code)
    };
    // Nine hundred answers of a tenth of a second.
    let slow = of(dripping(900, Duration::from_millis(14)), 69);
    slow.stderr_contains("the server has not described its services within 9s");
    let late = of(dripping(900, Duration::from_millis(100)), 69);
    late.stderr_contains("no answer within 300ms");
    // No service has a file.
    let few = dripping(3, Duration::ZERO);
    let listed = Ended::of(&mut throng(["protos", &format!("http://{few}")])).with(0);
    assert_eq!(listed.out, "");
    of(dripping(1_001, Duration::ZERO), 65).stderr_contains("more than 1000 services");
}
