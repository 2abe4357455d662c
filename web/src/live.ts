/** The page of a run in progress: a longer document each second, and the report at the end. */

import type { Document } from './document';
import { el } from './dom';
import { progressBar } from './progress';
import { atTop } from './shell';

/** The time for the second press that confirms. */
const CONFIRM_MS = 4_000;

export function live(draw: (doc: Document) => void): void {
  const { bar, say } = statusBar();
  const button = stopButton(say);
  const pause = pauseButton(say);
  const progress = progressBar();
  bar.append(pause.button, button, progress.element);
  document.body.append(bar);
  say('Waiting for the first second of the run.');
  // The token is in a cookie now; remove it from the address, which people copy.
  history.replaceState(null, '', location.pathname + location.hash);

  const show = (doc: Document) => {
    draw(doc);
    atTop(bar);
    document.title = `${titleOf(doc)} · Throng`;
  };
  const source = new EventSource('events');
  source.onmessage = ({ data }: MessageEvent<string>) => {
    const doc = JSON.parse(data) as Document;
    show(doc);
    say(state(doc));
    progress.show(doc.kind === 'run' ? doc : undefined);
    if (doc.kind !== 'run') return;
    pause.show(doc.verdict === 'paused');
    if (doc.verdict === 'stopping') button.remove();
    // No users are due after the last phase.
    const end = doc.phases.at(-1)?.end_s ?? Infinity;
    if (doc.verdict === 'stopping' || doc.run.ended_s >= end) pause.button.remove();
  };
  source.onerror = () => say('Connection lost; reconnecting. The last known state is below.');
  source.addEventListener('over', ({ data }: MessageEvent<string>) => {
    source.close();
    button.remove();
    pause.button.remove();
    progress.show(undefined);
    // The server will stop soon: fetch the report before drawing, which takes a while.
    const fetched = data === 'null' ? undefined : fetch('report.html').catch(() => undefined);
    const doc = JSON.parse(data) as Document | null;
    if (!doc) {
      say('The run ended without a report; see the terminal for the reason.');
      return;
    }
    show(doc);
    say('The run is over. This is its report.');
    void offer(bar, fetched);
  });
}

function statusBar() {
  const text = el('p', { role: 'status' });
  const say = (words: string) => {
    if (text.textContent !== words) text.textContent = words;
  };
  return { bar: el('div', { class: 'live' }, text), say };
}

/** Changes once per phase, not each second: screen readers read it aloud. */
function state(doc: Document): string {
  if (doc.kind !== 'run') return '';
  if (doc.verdict === 'stopping') return 'The run is stopping; operations in flight may complete.';
  if (doc.verdict === 'paused') {
    return 'Arrivals are paused: no users start, active users continue.';
  }
  const now = doc.run.ended_s;
  const phase = doc.phases.find(({ start_s, end_s }) => start_s < now && now <= end_s);
  return phase ? `Running: phase ${phase.name}.` : 'Running: users may finish.';
}

function titleOf(doc: Document): string {
  return doc.kind === 'run' ? `${doc.run.name}: ${doc.verdict}` : doc.kind;
}

/** Pauses and resumes arrivals, depending on the state of the run. */
function pauseButton(say: (words: string) => void) {
  let paused = false;
  let pending = false;
  const toggle = async () => {
    if (pending) return;
    pending = true;
    const action = paused ? 'resume' : 'pause';
    const reply = await fetch(action, { method: 'POST' }).catch(() => undefined);
    pending = false;
    say(reply?.ok ? `Requested to ${action} arrivals.` : `Could not ${action} arrivals.`);
  };
  const button = el('button', { type: 'button', onclick: () => void toggle() }, 'Pause arrivals');
  const show = (now: boolean) => {
    if (paused === now) return;
    paused = now;
    button.textContent = paused ? 'Resume arrivals' : 'Pause arrivals';
  };
  return { button, show };
}

function stopButton(say: (words: string) => void): HTMLButtonElement {
  const words = 'Stop the run';
  let confirming: ReturnType<typeof setTimeout> | undefined;
  const stop = async () => {
    button.disabled = true;
    const reply = await fetch('stop', { method: 'POST' }).catch(() => undefined);
    if (reply?.ok) return;
    say('Could not stop the run.');
    button.disabled = false;
  };
  const button = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        if (confirming) {
          clearTimeout(confirming);
          void stop();
          return;
        }
        button.textContent = 'Press again to stop';
        confirming = setTimeout(() => {
          confirming = undefined;
          button.textContent = words;
        }, CONFIRM_MS);
      },
    },
    words,
  );
  return button;
}

/** Offers the report as a file. */
async function offer(bar: HTMLElement, fetched?: Promise<Response | undefined>): Promise<void> {
  const reply = await fetched;
  if (!reply?.ok) return;
  const file = new Blob([await reply.arrayBuffer()], { type: 'text/html' });
  const link = { href: URL.createObjectURL(file), download: 'report.html' };
  bar.append(el('a', link, 'Save report.html'));
}
