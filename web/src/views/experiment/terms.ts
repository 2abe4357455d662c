/** The terms of a model: their effects, their shares of the variation, and the residuals. */

import { bars } from '../../chart/bars';
import { lines } from '../../chart/lines';
import type { ExperimentDocument, Response } from '../../document/experiment';
import type { Child } from '../../dom';
import { figure } from '../../figure';
import { column, each } from '../../frame';

/** Half the width of a bar where bars stand one apart. */
const HALF = 0.32;
/** Most terms in a figure; its table has all. */
const DRAWN_MAX = 24;

/** Effects of factors with two levels, with intervals. */
export function effects(doc: ExperimentDocument, response: Response, place: number): Child {
  const all = (response.fit?.terms ?? []).filter((term) => term.effect !== null);
  if (all.length === 0) return null;
  const drawn = all.slice(0, DRAWN_MAX);
  const unit = effectUnit(response);
  const intervals = drawn.some((term) => term.effect?.low != null);
  return figure({
    title: 'Effects',
    id: `effects-${place}`,
    note: `Half the difference between the low and the high level${intervals ? `, with ${Number((100 * doc.confidence).toFixed(3))} % intervals: an interval that includes zero is no evidence of an effect` : '; there are no intervals without repetitions'}. ${letters(doc)}`,
    height: 280,
    frame: () => [
      each(all, 'term', '', (term) => term.name),
      each(all, 'effect', unit, (term) => term.effect?.value ?? null),
      each(all, 'low', unit, (term) => term.effect?.low ?? null),
      each(all, 'high', unit, (term) => term.effect?.high ?? null),
      each(all, 'aliases', '', (term) => term.aliases.join(', ')),
    ],
    option: (theme) =>
      lines(
        {
          x: { unit: '', name: 'term', categories: drawn.map((term) => term.name) },
          y: { unit, name: 'effect' },
          lines: [
            {
              name: 'effect',
              unit,
              dots: true,
              points: drawn.map((term, n): [number, number | null] => [
                n,
                term.effect?.value ?? null,
              ]),
              intervals: drawn.map((term, n): [number, number | null, number | null] => [
                n,
                term.effect?.low ?? null,
                term.effect?.high ?? null,
              ]),
            },
          ],
          limits: [{ at: 0, name: '' }],
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
  const unit = effectUnit(response);
  const left = fit.observations_left_out;
  return figure({
    title: 'Residuals',
    id: `residuals-${place}`,
    note: `Residuals by fitted value: a pattern indicates a poor fit.${left > 0 ? ` ${left} more observations are in analysis.json.` : ''}`,
    frame: () => [column('fitted', unit, fit.fitted), column('residual', unit, fit.residuals)],
    option: (theme) =>
      lines(
        {
          x: { unit, name: 'fitted' },
          y: { unit, name: 'residual' },
          lines: [
            {
              name: 'residual',
              unit,
              dots: true,
              points: fit.fitted.map((x, n): [number, number | null] => [
                x,
                fit.residuals[n] ?? null,
              ]),
            },
          ],
          limits: [{ at: 0, name: '' }],
        },
        theme,
      ),
  });
}

/** Effects of a multiplicative model are of logarithms, which have no unit. */
export function effectUnit(response: Response): string {
  return response.model === 'multiplicative' ? '' : response.unit;
}

function letters(doc: ExperimentDocument): string {
  return `${doc.factors.map((factor) => `${factor.letter}: ${factor.name}`).join(', ')}.`;
}
