//! A recorder between clients and servers of these tests: what arrives on either side, and what is recorded of it.

mod support;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::mpsc::channel;

use recorder::{Limits, Recorder, RecorderError, Settings};
use serde_json::Value;
use support::{
    Tls, authority, body, connect, entries, exchange, get, read_head, record, recorder, server,
    tls_client, tunnel,
};
use tungstenite::Message;

/// Answers every request of a connection with this response.
fn answering(response: &'static str) -> SocketAddr {
    server(move |mut stream| {
        while !read_head(&mut stream)?.is_empty() {
            stream.write_all(response.as_bytes())?;
        }
        Ok(())
    })
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn plain_requests_pass_and_are_recorded() {
    let (heads, seen) = channel();
    let address = server(move |mut stream| {
        loop {
            let head = read_head(&mut stream)?;
            if head.is_empty() {
                return Ok(());
            }
            let is_post = head.starts_with("POST");
            // The receiver is there until the test ends.
            let _ = heads.send(head);
            if is_post {
                let mut body = [0; 7];
                stream.read_exact(&mut body)?;
                assert_eq!(&body, b"a=1&b=2");
            }
            stream.write_all(HELLO.as_bytes())?;
        }
    });
    let recorder = recorder();
    let mut stream = connect(&recorder);
    let first = format!(
        "GET http://{address}/a?b HTTP/1.1\r\nHost: {address}\r\nProxy-Connection: keep-alive\r\n\
         Accept-Encoding: br\r\nX-Own: 1\r\n\r\n"
    );
    assert!(exchange(&mut stream, &first).ends_with("\r\n\r\nhello"));
    let second = format!(
        "POST http://{address}/b HTTP/1.1\r\nHost: {address}\r\nContent-Length: 7\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n\r\na=1&b=2"
    );
    assert!(exchange(&mut stream, &second).ends_with("\r\n\r\nhello"));
    let head = seen.recv().unwrap();
    assert!(head.starts_with("GET /a?b HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nX-Own: 1\r\n"), "{head}");
    assert!(head.contains("\r\nAccept-Encoding: identity\r\n"), "{head}");
    assert!(!head.contains("Proxy-Connection") && !head.contains("br\r\n"), "{head}");
    assert!(seen.recv().unwrap().starts_with("POST /b HTTP/1.1\r\n"));
    let [first, second] = record(recorder).try_into().unwrap();
    assert_eq!(first["request"]["url"], format!("http://{address}/a?b"));
    assert_eq!(first["response"]["content"]["text"], "hello");
    // As the browser sent it.
    let mut headers = first["request"]["headers"].as_array().unwrap().iter();
    assert!(headers.any(|header| header["value"] == "br"));
    assert_eq!(second["request"]["postData"]["text"], "a=1&b=2");
    assert_eq!(second["connection"], first["connection"]);
}

#[test]
fn https_is_read_with_the_recorders_certificate_and_the_servers_is_verified() {
    let server = Tls::server(|stream| {
        read_head(stream)?;
        stream.write_all(HELLO.as_bytes())
    });
    let trusted = vec![("own.pem".to_owned(), server.pem.clone())];
    let (recorder, certificate) = support::recorder_trusting(trusted);
    let mut stream = tls_client(tunnel(&recorder, server.address), "127.0.0.1", &certificate);
    let answer = exchange(&mut stream, "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(answer.ends_with("hello"), "{answer}");
    let [entry] = record(recorder).try_into().unwrap();
    assert_eq!(entry["request"]["url"], format!("https://{}/a", server.address));
    assert_eq!(entry["response"]["content"]["text"], "hello");
    // Another recorder does not trust that server.
    let (recorder, certificate) = support::recorder_trusting(Vec::new());
    let mut stream = tls_client(tunnel(&recorder, server.address), "127.0.0.1", &certificate);
    let answer = exchange(&mut stream, "GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("not signed by a trusted authority; `--trust` adds"), "{answer}");
    let recording = recorder.finish();
    let notes = recording.notes().join("\n");
    assert!(notes.contains("requests without a response: 1"), "{notes}");
}

#[test]
fn a_browser_that_does_not_trust_the_authority_is_counted() {
    let address = answering(HELLO);
    let (recorder, _) = support::recorder_trusting(Vec::new());
    let other = authority();
    let mut stream = tls_client(tunnel(&recorder, address), "127.0.0.1", other.certificate());
    assert!(stream.write_all(b"GET / HTTP/1.1\r\n\r\n").and_then(|()| stream.flush()).is_err());
    drop(stream);
    // The client's alert is there before the end of its connection, which is what is waited for.
    support::wait_until(|| recorder.distrusted() == 1);
    let notes = recorder.finish().notes().join("\n");
    assert!(notes.contains("did not accept the recorder's certificate: 1"), "{notes}");
}

/// The recorded messages of a direction.
fn data<'m>(messages: &'m [Value], kind: &str, opcode: u64) -> Vec<&'m str> {
    let of_kind = messages.iter().filter(|one| one["type"] == kind && one["opcode"] == opcode);
    of_kind.filter_map(|one| one["data"].as_str()).collect()
}

#[test]
fn messages_of_websockets_pass_in_tunnels_and_are_recorded() {
    let address = server(|stream| {
        let mut socket =
            tungstenite::accept(stream).map_err(|error| io::Error::other(error.to_string()))?;
        while let Ok(message) = socket.read() {
            if message.is_text() || message.is_binary() {
                socket.send(message).map_err(io::Error::other)?;
            }
        }
        Ok(())
    });
    let recorder = recorder();
    let stream = tunnel(&recorder, address);
    let (mut socket, _) =
        tungstenite::client::client(format!("ws://{address}/ws"), stream).unwrap();
    let long = "é".repeat(40_000);
    for message in [Message::text("hi"), Message::binary(vec![0xff, 0]), Message::text(&*long)] {
        socket.send(message.clone()).unwrap();
        assert_eq!(socket.read().unwrap(), message);
    }
    socket.close(None).unwrap();
    while socket.read().is_ok() {}
    let [entry] = record(recorder).try_into().unwrap();
    assert_eq!(entry["request"]["url"], format!("ws://{address}/ws"));
    assert_eq!(entry["response"]["status"], 101);
    let messages = entry["_webSocketMessages"].as_array().unwrap();
    for kind in ["send", "receive"] {
        assert_eq!(data(messages, kind, 1), ["hi", long.as_str()], "{kind}");
        assert_eq!(data(messages, kind, 2), ["/wA="], "{kind}");
    }
}

#[test]
fn events_pass_as_they_come_and_an_open_stream_is_recorded() {
    let address = server(|mut stream| {
        read_head(&mut stream)?;
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n";
        stream.write_all(head.as_bytes())?;
        // Open until the client leaves.
        let _ = stream.read(&mut [0]);
        Ok(())
    });
    let recorder = recorder();
    let mut stream = connect(&recorder);
    stream.write_all(get(address, "/events").as_bytes()).unwrap();
    let mut text = String::new();
    while !text.ends_with("data: 1\n\n") {
        let mut piece = [0; 1000];
        let count = stream.read(&mut piece).unwrap();
        assert_ne!(count, 0, "{text}");
        text += std::str::from_utf8(&piece[..count]).unwrap();
    }
    // The stream is open still.
    let [entry] = record(recorder).try_into().unwrap();
    assert_eq!(entry["response"]["content"]["text"], "data: 1\n\n");
    assert_eq!(entry["comment"], "it went on when the recording ended");
}

#[test]
fn dripping_bodies_pass_both_ways() {
    let address = server(|mut stream| {
        read_head(&mut stream)?;
        let mut request = Vec::new();
        while !request.ends_with(b"0\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            request.push(byte[0]);
        }
        assert_eq!(request, b"3\r\nabc\r\n0\r\n\r\n");
        let response =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n";
        for byte in response.as_bytes() {
            stream.write_all(&[*byte])?;
        }
        Ok(())
    });
    let recorder = recorder();
    let mut stream = connect(&recorder);
    let request = format!(
        "POST http://{address}/ HTTP/1.1\r\nHost: {address}\r\nTransfer-Encoding: chunked\r\n\
         Connection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    );
    for byte in request.as_bytes() {
        stream.write_all(&[*byte]).unwrap();
    }
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.ends_with("2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"), "{text}");
    let [entry] = record(recorder).try_into().unwrap();
    assert_eq!(entry["request"]["postData"]["text"], "abc");
    assert_eq!(entry["response"]["content"]["text"], "def");
}

#[test]
fn a_huge_body_passes_whole_and_is_recorded_in_part() {
    const BYTES: usize = 8 << 20;
    let address = server(|mut stream| {
        read_head(&mut stream)?;
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n")?;
        stream.write_all(&vec![b'a'; BYTES])
    });
    let limits = Limits { body_bytes_max: 1000, ..Limits::default() };
    let recorder = support::recorder_with(limits, Vec::new()).0;
    let mut stream = connect(&recorder);
    stream.write_all(get(address, "/").as_bytes()).unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.contains(&format!("Content-Length: {BYTES}\r\n")), "{head}");
    assert_eq!(body(&mut stream, BYTES), vec![b'a'; BYTES]);
    let recording = recorder.finish();
    assert_eq!(recording.notes(), ["responses of which only the beginning is recorded: 1"]);
    let [entry] = entries(&recording).try_into().unwrap();
    assert_eq!(entry["response"]["content"]["size"], BYTES);
}

