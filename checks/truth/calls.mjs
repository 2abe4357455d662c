// A server of HTTP/2 without TLS whose order and ends are known, with calls of gRPC (calls.proto).
//   calls.mjs [REQUESTS]   with a number, each connection processes no more than that, and announces its end soon (GOAWAY)
// Prints its port, serves until its standard input closes, then prints what it counted as one line of JSON. It stamps each
// request when its head is read and when it is answered.
//   /truth.Push/Watch  keeps the call open
//   /truth.Push/Echo   answers with the message
//   /speak?number=N    pushes a message to the connection's open call: before its answer, with it or after it, by N
//   any other path     is answered at once
import http2 from "node:http2";

const GAP_MS = 2;
// From the last request that a connection processes to the announcement.
const END_MS = 100;
const requestsOfConnection = Number(process.argv[2] ?? Infinity);
const counts = { received: 0, ignored: 0, answered: 0, pushed: 0, connections: 0, by_path: {}, median_s: {} };
// From the head of a request to its answer, in milliseconds, by path.
const times = {};

/** A message as gRPC frames it. */
function framed(message) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** A message whose first field is a short text. */
function note(text) {
  const bytes = Buffer.from(text);
  return Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes]);
}

function beginCall(stream) {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
}

function answer(stream) {
  if (stream.destroyed) return;
  counts.answered += 1;
  (times[stream.path] ??= []).push(performance.now() - stream.begun);
  stream.respond({ ":status": 200 });
  stream.end("ok");
}

/** Announces that nothing after this request is processed, and ends the connection once its requests are answered. */
function end(session, last) {
  if (session.destroyed) return;
  session.goaway(http2.constants.NGHTTP2_NO_ERROR, last);
  for (const stream of session.ignored) stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  session.close();
}

function speak(stream, number) {
  const call = stream.session.call;
  const push = () => {
    counts.pushed += 1;
    call.write(framed(note(`m${number}`)));
  };
  const [first, second] = number % 3 === 2 ? [() => answer(stream), push] : [push, () => answer(stream)];
  first();
  if (number % 3 === 1) second();
  else setTimeout(second, GAP_MS);
}

const server = http2.createServer();
server.on("session", (session) => {
  counts.connections += 1;
  session.requests = 0;
  session.ignored = [];
  session.on("error", () => {});
});
server.on("sessionError", () => {});
server.on("stream", (stream, headers) => {
  stream.begun = performance.now();
  counts.received += 1;
  stream.on("error", () => {});
  const session = stream.session;
  session.requests += 1;
  if (session.requests > requestsOfConnection) {
    counts.ignored += 1;
    session.ignored.push(stream);
    return;
  }
  if (session.requests === requestsOfConnection) setTimeout(end, END_MS, session, stream.id);
  const url = new URL(headers[":path"], "http://truth/");
  stream.path = url.pathname;
  counts.by_path[stream.path] = (counts.by_path[stream.path] ?? 0) + 1;
  if (url.pathname === "/truth.Push/Watch") {
    session.call = stream;
    beginCall(stream);
  }
  const chunks = [];
  stream.on("data", (chunk) => chunks.push(chunk));
  stream.on("end", () => {
    const body = Buffer.concat(chunks);
    switch (url.pathname) {
      case "/truth.Push/Watch":
        break;
      case "/truth.Push/Echo":
        counts.answered += 1;
        beginCall(stream);
        stream.end(body);
        break;
      case "/speak":
        speak(stream, Number(url.searchParams.get("number")));
        break;
      default:
        answer(stream);
    }
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => {
  for (const [path, all] of Object.entries(times)) {
    counts.median_s[path] = all.sort((a, b) => a - b)[all.length >> 1] / 1e3;
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});
