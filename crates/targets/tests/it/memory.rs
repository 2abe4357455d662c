//! What an idle subscriber costs the market, measured on a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use targets::market;
use tokio::sync::oneshot;

use crate::support::calm;

/// Set for the child process, which runs the same test and only serves.
const SERVE: &str = "TARGETS_TEST_SERVE";
/// Connections before the first look, so that what is made once is made, and between the looks.
/// Together they stay below the usual limit of 1,024 open files.
const BEFORE: usize = 100;
const MEASURED: usize = 800;

#[test]
fn an_idle_subscriber_costs_at_most_512_bytes() {
    if std::env::var_os(SERVE).is_some() {
        return serve();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "memory::an_idle_subscriber_costs_at_most_512_bytes",
            "--nocapture",
        ])
        .env(SERVE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept open to the end: the child must be able to write.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()))
        .expect("the child says where it listens");

    let mut open: Vec<_> = (0..BEFORE).map(|_| subscribe(&address)).collect();
    let before = resident_bytes(&address);
    open.extend((0..MEASURED).map(|_| subscribe(&address)));
    let each = (resident_bytes(&address) - before) / MEASURED as f64;
    drop(open);
    drop(child.stdin.take());
    let rest = lines.count();
    assert!(child.wait().unwrap().success(), "{rest} more lines");
    assert!((80.0..=512.0).contains(&each), "{each} bytes a subscriber");
}

/// The child: a market until its input ends.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn serve() {
    let (shutdown, stop) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        drop((ended, shutdown));
    });
    let ready = |address| println!("\nlistening on {address}");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(market::serve(calm(), ready, async { drop(stop.await) }))
        .unwrap();
}

/// A WebSocket that has joined a game, and so has an account.
fn subscribe(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(
            b"GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        )
        .unwrap();
    let mut answer = [0; 512];
    let count = stream.read(&mut answer).unwrap();
    assert!(answer[..count].starts_with(b"HTTP/1.1 101 "));
    // FIN and text, MASK and length, a mask of zeros.
    let join = br#"{"op":"join","game":"g1"}"#;
    let header = [0x81, 0x80 | join.len() as u8, 0, 0, 0, 0];
    stream.write_all(&[&header[..], join].concat()).unwrap();
    let count = stream.read(&mut answer).unwrap();
    let reply = String::from_utf8_lossy(&answer[..count]);
    assert!(reply.contains(r#""re":"join","game":"g1""#), "{reply}");
    stream
}

fn resident_bytes(address: &str) -> f64 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("process_resident_memory_bytes "));
    value.unwrap().parse().unwrap()
}
