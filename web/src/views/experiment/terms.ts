/** The terms of a model: their effects, their shares of the variation, and the residuals. */

import { bars } from '../../chart/bars';
import { lines } from '../../chart/lines';
import type { ExperimentDocument, Response, TermFigures } from '../../document/experiment';
import type { Child } from '../../dom';
import { figure } from '../../figure';
import { formatUnit } from '../../format';
import { column, each } from '../../frame';
import { asChange, asValue, changeUnit, isMultiplicative, logarithmic, valueUnit } from './effect';

/** Half the width of a bar where bars stand one apart. */
const HALF = 0.32;
/** Most terms in a figure; its table has all. */
const DRAWN_MAX = 24;

/** The same term of what others measured. */
function theirs(response: Response, term: TermFigures) {
  return response.published?.terms.find((other) => other.name === term.name);
}

/** Changes from the low to the high level of factors with two levels, with intervals. */
export function effects(doc: ExperimentDocument, response: Response, place: number): Child {
  const all = (response.fit?.terms ?? []).filter((term) => term.effect !== null);
  if (all.length === 0) return null;
  const drawn = all.slice(0, DRAWN_MAX);
  const unit = changeUnit(response);
  const none = isMultiplicative(response) ? 1 : 0;
  const intervals = drawn.some((term) => term.effect?.low != null);
  // An effect of the model is half of the change.
  const change = (half: number | null | undefined) =>
    half === null || half === undefined ? null : asChange(response, 2 * half);
  const hasPublished = (response.published?.terms.length ?? 0) > 0;
  const published = (term: TermFigures) => change(theirs(response, term)?.effect);
  const ends = drawn.flatMap((term) => [
    ...[term.effect?.value, term.effect?.low, term.effect?.high].map(change),
    published(term),
  ]);
  return figure({
    title: 'Effects',
    id: `effects-${place}`,
    note: `How ${response.name} changes from the low to the high level; of an interaction, how much more it changes if the other factor is high${intervals ? `. With ${Number((100 * doc.confidence).toFixed(3))} % intervals: one that includes ${formatUnit(none, unit)} is no evidence of an effect` : '; there are no intervals without repetitions'}. ${letters(doc)}`,
    height: 280,
    frame: () => [
      each(all, 'term', '', (term) => term.name),
      each(all, 'change', unit, (term) => change(term.effect?.value)),
      each(all, 'from', unit, (term) => change(term.effect?.low)),
      each(all, 'to', unit, (term) => change(term.effect?.high)),
      each(all, 'aliases', '', (term) => term.aliases.join(', ')),
      ...(hasPublished ? [each(all, 'published', unit, published)] : []),
    ],
    option: (theme) =>
      lines(
        {
          x: { unit: '', name: 'term', categories: drawn.map((term) => term.name) },
          y: { unit, name: 'change', ...logarithmic(response, [...ends, none]) },
          lines: [
            {
              name: 'change',
              unit,
              dots: true,
              points: drawn.map((term, n): [number, number | null] => [
                n,
                change(term.effect?.value),
              ]),
              intervals: drawn.map((term, n): [number, number | null, number | null] => [
                n,
                change(term.effect?.low),
                change(term.effect?.high),
              ]),
            },
            ...(hasPublished
              ? [
                  {
                    name: 'published',
                    unit,
                    dots: true,
                    points: drawn.map((term, n): [number, number | null] => [n, published(term)]),
                  },
                ]
              : []),
          ],
          limits: [{ at: none, name: '' }],
        },
        theme,
      ),
  });
}

/** How much of the variation each term explains. */
export function variation(response: Response, place: number): Child {
  const { fit } = response;
  if (!fit) return null;
  // Errors come after the terms; they have neither F nor p.
  const { error } = fit;
  const names = [...fit.terms.map((term) => term.name), ...(error ? ['errors'] : [])];
  const values = [...fit.terms.map((term) => term.share), ...(error ? [error.share] : [])];
  const freedom = [...fit.terms.map((term) => term.df), ...(error ? [error.df] : [])];
  const order = values.map((_, n) => n).sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
  const drawn = order.slice(0, DRAWN_MAX);
  return figure({
    title: 'Variation explained',
    id: `variation-${place}`,
    note: fit.shares_add_up
      ? 'The share of the total variation that each term explains, the largest first.'
      : 'The share of the total variation of each term; the design is not balanced, so the shares do not add up to 1.',
    height: 260,
    frame: () => [
      column('term', '', names),
      column('share', 'share', values),
      column('degrees of freedom', 'count', freedom),
      column('F', '', [...fit.terms.map((term) => term.f)]),
      column('p', 'p', [...fit.terms.map((term) => term.p)]),
      ...(response.published?.terms.length
        ? [
            column(
              'published share',
              'share',
              fit.terms.map((term) => theirs(response, term)?.share ?? null),
            ),
          ]
        : []),
    ],
    option: (theme) =>
      bars(
        {
          x: { unit: '', name: 'term', categories: drawn.map((n) => names[n] ?? '') },
          y: { unit: 'share', name: 'share of variation', min: 0 },
          bars: drawn.map((n, at) => [at - HALF, at + HALF, values[n] ?? 0]),
          names: drawn.map((n) => names[n] ?? ''),
          unit: 'share',
        },
        theme,
      ),
  });
}

/** Residuals should scatter evenly about zero, whatever the fitted value. */
export function residuals(response: Response, place: number): Child {
  const { fit } = response;
  if (!fit?.error || fit.residuals.length === 0) return null;
  const unit = valueUnit(response);
  const left = fit.observations_left_out;
  const fitted = fit.fitted.map((value) => asValue(response, value));
  const rest = fit.residuals.map((value) => asChange(response, value));
  return figure({
    title: 'Residuals',
    id: `residuals-${place}`,
    note: `Residuals by fitted value: a pattern indicates a poor fit.${left > 0 ? ` ${left} more observations are in analysis.json.` : ''}`,
    frame: () => [column('fitted', unit, fitted), column('residual', changeUnit(response), rest)],
    option: (theme) =>
      lines(
        {
          x: { unit, name: 'fitted', ...logarithmic(response, fitted) },
          y: { unit: changeUnit(response), name: 'residual', ...logarithmic(response, rest) },
          lines: [
            {
              name: 'residual',
              unit: changeUnit(response),
              dots: true,
              points: fitted.map((x, n): [number, number | null] => [x, rest[n] ?? null]),
            },
          ],
          limits: [{ at: isMultiplicative(response) ? 1 : 0, name: '' }],
        },
        theme,
      ),
  });
}

function letters(doc: ExperimentDocument): string {
  return `${doc.factors.map((factor) => `${factor.letter}: ${factor.name}`).join(', ')}.`;
}
