//! Servers of HTTP/2 that others wrote: Node's and nginx.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testkit::needs::skip;

use super::certificate;
use crate::support::{Space, pass};

/// Answers what the tests request, and reports what it counted once its standard input ends.
const SCRIPT: &str = r#"
const http2 = require('node:http2'), fs = require('node:fs'), zlib = require('node:zlib');
const { createHash } = require('node:crypto');
const [sockets, cert, key] = process.argv.slice(2);
const settings = { enableConnectProtocol: sockets === 'streams' };
const server = cert
  ? http2.createSecureServer({ settings, cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true })
  : http2.createServer({ settings });
const counted = { streams: 0, errors: 0, websockets: 0, upgrades: 0, messages: 0, closed: 0 };
// Echoes the messages of a WebSocket as they came; compressed ones stand for themselves.
const talk = (duplex, path) => {
  let held = Buffer.alloc(0);
  duplex.on('error', () => {});
  duplex.on('data', (piece) => {
    held = Buffer.concat([held, piece]);
    for (;;) {
      if (held.length < 2) return;
      const short = held[1] & 127, at = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (held.length < at + 4) return;
      const length = short < 126 ? short : short === 126 ? held.readUInt16BE(2) : Number(held.readBigUInt64BE(2));
      if (held.length < at + 4 + length) return;
      if (!(held[1] & 128)) counted.errors += 1;
      const first = held[0], payload = Buffer.from(held.subarray(at + 4, at + 4 + length));
      for (let i = 0; i < length; i += 1) payload[i] ^= held[at + (i & 3)];
      held = held.subarray(at + 4 + length);
      if (path === '/lost') return duplex.destroy(new Error('lost'));
      const head = Buffer.alloc(at);
      head[0] = first;
      head[1] = short;
      if (short === 126) head.writeUInt16BE(length, 2);
      if (short === 127) head.writeBigUInt64BE(BigInt(length), 2);
      duplex.write(Buffer.concat([head, payload]));
      if ((first & 15) === 8) { counted.closed += 1; return duplex.end(); }
      counted.messages += 1;
    }
  });
};
const SEPARATE = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover';
server.on('upgrade', (request, socket) => {
  counted.upgrades += 1;
  const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + guid).digest('base64');
  socket.write(`HTTP/1.1 101 x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`);
  talk(socket, request.url);
});
const large = Buffer.alloc(200000, 'x');
server.on('sessionError', () => { counted.errors += 1; });
server.on('stream', (stream, headers) => {
  counted.streams += 1;
  const path = headers[':path'];
  stream.on('error', () => {});
  if (headers[':protocol'] === 'websocket') {
    counted.websockets += 1;
    if (path === '/forbidden') return stream.respond({ ':status': 403 }, { endStream: true });
    const answer = { ':status': 200 };
    if (headers['sec-websocket-extensions']) answer['sec-websocket-extensions'] = SEPARATE;
    stream.respond(answer);
    return talk(stream, path);
  }
  if (path === '/refused') return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  if (path === '/broken') return stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
  if (path === '/events') {
    stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
    for (const n of [1, 2, 3]) stream.write(`data: {"n":${n}}\n\n`);
    return;
  }
  if (path === '/echo') {
    stream.respond({ ':status': 200, 'content-type': headers['content-type'] }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-end': 'yes' }));
    return stream.pipe(stream);
  }
  if (path === '/moved') {
    stream.respond({ ':status': 303, location: '/packed' });
    return stream.end();
  }
  if (path === '/packed') {
    if (headers[':method'] !== 'GET') return stream.close(http2.constants.NGHTTP2_PROTOCOL_ERROR);
    stream.respond({ ':status': 200, 'content-encoding': 'gzip' });
    return stream.end(zlib.gzipSync('{"word":"moon"}'));
  }
  if (path === '/goaway') stream.session.goaway(0, stream.id);
  stream.respond({ ':status': 200, 'content-type': 'application/json', 'x-own': 'value' });
  stream.end(path === '/large' ? large : '{"word":"moon"}');
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => { console.log(JSON.stringify(counted)); process.exit(0); });
process.stdin.resume();
"#;

pub(super) struct Node {
    process: Child,
    out: BufReader<std::process::ChildStdout>,
    pub(super) url: String,
}

impl Node {
    /// `None`, and the test is reported as skipped, where there is no Node.
    pub(super) fn start(space: &Space, tls: bool) -> Option<Node> {
        Node::start_with(space, tls, "streams")
    }

    /// The same of one that takes WebSockets over HTTP/2 only if `sockets` is `streams`.
    pub(super) fn start_with(space: &Space, tls: bool, sockets: &str) -> Option<Node> {
        let mut command = Command::new("node");
        command.arg(space.file("server.js", SCRIPT)).arg(sockets);
        if tls {
            let (cert, key) = certificate(space);
            command.args([cert, key]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut process) = command.spawn() else {
            skip("node is not installed: HTTP/2 is not tried against it");
            return None;
        };
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut port = String::new();
        out.read_line(&mut port).unwrap();
        let scheme = if tls { "https" } else { "http" };
        let url = format!("{scheme}://127.0.0.1:{}", port.trim());
        Some(Node { process, out, url })
    }

    /// Ends it and returns what it counted.
    pub(super) fn stop(mut self) -> Value {
        drop(self.process.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) struct Nginx {
    process: Child,
    log: PathBuf,
    pub(super) url: String,
}

impl Nginx {
    /// `None`, and the test is reported as skipped, where there is no nginx.
    pub(super) fn start(space: &Space, tls: bool) -> Option<Nginx> {
        let port = free_port();
        let folder = space.path("nginx");
        std::fs::create_dir_all(folder.join("html")).unwrap();
        std::fs::write(folder.join("html/hello"), "hello").unwrap();
        std::fs::write(folder.join("html/large"), "x".repeat(200_000)).unwrap();
        let (listen, files) = match tls {
            true => {
                let (cert, key) = certificate(space);
                ("ssl http2", format!("ssl_certificate {cert}; ssl_certificate_key {key};"))
            }
            false => ("http2", String::new()),
        };
        let place = folder.display();
        let text = format!(
            "daemon off; master_process off; pid {place}/pid; error_log {place}/error.log;\n\
             events {{ worker_connections 512; }}\n\
             http {{\n  log_format short '$server_protocol $status'; access_log {place}/access.log short;\n  \
             client_body_temp_path {place}; proxy_temp_path {place}; fastcgi_temp_path {place};\n  \
             uwsgi_temp_path {place}; scgi_temp_path {place};\n  \
             server {{ listen 127.0.0.1:{port} {listen}; {files} root {place}/html; }}\n}}\n"
        );
        let config = space.file("nginx.conf", &text);
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&folder).arg("-c").arg(config);
        let Ok(process) = command.stderr(Stdio::null()).spawn() else {
            skip("nginx is not installed: HTTP/2 is not tried against it");
            return None;
        };
        let scheme = if tls { "https" } else { "http" };
        let nginx = Nginx {
            process,
            log: folder.join("access.log"),
            url: format!("{scheme}://127.0.0.1:{port}"),
        };
        wait_for(port);
        Some(nginx)
    }

    /// Ends it and returns how many requests it logged, by protocol and status.
    pub(super) fn stop(mut self) -> BTreeMap<String, u64> {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::QUIT).unwrap();
        self.process.wait().unwrap();
        let text = std::fs::read_to_string(&self.log).unwrap();
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.ends_with(" 000")) {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(super) struct HaProxy {
    process: Child,
    pub(super) url: String,
}

impl HaProxy {
    /// `None`, and the test is reported as skipped, where there is no HAProxy.
    pub(super) fn start(space: &Space, tls: bool) -> Option<HaProxy> {
        let port = free_port();
        let listen = if tls {
            let (cert, key) = certificate(space);
            let both = [cert, key].map(|file| std::fs::read_to_string(file).unwrap());
            let pem = space.file("both.pem", &both.concat());
            format!("ssl crt {} alpn h2", pem.display())
        } else {
            "proto h2".to_owned()
        };
        let text = format!(
            "defaults\n  mode http\n  timeout client 10s\n  timeout server 10s\n  timeout connect 10s\n\
             frontend f\n  bind 127.0.0.1:{port} {listen}\n  \
             http-request return status 200 content-type text/plain string hello\n"
        );
        let mut command = Command::new("haproxy");
        command.args(["-db", "-q", "-f"]).arg(space.file("haproxy.cfg", &text));
        let Ok(process) = command.stderr(Stdio::null()).spawn() else {
            skip("haproxy is not installed: HTTP/2 is not tried against it");
            return None;
        };
        let scheme = if tls { "https" } else { "http" };
        let haproxy = HaProxy { process, url: format!("{scheme}://127.0.0.1:{port}") };
        wait_for(port);
        Some(haproxy)
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port for a server that cannot choose one; whoever takes it meanwhile fails the test.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_for(port: u16) {
    for _ in 0..500 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        pass(Duration::from_millis(20));
    }
    panic!("nobody listens at port {port}");
}
