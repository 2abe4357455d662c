// Servers of Node: HTTP/1.1, and HTTP/2 with and without TLS, in a worker of its cluster module.
//
//     node node.js PLAIN1 PLAIN2 TLS CERT KEY IDLE_MS
//
// Prints `ready`. A line on standard input is answered by a line of JSON: `counts` by what was served so far;
// `restart` once another worker has replaced this one, which then ends its connections in good order.
'use strict';
const cluster = require('node:cluster');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const readline = require('node:readline');
const zlib = require('node:zlib');

const [plain1, plain2, tls, cert, key, idle] = process.argv.slice(2);
const WORD = '{"word":"moon"}';
const LARGE = Buffer.concat([Buffer.alloc(1_999_997, 'x'), Buffer.from('END')]);
const MUCH = JSON.stringify({ word: 'moon', much: 'much '.repeat(500) });
const CODINGS = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync };

function answer(request, response) {
  process.send(`HTTP/${request.httpVersion} ${request.url}`);
  switch (request.url) {
    case '/large':
      return response.end(LARGE);
    case '/echo':
      return request.pipe(response);
    case '/slow':
      return setTimeout(() => response.end(WORD), 500);
    case '/trailers':
      response.writeHead(200, { trailer: 'x-end' });
      response.write(WORD);
      response.addTrailers({ 'x-end': 'yes' });
      return response.end();
    case '/packed': {
      const coding = request.headers['accept-encoding'];
      response.setHeader('content-encoding', coding);
      return response.end(CODINGS[coding](MUCH));
    }
    default:
      return response.end(WORD);
  }
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
// Each message stands for itself, so that its echo needs no decompression.
const EXTENSION = 'permessage-deflate; client_no_context_takeover; server_no_context_takeover';

// Echoes the messages of a WebSocket, which clients mask.
function talk(duplex) {
  let held = Buffer.alloc(0);
  duplex.on('error', () => {});
  duplex.on('data', (piece) => {
    held = Buffer.concat([held, piece]);
    for (;;) {
      if (held.length < 2) return;
      const short = held[1] & 127;
      const at = { 126: 4, 127: 10 }[short] ?? 2;
      if (held.length < at + 4) return;
      const length = { 126: () => held.readUInt16BE(2), 127: () => Number(held.readBigUInt64BE(2)) }[short]?.() ?? short;
      if (held.length < at + 4 + length) return;
      const frame = Buffer.concat([held.subarray(0, at), held.subarray(at + 4, at + 4 + length)]);
      for (let i = 0; i < length; i += 1) frame[at + i] ^= held[at + (i & 3)];
      frame[1] &= 127;
      held = held.subarray(at + 4 + length);
      duplex.write(frame);
      if ((frame[0] & 15) === 8) return duplex.end();
      process.send('message');
    }
  });
}

function upgrade(request, socket) {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + GUID).digest('base64');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: upgrade'];
  lines.push(`sec-websocket-accept: ${accept}`);
  if (request.headers['sec-websocket-extensions']) lines.push(`sec-websocket-extensions: ${EXTENSION}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  talk(socket);
}

// A CONNECT with a protocol (RFC 8441).
function connect(request) {
  const extension = request.headers['sec-websocket-extensions'] && { 'sec-websocket-extensions': EXTENSION };
  request.stream.respond({ ':status': 200, ...extension });
  talk(request.stream);
}

function serve() {
  const settings = { enableConnectProtocol: true };
  const secret = { cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true, settings };
  const servers = [
    http.createServer(answer),
    http2.createServer({ settings }, answer),
    http2.createSecureServer(secret, answer),
  ];
  const sessions = new Set();
  const ports = [plain1, plain2, tls];
  servers.forEach((server, place) => {
    server.on('upgrade', upgrade);
    if (place > 0) server.on('connect', connect);
    // It keeps them for a second longer.
    server.keepAliveTimeout = Math.max(1, Number(idle) - 1000);
    server.on('session', (session) => {
      sessions.add(session);
      session.setTimeout(Number(idle), () => session.close());
      session.on('close', () => sessions.delete(session));
    });
    server.listen(Number(ports[place]), '127.0.0.1');
  });
  process.on('message', () => {
    servers.forEach((server) => server.close());
    sessions.forEach((session) => session.close());
    cluster.worker.disconnect();
  });
}

function conduct() {
  const counts = {};
  const count = (_, name) => {
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const spawn = (then) => {
    const worker = cluster.fork();
    let left = 3;
    worker.on('listening', () => {
      left -= 1;
      if (left === 0) then();
    });
    return worker;
  };
  cluster.on('message', count);
  let present = spawn(() => console.log('ready'));
  const lines = readline.createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const reply = () => console.log(JSON.stringify(counts));
    if (line !== 'restart') return reply();
    const earlier = present;
    present = spawn(() => {
      earlier.send('retire');
      reply();
    });
  });
  lines.on('close', () => process.exit(0));
}

if (cluster.isPrimary) conduct();
else serve();
