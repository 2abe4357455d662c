// Servers of Node: HTTP/1.1, and HTTP/2 with and without TLS, in a worker of its cluster module.
//
//     node node.js PLAIN1 PLAIN2 TLS CERT KEY IDLE_MS
//
// Prints `ready`. A line on standard input is answered by a line of JSON: `counts` by what was served so far;
// `restart` once another worker has replaced this one, which then ends its connections in good order.
'use strict';
const cluster = require('node:cluster');
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

function serve() {
  const secret = { cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true };
  const servers = [http.createServer(answer), http2.createServer(answer), http2.createSecureServer(secret, answer)];
  const sessions = new Set();
  const ports = [plain1, plain2, tls];
  servers.forEach((server, place) => {
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
