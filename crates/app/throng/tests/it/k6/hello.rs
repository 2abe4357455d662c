//! The service of `examples/k6/hello.proto`, by Node's HTTP/2: it answers with the greeting, and counts.

use std::process::{Command, Stdio};

use testkit::needs::skip;

use crate::support::{Running, Space};

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
    node: Running,
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
        let mut command = Command::new("node");
        command.arg(space.file("server.js", SCRIPT)).stdin(Stdio::piped());
        let mut node = Running::start(&mut command);
        let url = format!("http://127.0.0.1:{}", node.line().trim());
        Some(Hello { node, url })
    }

    /// Ends it; a path and a greeting for each call that it had.
    pub(super) fn stop(mut self) -> Vec<String> {
        self.node.release();
        // The first line was its port.
        self.node.end().with(0).out.lines().skip(1).map(str::to_owned).collect()
    }
}
