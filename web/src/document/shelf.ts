/** The list of a directory's results: `crates/report/src/page/shelf.rs`, and `crates/judge/src/shelf.rs`. */

export type ItemKind = 'run' | 'experiment' | 'search' | 'model' | 'page';

export type ItemState =
  'passed' | 'failed' | 'untrusted' | 'imported' | 'unfinished' | 'damaged' | 'done';

export interface Item {
  id: string;
  within: string | null;
  kind: ItemKind;
  name: string;
  place: string;
  state: ItemState;
  told: string;
  started_unix_ms: number | null;
  seconds: number | null;
  users: number | null;
  rate_per_s: number | null;
  error_share: number | null;
  step: string | null;
  p50_ns: number | null;
  p99_ns: number | null;
  comparable: boolean;
}

export interface ShelfDocument {
  kind: 'shelf';
  format: number;
  throng: string;
  root: string;
  items: Item[];
  left_out: string[];
}
