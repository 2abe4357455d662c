/** Notes: what people write about a run. */

import type { Entry } from '../document/results';
import { type Child, el } from '../dom';
import { request } from './request';

/** As `NOTE_CHARS_MAX` in `crates/base/record/src/note.rs`. */
const CHARS_MAX = 280;

/** The note that is being written. Its form survives that the rows around it are drawn again. */
let editing: { id: string; form: HTMLElement } | undefined;

/** The note of an entry, and how to change it. `redraw` draws the entry again. */
export function noteOf(entry: Entry, redraw: () => void): Child {
  if (editing?.id === entry.id) return editing.form;
  if (entry.kind !== 'run') return null;
  const press = () => {
    editing = { id: entry.id, form: form(entry, redraw) };
    redraw();
    document.getElementById(inputId(entry))?.focus();
  };
  const what = `${entry.note ? 'Change the note on' : 'Add a note to'} ${entry.name}, ${entry.path}`;
  const button = el(
    'button',
    { type: 'button', id: `note-${entry.id}`, 'aria-label': what, onclick: press },
    entry.note ? 'Change' : 'Add a note',
  );
  return el('p', { class: 'run-note' }, entry.note && el('q', {}, entry.note), button);
}

function inputId(entry: Entry): string {
  return `note-text-${entry.id}`;
}

function form(entry: Entry, redraw: () => void): HTMLElement {
  const input = el('input', {
    id: inputId(entry),
    type: 'text',
    maxlength: String(CHARS_MAX),
    value: entry.note ?? '',
    'aria-label': `Note on ${entry.name}, ${entry.path}`,
  });
  const problem = el('span', { role: 'alert' });
  const close = () => {
    editing = undefined;
    redraw();
    document.getElementById(`note-${entry.id}`)?.focus();
  };
  const send = async () => {
    try {
      const path = `note/${entry.id}?text=${encodeURIComponent(input.value)}`;
      const saved = JSON.parse(await request(path, { method: 'POST' })) as { note: string | null };
      entry.note = saved.note;
      close();
    } catch (error) {
      problem.textContent = `The note was not saved: ${(error as Error).message}.`;
    }
  };
  const whole = el(
    'form',
    {
      class: 'run-note',
      onsubmit: (event) => {
        event.preventDefault();
        void send();
      },
      onkeydown: (event) => {
        if ((event as KeyboardEvent).key === 'Escape') close();
      },
    },
    input,
    el('button', { type: 'submit' }, 'Save'),
    el('button', { type: 'button', onclick: close }, 'Cancel'),
    problem,
  );
  return whole;
}
