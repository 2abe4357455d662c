/**
 * The documents that a page draws. Their types are written from those of the report in Rust. Times are
 * seconds since the run's start where a name ends in `_s`, nanoseconds where it ends in `_ns`.
 */

import type { CapacityDocument } from './document/capacity';
import type { ComparisonDocument } from './document/comparison';
import type { DuetDocument } from './document/duet';
import type { ExperimentDocument } from './document/experiment';
import type { MetersDocument } from './document/meters';
import type { ModelDocument } from './document/model';
import type { RunDocument } from './document/run';
import type { SweepDocument } from './document/sweep';

export type Document =
  | CapacityDocument
  | ComparisonDocument
  | DuetDocument
  | ExperimentDocument
  | MetersDocument
  | ModelDocument
  | RunDocument
  | SweepDocument;

/** The version of documents that this page draws. */
export const FORMAT = 1;
