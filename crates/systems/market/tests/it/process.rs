//! What needs a market in a process of its own: memory by the subscriber, and a limit on files.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tokio::sync::oneshot;

use rustls::{ClientConnection, StreamOwned};
use testkit::client::HANDSHAKE;

use crate::support::{calm, frame};
use crate::tls::Secure;

/// Set for the child process, which runs the same test and only serves.
const SERVE: &str = "MARKET_TEST_SERVE";
/// Set to the folder of certificate and key, if it has TLS.
const TLS: &str = "MARKET_TEST_TLS";
/// Connections before the first look, so that what is made once is made, and between the looks.
/// Together they stay below the usual limit of 1,024 open files.
const BEFORE: usize = 100;
const MEASURED: usize = 800;
/// How long an answer may take before a test gives up.
const TIMEOUT: Duration = Duration::from_secs(20);

#[test]
fn an_idle_subscriber_costs_at_most_512_bytes() {
    let name = "process::an_idle_subscriber_costs_at_most_512_bytes";
    let Some(market) = Process::start(name, "") else {
        return;
    };
    let each = bytes_each(market);
    assert!((80.0..=512.0).contains(&each), "{each} bytes a subscriber");
}

#[test]
fn an_idle_subscriber_by_tls_costs_at_most_4_kib() {
    let name = "process::an_idle_subscriber_by_tls_costs_at_most_4_kib";
    let secure = Secure::new();
    let folder = secure.folder.path().display();
    let Some(mut market) = Process::start(name, &format!("export {TLS}={folder};")) else {
        return;
    };
    market.secure = Some(secure);
    let each = bytes_each(market);
    assert!((512.0..=4096.0).contains(&each), "{each} bytes a subscriber");
}

/// What a subscriber costs a market.
fn bytes_each(market: Process) -> f64 {
    let mut open: Vec<_> = (0..BEFORE).map(|_| market.subscribe()).collect();
    let resident = || market.metric("process_resident_memory_bytes");
    // The first page of metrics brings its own code into memory.
    resident();
    let before = resident();
    open.extend((0..MEASURED).map(|_| market.subscribe()));
    let each = (resident() - before) / MEASURED as f64;
    drop(open);
    market.stop();
    each
}

#[test]
fn without_files_connections_wait_until_there_are_some() {
    let name = "process::without_files_connections_wait_until_there_are_some";
    let Some(market) = Process::start(name, "ulimit -n 64;") else {
        return;
    };
    let mut fans: Vec<TcpStream> = (0..100).map(|_| market.connect()).collect();
    for fan in &mut fans {
        fan.write_all(HANDSHAKE.as_bytes()).unwrap();
    }
    // In the order in which they came: the first are served, the last must wait.
    assert!(read(&mut fans[0]).starts_with("HTTP/1.1 101 "));
    fans.drain(..80);
    for fan in &mut fans {
        assert!(read(fan).starts_with("HTTP/1.1 101 "));
    }
    assert!(market.metric("market_accept_errors_total") >= 1.0);
    drop(fans);
    market.stop();
}

/// A market in a child process, as long as it is not dropped.
struct Process {
    child: Child,
    /// The child serves until this is closed.
    leash: Option<ChildStdin>,
    /// Kept open to the end: the child must be able to write.
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
    secure: Option<Secure>,
}

/// A connection, with TLS or without.
trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

impl Process {
    /// Runs the test `name` again in a child, after the shell command `before`; there this serves
    /// and returns nothing.
    fn start(name: &str, before: &str) -> Option<Self> {
        if std::env::var_os(SERVE).is_some() {
            serve();
            return None;
        }
        let mut child = Command::new("sh")
            .args(["-c", &format!("{before} exec \"$0\" \"$@\"")])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(SERVE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once("listening on ")?.1.to_owned()))
            .expect("the child says where it listens");
        Some(Self { leash: child.stdin.take(), child, lines, address, secure: None })
    }

    fn stop(mut self) {
        drop(self.leash.take());
        let rest = self.lines.count();
        assert!(self.child.wait().unwrap().success(), "{rest} more lines");
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// With TLS, if the market has it.
    fn open(&self) -> Box<dyn Stream> {
        let stream = self.connect();
        match &self.secure {
            None => Box::new(stream),
            Some(secure) => {
                let name = "localhost".try_into().unwrap();
                let client = ClientConnection::new(secure.client.clone(), name).unwrap();
                Box::new(StreamOwned::new(client, stream))
            }
        }
    }

    /// A WebSocket that has joined a game, and so has an account.
    fn subscribe(&self) -> Box<dyn Stream> {
        let mut stream = self.open();
        stream.write_all(HANDSHAKE.as_bytes()).unwrap();
        assert!(read(&mut stream).starts_with("HTTP/1.1 101 "));
        let join = frame(0x81, br#"{"op":"join","game":"g1"}"#);
        stream.write_all(&join).unwrap();
        let reply = read(&mut stream);
        assert!(reply.contains(r#""re":"join","game":"g1""#), "{reply}");
        stream
    }

    fn metric(&self, name: &str) -> f64 {
        let mut stream = self.open();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap().parse().unwrap()
    }
}

/// What comes next.
fn read(stream: &mut impl Read) -> String {
    let mut answer = [0; 512];
    let count = stream.read(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[..count]).into_owned()
}

/// The child: a market until its input ends.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn serve() {
    let (shutdown, stop) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let ended = std::io::stdin().read_to_end(&mut Vec::new());
        drop((ended, shutdown));
    });
    let mut options = calm();
    options.server.tls = std::env::var_os(TLS).map(|folder| Secure::files(folder.as_ref()));
    let ready = Box::new(|address| println!("\nlistening on {address}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stopped = Box::pin(async { drop(stop.await) });
    runtime.block_on(market::serve(options, ready, stopped)).unwrap();
}
