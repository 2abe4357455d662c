/** Light or dark: follows the system, until the user chooses. */

import { el } from './dom';

const KEY = 'throng-look';
const system = window.matchMedia('(prefers-color-scheme: dark)');
const listeners: (() => void)[] = [];

export function darkNow(): boolean {
  const chosen = document.documentElement.dataset.look;
  return chosen ? chosen === 'dark' : system.matches;
}

export function onLook(listener: () => void): void {
  listeners.push(listener);
}

function changed(): void {
  for (const listener of listeners) listener();
}

function choose(look: string): void {
  document.documentElement.dataset.look = look;
  changed();
}

/** A button that switches between light and dark. */
export function lookButton(): HTMLButtonElement {
  try {
    const kept = localStorage.getItem(KEY);
    if (kept === 'dark' || kept === 'light') choose(kept);
  } catch {
    // A page without storage follows the system.
  }
  const button = el('button', {
    type: 'button',
    class: 'look',
    onclick: () => {
      const look = darkNow() ? 'light' : 'dark';
      choose(look);
      try {
        localStorage.setItem(KEY, look);
      } catch {
        // As above.
      }
    },
  });
  const name = () => {
    button.textContent = darkNow() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', darkNow() ? 'Switch to light mode' : 'Switch to dark mode');
  };
  name();
  onLook(name);
  system.addEventListener('change', changed);
  return button;
}
