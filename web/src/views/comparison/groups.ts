/** Graph of runs: the graph, its cliques, every pair. */

import { graph, type Node } from '../../chart/graph';
import type { ComparisonDocument, Graph, Measure } from '../../document/comparison';
import { type Child, el } from '../../dom';
import { type FigureSpec, figure } from '../../figure';
import { column, each } from '../../frame';
import { table } from '../../table';

/** A method of comparing runs. */
interface Way {
  name: string;
  similarity: Graph;
  test: 'ks' | 'ad';
}

export function groups(doc: ComparisonDocument, measure: Measure, place: number): Child[] {
  if (doc.runs.length < 3) return [];
  const ways: Way[] = [];
  const add = (how: string, similarity: Graph | null) => {
    if (!similarity) return;
    ways.push({ name: `Kolmogorov–Smirnov, ${how}`, similarity, test: 'ks' });
    ways.push({ name: `Anderson–Darling, ${how}`, similarity, test: 'ad' });
  };
  add('as measured', measure.direct);
  add('published pipeline', measure.published);
  const first = ways[0];
  if (!first) return [];
  const cliques = el('div');
  const select: HTMLSelectElement = el(
    'select',
    {
      'aria-label': 'Test of similarity',
      onchange: () => show(ways[select.selectedIndex] ?? first),
    },
    ...ways.map((way) => el('option', {}, way.name)),
  );
  // A figure with this id is updated, not added.
  const show = (way: Way) => {
    cliques.replaceChildren(cliqueTable(doc, way), pairTable(doc, way));
    return figure({ ...graphSpec(doc, way, place), controls: [select] });
  };
  return [show(first), cliques];
}

function edges(way: Way): [number, number][] {
  return way.test === 'ks' ? way.similarity.ks_edges : way.similarity.ad_edges;
}

function cliquesOf(way: Way): number[][] {
  return way.test === 'ks' ? way.similarity.ks_cliques : way.similarity.ad_cliques;
}

/** The group a run is drawn in: the first of its largest ones. */
export function groupOf(cliques: number[][], run: number): number {
  const largest = cliques
    .map((clique, n) => ({ clique, n }))
    .sort((a, b) => b.clique.length - a.clique.length || a.n - b.n);
  const at = largest.findIndex(({ clique }) => clique.includes(run));
  return at < 0 ? largest.length : at;
}

function graphSpec(doc: ComparisonDocument, way: Way, place: number): FigureSpec {
  const cliques = cliquesOf(way);
  const nodes = doc.runs.map((run, n): Node => ({
    name: run.label,
    text: `${run.label}, ${run.side}\n${run.id}`,
    group: groupOf(cliques, n),
    symbol: run.side === 'baseline' ? 'rect' : 'circle',
  }));
  const sided = doc.runs.some((run) => run.side === 'baseline');
  return {
    title: 'Graph of runs',
    id: `similarity-${place}`,
    note: `A line joins two runs between which ${way.name} finds no difference. Runs of one colour belong to one group.${sided ? ' Squares are the baseline.' : ''}`,
    height: 320,
    // Each run has its row, even without similar runs.
    frame: () => [
      each(doc.runs, 'run', '', (run) => run.label),
      column(
        'is like',
        '',
        doc.runs.map((_, n) => labels(doc, alikeTo(way, n)) || 'none'),
      ),
    ],
    option: (theme) => graph({ nodes, edges: edges(way) }, theme),
  };
}

/** The runs that are joined with this one. */
function alikeTo(way: Way, run: number): number[] {
  return edges(way).flatMap(([a, b]) => (a === run ? [b] : b === run ? [a] : []));
}

function labels(doc: ComparisonDocument, clique: number[]): string {
  return clique.map((run) => doc.runs[run]?.label ?? '').join(' ');
}

function cliqueTable(doc: ComparisonDocument, way: Way): HTMLElement {
  const cliques = cliquesOf(way);
  return el(
    'div',
    {},
    el('h3', { class: 'apart' }, 'Groups'),
    el(
      'p',
      { class: 'note' },
      `Maximal cliques: all runs of a group are alike; a run may be in several groups.${way.similarity.cut_off ? ' The list is incomplete.' : ''}`,
    ),
    table({
      title: `Groups by ${way.name}`,
      frame: [
        each(cliques, 'group', '', (clique) => labels(doc, clique)),
        each(cliques, 'runs', 'count', (clique) => clique.length),
      ],
    }),
  );
}

function pairTable(doc: ComparisonDocument, way: Way): HTMLElement {
  const { pairs, pairs_left_out } = way.similarity;
  const test = (n: number) => pairs[n]?.[way.test];
  const places = pairs.map((_, n) => n);
  return el(
    'details',
    { class: 'phase' },
    el('summary', {}, 'Pairs of runs'),
    pairs_left_out > 0 &&
      el('p', { class: 'note' }, `${pairs_left_out} more pairs are in the JSON of the comparison.`),
    table({
      title: `Pairs of runs by ${way.name}`,
      frame: [
        each(pairs, 'pair', '', (pair) => labels(doc, [pair.a, pair.b])),
        each(places, 'statistic', '', (n) => test(n)?.statistic ?? null),
        each(places, 'p, all operations', 'p', (n) => test(n)?.p ?? null),
        each(places, 'p, independent operations', 'p', (n) => test(n)?.p_effective ?? null),
        each(places, 'p, corrected', 'p', (n) => test(n)?.p_adjusted ?? null),
        each(places, 'result', '', (n) => (test(n)?.alike ? 'alike' : 'differ')),
      ],
    }),
  );
}
