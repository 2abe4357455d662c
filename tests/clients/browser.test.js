// The chat's page in a browser, over each transport.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { serveChat, speak } from './server.js';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : 'there is no chromium';
// Long enough for the slowest machine: nothing here is measured.
const timeout = 300_000;

let chat;
let browser;
before(async () => {
  if (skip) return;
  chat = await serveChat();
  // Root, as in containers, has no sandbox.
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  browser = await chromium.launch({ executablePath, args });
}, { timeout });
after(async () => {
  await browser?.close();
  await chat?.stop();
});

for (const transport of ['polling', 'long-polling', 'streaming', 'websocket']) {
  test(`speaks and hears over ${transport}`, { skip, timeout }, async () => {
    const room = `browser-${transport}`;
    await speak(chat.url, 'from before', room);
    const context = await browser.newContext();
    context.setDefaultTimeout(timeout);
    const faults = [];
    const open = async () => {
      const page = await context.newPage();
      page.on('pageerror', (error) => faults.push(error.message));
      // Breaches of the content security policy are told there.
      page.on('console', (line) => { if (line.type() === 'error') faults.push(line.text()); });
      await page.goto(new URL(`/chat?transport=${transport}&room=${room}`, chat.url).href);
      await page.locator('#state', { hasText: 'connected' }).waitFor();
      return page;
    };
    const [ann, bob] = [await open(), await open()];
    const say = async (page, from, message) => {
      await page.locator('#from').fill(from);
      await page.locator('#message').fill(message);
      await page.getByRole('button', { name: 'Speak' }).click();
    };
    await say(ann, 'ann', 'hello <b>');
    await bob.locator('li', { hasText: 'hello <b>' }).waitFor();
    await say(bob, 'bob', 'hello ann');
    for (const page of [ann, bob]) {
      await page.locator('li', { hasText: 'hello ann' }).waitFor();
      const lines = await page.locator('li').allInnerTexts();
      assert.deepEqual(lines, ['testfrom before', 'annhello <b>', 'bobhello ann']);
    }
    assert.deepEqual(faults, []);
    await context.close();
  });
}
