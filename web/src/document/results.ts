/** The results index of a directory: `crates/results/report/src/page/index.rs`, and `crates/results/compare/src/index.rs`. */

export type EntryKind = 'run' | 'experiment' | 'search' | 'model' | 'page';

export type EntryState =
  'measured' | 'passed' | 'failed' | 'untrusted' | 'imported' | 'unfinished' | 'damaged' | 'done';

export interface Entry {
  id: string;
  parent: string | null;
  kind: EntryKind;
  name: string;
  path: string;
  state: EntryState;
  /** Further information, as text. */
  detail: string;
  /** What somebody wrote about the run. */
  note: string | null;
  started_unix_ms: number | null;
  seconds: number | null;
  users: number | null;
  rate_per_s: number | null;
  error_share: number | null;
  step: string | null;
  p50_ns: number | null;
  p99_ns: number | null;
  /** Percentiles above this share are lower bounds. */
  bound_above: number | null;
  comparable: boolean;
}

export interface IndexDocument {
  kind: 'index';
  format: number;
  throng: string;
  root: string;
  entries: Entry[];
  omitted: string[];
}
