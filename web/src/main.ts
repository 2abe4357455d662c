/** Draws the document in the page. A live page draws a longer one each second. */

import './style.css';
import { type Document, FORMAT } from './document';
import { el } from './dom';
import { live } from './live';
import { results } from './results';
import { capacity } from './views/capacity';
import { comparison } from './views/comparison';
import { duet } from './views/duet';
import { experiment } from './views/experiment';
import { meters } from './views/meters';
import { model } from './views/model';
import { run } from './views/run';
import { sweep } from './views/sweep';

/** Draws a document; existing figures are updated. */
export function draw(doc: Document): void {
  if (doc.format !== FORMAT) {
    throw new Error(
      `this page draws documents of format ${FORMAT}, and this is format ${doc.format}`,
    );
  }
  switch (doc.kind) {
    case 'run':
      run(doc);
      break;
    case 'comparison':
      comparison(doc);
      break;
    case 'duet':
      duet(doc);
      break;
    case 'experiment':
      experiment(doc);
      break;
    case 'capacity':
      capacity(doc);
      break;
    case 'sweep':
      sweep(doc);
      break;
    case 'meters':
      meters(doc);
      break;
    case 'model':
      model(doc);
      break;
  }
}

const holder = document.getElementById('document');
try {
  if ('live' in document.documentElement.dataset) live(draw);
  else if ('index' in document.documentElement.dataset) results(draw);
  else if (holder?.textContent) draw(JSON.parse(holder.textContent) as Document);
  else throw new Error('the page contains no document');
} catch (error) {
  const why = error instanceof Error ? error.message : String(error);
  document.body.append(
    el('p', { class: 'broken', role: 'alert' }, `This page cannot be drawn: ${why}.`),
  );
  throw error;
}
