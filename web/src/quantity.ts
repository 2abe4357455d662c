/** Sentences: a number and its unit stay on one line, and what is in backticks is code. */

import { type Child, el } from './dom';

const SPECIAL = /(`[^`]+`|\d[\d.,]* (?:ns|µs|ms|s|min|h|%|B|[KMGT]iB)(?![\p{L}\d]))/u;

/** The pieces of a text in turn: words, and each quantity or code in it. */
export function pieces(text: string): string[] {
  return text.split(SPECIAL);
}

/** The text as children of an element. What is copied from it has plain blanks. */
export function unbroken(text: string): Child[] {
  return pieces(text).map((piece, n) => {
    if (n % 2 === 0) return piece;
    if (piece.startsWith('`')) return el('code', {}, piece.slice(1, -1));
    return el('span', { class: 'quantity' }, piece);
  });
}
