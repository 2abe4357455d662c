/** The runs and results that several tests read: made once, at the same time. */

import type { TestProject } from 'vitest/node';
import { crowd, scratch, throng } from './support';

/** Where the results are. */
export interface Made {
  /** Four runs of the crowd with different seeds. */
  runs: string[];
  /** The directories of two experiments, and the pages of them, of a search and of a sweep. */
  ensembles: string;
  ensemblesPage: string;
  claims: string;
  claimsPage: string;
  capacityPage: string;
  sweepPage: string;
  /** The directory of a duet, and its page. */
  duet: string;
  duetPage: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    made: Made;
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const dir = scratch();
  const at = (name: string) => `${dir.path}/${name}`;
  const experiment = ['experiment', 'web/tests/ensembles.yaml', '--dir', at('ensembles')];
  const claims = ['experiment', 'web/tests/claims.yaml', '--dir', at('claims')];
  const search = ['--of', 'rate', '--at-most', '60/s', '--repeat', '1', '--steps', '3'];
  const capacity = ['capacity', 'web/tests/crowd.yaml', ...search, '--runs', at('search')];
  const values = ['--over', 'users=2,4,8,16', '--repeat', '2', '--pause', '100ms'];
  const sweep = ['capacity', 'web/tests/users.yaml', ...values, '--runs', at('sweep')];
  const pairs = ['--until', '3', '--interleave', 'ab', '--self-pairs', '2', '--pause', '0s'];
  const both = ['web/tests/users.yaml', 'web/tests/users.yaml'];
  const duet = ['duet', ...both, ...pairs, '--dir', at('duet')];
  const [runs] = await Promise.all([
    Promise.all([1, 2, 3, 4].map((seed) => crowd(at(`runs-${seed}`), '--set', `seed=${seed}`))),
    throng([...experiment, '--html', at('ensembles.html')], [0, 2]),
    throng([...claims, '--html', at('claims.html')], [0, 2]),
    throng([...capacity, '--html', at('capacity.html')], [0, 1, 2]),
    throng([...sweep, '--html', at('sweep.html')], [0, 1, 2]),
    throng([...duet, '--html', at('duet.html')], [0, 1, 2]),
  ]);
  project.provide('made', {
    runs,
    ensembles: at('ensembles'),
    ensemblesPage: at('ensembles.html'),
    claims: at('claims'),
    claimsPage: at('claims.html'),
    capacityPage: at('capacity.html'),
    sweepPage: at('sweep.html'),
    duet: at('duet'),
    duetPage: at('duet.html'),
  });
  return () => dir.remove();
}
