/** How means by the levels of one factor are laid out as groups of bars. */

import type { Bar, ExperimentDocument, Response } from '../../document/experiment';

/** Most bars side by side, which differ in colour, and most groups of them; the table has all. */
export const SERIES_MAX = 6;
const GROUPS_MAX = 24;

type Factors = ExperimentDocument['factors'];

/** What a chart shows: the names of its groups, and of each series a bar in every group. */
export interface Layout {
  axis: string;
  categories: string[];
  series: { name: string; bars: (Bar | null)[] }[];
  /** Bars that are in the table only. */
  left: number;
}

/** The factors and levels of a combination: `users=250, requests=10`. */
export function at(factors: Factors, levels: (number | null)[]): string {
  return levels
    .flatMap((level, n) =>
      level === null ? [] : [`${factors[n]?.name}=${factors[n]?.levels[level]}`],
    )
    .join(', ');
}

/** The levels are side by side in each combination if there are few of them; else combinations at each level. */
export function layout(factors: Factors, bars: Response['bars']): Layout {
  const own = factors[bars.factor];
  const levels = (own?.levels ?? []).map((_, level) => level);
  const bar = (group: Response['bars']['groups'][number], level: number) =>
    group.bars.find((one) => one.level === level) ?? null;
  const all = bars.groups.reduce((sum, group) => sum + group.bars.length, 0);
  // Few series beside many groups are read best, and names of levels are shorter than those of combinations.
  const byLevel = bars.groups.length <= SERIES_MAX || levels.length > SERIES_MAX;
  const [axis, categories, series] = byLevel
    ? [
        own?.name ?? '',
        levels.slice(0, GROUPS_MAX).map((level) => own?.levels[level] ?? ''),
        bars.groups.slice(0, SERIES_MAX).map((group) => ({
          name: at(factors, group.levels) || 'mean',
          bars: levels.slice(0, GROUPS_MAX).map((level) => bar(group, level)),
        })),
      ]
    : [
        factors.flatMap(({ name }, n) => (n === bars.factor ? [] : [name])).join(', '),
        bars.groups
          .slice(0, GROUPS_MAX)
          .map(({ levels: others }) =>
            others
              .flatMap((level, n) => (level === null ? [] : [factors[n]?.levels[level] ?? '']))
              .join(', '),
          ),
        levels.map((level) => ({
          name: `${own?.name}=${own?.levels[level]}`,
          bars: bars.groups.slice(0, GROUPS_MAX).map((group) => bar(group, level)),
        })),
      ];
  const drawn = series.reduce((sum, one) => sum + one.bars.filter((found) => found).length, 0);
  return { axis, categories, series, left: all - drawn };
}
