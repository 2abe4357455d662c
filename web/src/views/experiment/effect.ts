/** The numbers of a model in the unit of its response. */

import type { Response } from '../../document/experiment';

/** Whether effects multiply. */
export function isMultiplicative(response: Pick<Response, 'model'>): boolean {
  return response.model === 'multiplicative';
}

/** A value of the model in the unit of the response: a multiplicative model is of decimal logarithms. */
export function asValue(response: Pick<Response, 'model'>, value: number): number {
  return isMultiplicative(response) ? 10 ** value : value;
}

/** A difference of the model: a factor if effects multiply. */
export function asChange(response: Pick<Response, 'model'>, difference: number): number {
  return asValue(response, difference);
}

/** The unit of means, which are fractions if they are of counts. */
export function valueUnit({ unit }: Pick<Response, 'unit'>): string {
  return unit === 'count' ? '' : unit;
}

/** The unit of changes: `×`, or that of differences. */
export function changeUnit(response: Pick<Response, 'model' | 'unit'>): string {
  return isMultiplicative(response) ? '×' : `±${valueUnit(response)}`;
}

/** A logarithmic axis for a multiplicative model, with some room at its ends. */
export function logarithmic(response: Pick<Response, 'model'>, all: (number | null)[]) {
  const values = all.filter((value) => value !== null);
  if (!isMultiplicative(response) || values.length === 0) return { free: true };
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const room = Math.max((max / min) ** 0.08, 1.01);
  return { log: true, min: min / room, max: max * room };
}
