//! The service of `examples/k6/hello.proto`, by Node's HTTP/2: it answers with the greeting, and counts.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use testkit::needs::skip;

use crate::support::Space;

const SCRIPT: &str = r"
const http2 = require('node:http2');
const server = http2.createServer();
const greetings = [];
server.on('stream', (stream, headers) => {
  let body = Buffer.alloc(0);
  stream.on('data', (piece) => { body = Buffer.concat([body, piece]); });
  stream.on('end', () => {
    // A prefix of five bytes, the tag of field 1, its length, its text.
    const greeting = body.subarray(7, 7 + body[6]).toString();
    greetings.push(`${headers[':path']} ${greeting}`);
    const text = Buffer.from(`Hello ${greeting}`);
    const message = Buffer.concat([Buffer.from([10, text.length]), text]);
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => { console.log(greetings.join('\n')); process.exit(); });
process.stdin.resume();
";

pub(super) struct Hello {
    process: Child,
    out: BufReader<ChildStdout>,
    pub(super) url: String,
}

impl Hello {
    /// `None`, and the test is reported as skipped, where there is no Node.
    pub(super) fn start(space: &Space) -> Option<Hello> {
        let has_node = Command::new("node").arg("--version").output().is_ok();
        if !has_node {
            skip("examples/k6/grpc.yaml needs a server in Node");
            return None;
        }
        let mut process = Command::new("node")
            .arg(space.file("server.js", SCRIPT))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(process.stdout.take().unwrap());
        let mut port = String::new();
        out.read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}", port.trim());
        Some(Hello { process, out, url })
    }

    /// Ends it; a path and a greeting for each call that it had.
    pub(super) fn stop(mut self) -> Vec<String> {
        drop(self.process.stdin.take());
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Hello {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
