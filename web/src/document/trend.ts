/** The trend of a scenario: `crates/results/compare/src/index/trend.rs`. */

export interface TrendFigure {
  name: string;
  unit: string;
  /** By run. */
  values: (number | null)[];
  /** The parts between changes, by their first and last run. */
  parts: {
    from: number;
    to: number;
    median: number;
    /** Of the change that it begins with. */
    p: number | null;
    change: number | null;
  }[];
}

export interface TrendDocument {
  kind: 'trend';
  format: number;
  throng: string;
  name: string;
  step: string | null;
  runs: { id: string; path: string; started_unix_ms: number; note: string | null }[];
  figures: TrendFigure[];
  older: number;
  untrusted: number;
}
