// A chat of its own for each test file: the program as people start it, on a free port.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = fileURLToPath(new URL('../..', import.meta.url));
const target = path.resolve(root, process.env.CARGO_TARGET_DIR ?? 'target');
const program = process.env.THRONG ?? path.join(target, 'debug/throng');

/** Starts `throng serve chat`; it ends with this process at the latest. */
export async function serveChat(...options) {
  const args = ['serve', 'chat', '--listen', '127.0.0.1:0', '--until-stdin-closes', ...options];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const listening = (async () => {
    for await (const line of createInterface(child.stdout)) {
      const found = line.match(/^listening on (http:\/\/\S+)$/);
      if (found) return new URL(found[1]);
    }
    throw new Error(`${program} ended before it listened`);
  })();
  const url = await Promise.race([listening, exit.then(() => listening)]);
  const stop = async () => {
    child.stdin.end();
    return exit;
  };
  return { url, websocket: (at) => `ws://${url.host}${at}`, stop };
}

/** Says something over HTTP; the message's number. */
export async function speak(url, message, room = 'lobby') {
  const body = new URLSearchParams({ message, from: 'test' });
  const answer = await fetch(new URL(`/chat/speak?room=${room}`, url), { method: 'POST', body });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).id;
}

/** A queue whose next item can be waited for. */
export function queue() {
  const items = [];
  const waiting = [];
  return {
    push(item) {
      const waiter = waiting.shift();
      if (waiter) waiter(item);
      else items.push(item);
    },
    next() {
      if (items.length > 0) return Promise.resolve(items.shift());
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