#[test]
fn a_client_that_goes_away_ends_its_request_at_the_server() {
    let (gone, is_gone) = channel();
    let address = server(move |mut stream| {
        read_head(&mut stream)?;
        // Nothing is answered.
        let end = stream.read(&mut [0]);
        let _ = gone.send(end.is_err() || end.is_ok_and(|count| count == 0));
        Ok(())
    });
    let recorder = recorder();
    let mut stream = connect(&recorder);
    stream.write_all(get(address, "/slow").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Both).unwrap();
    drop(stream);
    assert!(is_gone.recv().unwrap());
    let [entry] = record(recorder).try_into().unwrap();
    assert_eq!(entry["response"]["status"], 0);
}

#[test]
fn a_request_is_repeated_where_the_server_closed_a_kept_connection() {
    let address = server(|mut stream| {
        // One request for each connection, though nothing says so.
        read_head(&mut stream)?;
        stream.write_all(HELLO.as_bytes())
    });
    let recorder = recorder();
    let mut stream = connect(&recorder);
    for _ in 0..3 {
        assert!(exchange(&mut stream, &get(address, "/")).ends_with("hello"));
    }
    let recorded: Vec<Value> = record(recorder);
    assert_eq!(recorded.len(), 3);
    assert!(recorded.iter().all(|entry| entry["response"]["status"] == 200));
}

#[test]
fn what_is_no_request_of_a_proxy_is_refused() {
    let recorder = recorder();
    for (request, expected) in [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "this is a proxy that records"),
        ("rubbish\r\n\r\n", "it is not HTTP/1.1"),
        ("GET http://a/ HTTP/1.0\r\n\r\n", "HTTP/1.0 is not recorded"),
        ("CONNECT nothing:here HTTP/1.1\r\n\r\n", "CONNECT names no server"),
        (
            "POST http://127.0.0.1:1/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "the length of its body is ambiguous",
        ),
    ] {
        let answer = exchange(&mut connect(&recorder), request);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{answer}");
        assert!(answer.contains(expected), "{answer}");
    }
    assert!(recorder.finish().is_empty());
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let settings = Settings {
        address,
        authority: authority(),
        limits: Limits::default(),
        trusted: Vec::new(),
        now: support::now(),
    };
    let error = Recorder::start(settings).unwrap_err();
    assert!(matches!(error, RecorderError::Listen { .. }), "{error}");
}
