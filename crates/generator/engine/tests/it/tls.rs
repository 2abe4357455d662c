//! How a server ends TLS, and how the request in flight ends then.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::Arc;

use engine::command::{Command, ConnId};
use engine::schedule::share::Share;
use engine::sim::SimRun;
use engine::{Setup, Shard};
use record::Outcome;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection};
use trust::{Verify, client_config};

use crate::support::{Ran, plan};

const TEXT: &str = "
name: tls
target: https://localhost/
sessions:
  main:
    - loop: 2
      steps: [ { get: /, as: request, save: { all: { from: body, default: none } }, check: all == 'hello' } ]
arrivals: [ { constant: 1/s, for: 1s } ]
";
/// The connection's end is that of the body.
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nhello";

/// Bytes after a response.
#[derive(Clone, Copy, PartialEq)]
enum End {
    /// TLS is closed, then the connection.
    Closed,
    /// TLS is closed, and yet there is more.
    ClosedWithMore,
    /// The connection is closed, and TLS is not.
    Bare,
}

/// Runs the scenario; each request gets this response, then this happens.
fn run_with(response: &str, end: End) -> Ran {
    run_text(TEXT, response, end)
}

/// The same with another scenario.
fn run_text(text: &str, response: &str, end: End) -> Ran {
    let plan = plan(text);
    let setup = Setup {
        share: Share::new(0, 1),
        rows_max: 64,
        tls: Some(client_config(Verify::Nothing, &[], None).expect("a client's settings")),
        buffers: Arc::default(),
        meeting: Arc::default(),
    };
    let config = server_config();
    let mut shard = Shard::new(&plan, &setup).expect("a shard");
    let mut servers = HashMap::new();
    let mut run = SimRun::default();
    while !shard.is_over() {
        run.ended_ns = run.ended_ns.max(shard.next_ns());
        shard.advance(run.ended_ns);
        carry_out(&mut shard, run.ended_ns, &config, &mut servers, (response, end));
    }
    shard.finish(run.ended_ns);
    run.deltas = shard.take_deltas();
    run.rows = shard.take_rows(true).unwrap_or_default();
    drop(shard);
    Ran { plan, run }
}

fn carry_out(
    shard: &mut Shard<'_>,
    now_ns: u64,
    config: &Arc<ServerConfig>,
    servers: &mut HashMap<ConnId, ServerConnection>,
    (response, end): (&str, End),
) {
    while !shard.commands().list.is_empty() {
        let commands = std::mem::take(shard.commands());
        for command in commands.list {
            match command {
                Command::Connect { conn, .. } => {
                    let server = ServerConnection::new(Arc::clone(config)).expect("a server");
                    servers.insert(conn, server);
                    shard.handle_connected(now_ns, conn);
                }
                Command::Send { conn, start, end: until } => {
                    let Some(server) = servers.get_mut(&conn) else {
                        continue;
                    };
                    let requested = take(server, &commands.bytes[start..until]);
                    if requested {
                        let mut writer = server.writer();
                        writer.write_all(response.as_bytes()).expect("room");
                    }
                    if requested && end != End::Bare {
                        server.send_close_notify();
                    }
                    let mut wire = Vec::new();
                    while server.wants_write() {
                        server.write_tls(&mut wire).expect("room");
                    }
                    if requested && end == End::ClosedWithMore {
                        wire.extend_from_slice(&[0x17; 40_000]);
                    }
                    shard.handle_received(now_ns, conn, &wire);
                    if requested {
                        shard.handle_closed(now_ns, conn, None);
                        servers.remove(&conn);
                    }
                }
                Command::Close { conn } => drop(servers.remove(&conn)),
            }
        }
    }
}

/// Gives a server bytes; true if they held a request.
fn take(server: &mut ServerConnection, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        server.read_tls(&mut bytes).expect("bytes");
        server.process_new_packets().expect("sound TLS");
    }
    let mut request = Vec::new();
    // It ends with an error if the connection continues.
    let _ = server.reader().read_to_end(&mut request);
    request.ends_with(b"\r\n\r\n")
}

fn server_config() -> Arc<ServerConfig> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key);
    Arc::new(config.expect("a server's settings"))
}

#[test]
fn a_close_of_tls_ends_a_body_and_later_bytes_are_ignored() {
    for end in [End::Closed, End::ClosedWithMore] {
        let ran = run_with(UNTIL_CLOSE, end);
        assert_eq!(ran.outcomes("request"), [Outcome::Ok; 2]);
        assert_eq!(ran.outcomes("connect"), [Outcome::Ok; 2]);
        assert_eq!(ran.total(|counts| counts.errors), 0);
    }
}

/// Anybody on the way can end TCP (RFC 9112 §9.8).
#[test]
fn a_body_that_only_tcp_ended_is_incomplete() {
    let ran = run_with(UNTIL_CLOSE, End::Bare);
    assert_eq!(ran.outcomes("request"), [Outcome::Closed; 2]);
    let details = ran.details();
    assert!(details[0].contains("without closing TLS"), "{details:?}");
}

#[test]
fn a_body_with_content_length_is_complete_however_the_connection_ends() {
    let response = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    for end in [End::Closed, End::ClosedWithMore, End::Bare] {
        let ran = run_with(response, end);
        assert_eq!(ran.outcomes("request")[0], Outcome::Ok);
    }
}

/// Full and resumed handshakes of a scenario whose server closes each connection after a response.
fn handshakes(text: &str) -> (u64, u64) {
    let ran = run_text(text, UNTIL_CLOSE, End::Closed);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    let full = ran.total(|counts| counts.tls_handshakes_full);
    (full, ran.total(|counts| counts.tls_handshakes_resumed))
}

#[test]
fn a_first_visit_is_a_full_handshake_unless_users_share_sessions() {
    // Two users with two connections each.
    let text = TEXT.replace("constant: 1/s", "constant: 2/s");
    assert_eq!(handshakes(&text), (2, 2));
    for (options, found) in [
        ("tls: { resumption: own }", (2, 2)),
        ("tls: { resumption: shared }", (1, 3)),
        ("tls: { resumption: off }", (4, 0)),
        // Connections that users share are those of one client.
        ("http_connections: shared", (1, 3)),
    ] {
        let text = format!("{text}options: {{ {options} }}\n");
        assert_eq!(handshakes(&text), found, "{options}");
    }
}

/// A ticket is used once, and a user keeps two.
#[test]
fn branches_resume_the_sessions_of_their_user() {
    let text = "
name: tls
target: https://localhost/
sessions:
  main:
    - get: /
    - parallel: [ { get: /a }, { get: /b }, { get: /c } ]
arrivals: [ { constant: 1/s, for: 1s } ]
";
    assert_eq!(handshakes(text), (2, 2));
}
