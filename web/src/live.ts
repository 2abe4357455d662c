/** The page of a run that goes on: each second a longer document, at last the report. */

import type { Document } from './document';
import { el } from './dom';
import { atTop } from './shell';

/** Whoever pressed once by mistake has so long to let it be. */
const SURE_MS = 4_000;

export function live(draw: (doc: Document) => void): void {
  const { bar, say } = statusBar();
  const button = stopButton(say);
  const pause = pauseButton(say);
  bar.append(pause.button, button);
  document.body.append(bar);
  say('Waiting for the first second of the run.');
  // The token is in a cookie now, and needs no longer stand where people copy addresses from.
  history.replaceState(null, '', location.pathname);

  const show = (doc: Document) => {
    draw(doc);
    atTop(bar);
    document.title = `${titleOf(doc)} · Throng`;
  };
  const source = new EventSource('events');
  source.onmessage = ({ data }: MessageEvent<string>) => {
    const doc = JSON.parse(data) as Document;
    show(doc);
    say(progress(doc));
    if (doc.kind !== 'run') return;
    pause.show(doc.verdict === 'paused');
    if (doc.verdict === 'stopping') button.remove();
    // After the last phase nobody is due any more.
    const end = doc.phases.at(-1)?.end_s ?? Infinity;
    if (doc.verdict === 'stopping' || doc.run.ended_s >= end) pause.button.remove();
  };
  source.onerror = () => say('The connection is lost; trying again. What was told stands below.');
  source.addEventListener('over', ({ data }: MessageEvent<string>) => {
    source.close();
    button.remove();
    pause.button.remove();
    // The server is gone soon: asked for before the drawing, which takes a while.
    const fetched = data === 'null' ? undefined : fetch('report.html').catch(() => undefined);
    const doc = JSON.parse(data) as Document | null;
    if (!doc) {
      say('The run ended without a report; the terminal tells why.');
      return;
    }
    show(doc);
    say('The run is over, and this is its report.');
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

/** Told once a phase, not each second: it is read aloud. */
function progress(doc: Document): string {
  if (doc.kind !== 'run') return '';
  if (doc.verdict === 'stopping') return 'The run is being stopped; what is under way may end.';
  if (doc.verdict === 'paused') {
    return 'Arrivals are paused: nobody starts, and those who are present go on.';
  }
  const now = doc.run.ended_s;
  const phase = doc.phases.find(({ start_s, end_s }) => start_s < now && now <= end_s);
  return phase ? `The run goes on: phase ${phase.name}.` : 'The run goes on: it lets users finish.';
}

function titleOf(doc: Document): string {
  return doc.kind === 'run' ? `${doc.run.name}: ${doc.verdict}` : doc.kind;
}

/** Pauses arrivals and resumes them; what it does next follows from what the run tells. */
function pauseButton(say: (words: string) => void) {
  let paused = false;
  let asking = false;
  const ask = async () => {
    if (asking) return;
    asking = true;
    const way = paused ? 'resume' : 'pause';
    const asked = await fetch(way, { method: 'POST' }).catch(() => undefined);
    asking = false;
    say(asked?.ok ? `Asked to ${way} arrivals.` : `Arrivals could not be ${way}d from here.`);
  };
  const button = el('button', { type: 'button', onclick: () => void ask() }, 'Pause arrivals');
  const show = (now: boolean) => {
    if (paused === now) return;
    paused = now;
    button.textContent = paused ? 'Resume arrivals' : 'Pause arrivals';
  };
  return { button, show };
}

function stopButton(say: (words: string) => void): HTMLButtonElement {
  const words = 'Stop the run';
  let sure: ReturnType<typeof setTimeout> | undefined;
  const stop = async () => {
    button.disabled = true;
    const asked = await fetch('stop', { method: 'POST' }).catch(() => undefined);
    if (asked?.ok) return;
    say('The run could not be stopped from here.');
    button.disabled = false;
  };
  const button = el(
    'button',
    {
      type: 'button',
      onclick: () => {
        if (sure) {
          clearTimeout(sure);
          void stop();
          return;
        }
        button.textContent = 'Press again to stop';
        sure = setTimeout(() => {
          sure = undefined;
          button.textContent = words;
        }, SURE_MS);
      },
    },
    words,
  );
  return button;
}

/** Keeps the report for who wants it. */
async function offer(bar: HTMLElement, fetched?: Promise<Response | undefined>): Promise<void> {
  const answer = await fetched;
  if (!answer?.ok) return;
  const file = new Blob([await answer.arrayBuffer()], { type: 'text/html' });
  const link = { href: URL.createObjectURL(file), download: 'report.html' };
  bar.append(el('a', link, 'Save report.html'));
}
