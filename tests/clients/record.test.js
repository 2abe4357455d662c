// A browser whose proxy is `throng record`: the chat's page over HTTP, and its WebSocket.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { program, serveChat } from './server.js';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : 'there is no chromium';
// Long enough for the slowest machine: nothing here is measured.
const timeout = 300_000;

let chat;
let folder;
before(async () => {
  if (skip) return;
  chat = await serveChat();
  folder = await mkdtemp(path.join(tmpdir(), 'throng-'));
}, { timeout });
after(async () => {
  await chat?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

/** Starts a recorder; its address, and what ends it. */
async function record(options) {
  const args = ['record', '--listen', '127.0.0.1:0', '--until-stdin-closes', ...options];
  const child = spawn(program, args, { stdio: ['pipe', 'ignore', 'pipe'] });
  const exit = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const lines = createInterface(child.stderr)[Symbol.asyncIterator]();
  const { value } = await lines.next();
  const found = value?.match(/^recording {2}(http:\/\/\S+),/);
  assert.ok(found, `${value}`);
  // Whatever else is printed must not fill the pipe.
  (async () => { while (!(await lines.next()).done); })();
  return { url: found[1], stop: () => { child.stdin.end(); return exit; } };
}

test('a visit with a WebSocket is recorded', { skip, timeout }, async () => {
  const har = path.join(folder, 'chat.har');
  const yaml = path.join(folder, 'chat.yaml');
  const recorder = await record(['--har', har, '--output', yaml]);
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({
    executablePath,
    args,
    // Without this Chromium sends nothing of this machine to a proxy.
    proxy: { server: recorder.url, bypass: '<-loopback>' },
  });
  const page = await browser.newPage();
  page.setDefaultTimeout(timeout);
  await page.goto(new URL('/chat?transport=websocket&room=recorded', chat.url).href);
  await page.locator('#state', { hasText: 'connected' }).waitFor();
  await page.locator('#from').fill('ann');
  await page.locator('#message').fill('hello <b>');
  await page.getByRole('button', { name: 'Speak' }).click();
  await page.locator('li', { hasText: 'hello <b>' }).waitFor();
  await browser.close();
  assert.equal(await recorder.stop(), 0);
  const { log } = JSON.parse(await readFile(har, 'utf8'));
  const opened = log.entries.find((entry) => entry._resourceType === 'websocket');
  assert.ok(opened.request.url.startsWith(`ws://${chat.url.host}/`), opened.request.url);
  const received = opened._webSocketMessages.filter((message) => message.type === 'receive');
  assert.ok(received.some((message) => message.data.includes('hello <b>')), JSON.stringify(received));
  const documents = log.entries.filter((entry) => entry.request.url.includes('/chat?transport'));
  assert.ok(documents.some((entry) => entry.response.status === 200));
  const scenario = await readFile(yaml, 'utf8');
  assert.match(scenario, /get: \/chat\?transport=websocket/);
  assert.match(scenario, /- ws: /);
});
