/** The generator's health. */

import type { RunDocument } from '../../document/run';
import type { Child } from '../../dom';
import { bytes, duration, share } from '../../format';
import { terms } from '../../shell';
import { type Series, series, timeline, track } from '../timeline';

export function generator(doc: RunDocument): Child[] {
  const { course, health } = doc;
  if (course.seconds.length === 0) return [];
  const line = (name: string, words: string, unit: string) => series(course, name, words, unit);
  const some = (name: string, words: string, unit: string) =>
    track(course, name) ? [line(name, words, unit)] : [];
  const cores = (name: string, words: string): Series[] =>
    some(name, words, 'cores').map((one) => ({
      ...one,
      mean: scaled(one.mean) ?? [],
      min: scaled(one.min),
      max: scaled(one.max),
    }));
  const host = [
    ...some('host_retransmits', 'retransmitted segments', '1/s'),
    ...some('host_syn_retransmits', 'retransmitted SYNs', '1/s'),
    ...some('host_listen_drops', 'connections dropped, full accept queue', '1/s'),
    ...some('host_packet_drops', 'dropped packets', '1/s'),
  ];
  return [
    terms([
      [
        'lag',
        `p50 ${duration(health.lag_p50_ns ?? 0)}, p99 ${duration(health.lag_p99_ns ?? 0)}, max ${duration(health.lag_max_ns ?? 0)}`,
      ],
      [
        'busiest loop',
        `${share(health.loop_busy_mean ?? 0)} of a core, max ${share(health.loop_busy_max ?? 0)}`,
      ],
      ['memory', `max ${bytes(health.rss_peak_bytes ?? 0)}`],
      ['rows kept', share(health.rows_kept ?? 1)],
    ]),
    timeline(doc, {
      title: 'Lag',
      note: 'How late the generator sent operations. It is included in each response time.',
      unit: 'ns',
      yName: 'lag',
      log: true,
      series: [
        line('lag_p50_ns', 'p50', 'ns'),
        line('lag_p99_ns', 'p99', 'ns'),
        line('lag_max_ns', 'max', 'ns'),
      ],
      limits: [{ at: doc.run.lag_max_ns, name: 'limit of p99' }],
    }),
    timeline(doc, {
      title: 'CPU of the generator',
      id: 'generator-cpu',
      unit: 'cores',
      yName: 'cores',
      series: [
        ...cores('cpu_process_ns', 'process'),
        ...cores('cpu_wait_ns', 'loops waiting for a core'),
        ...some('loop_busy_max', 'busiest loop', 'cores'),
      ],
    }),
    timeline(doc, {
      title: 'Memory of the generator',
      id: 'generator-memory',
      unit: 'B',
      yName: 'resident memory',
      series: [line('rss_bytes', 'resident', 'B')],
    }),
    host.length > 0 &&
      timeline(doc, {
        title: 'Network of the generator’s host',
        id: 'host-network',
        unit: '1/s',
        yName: 'per second',
        series: host,
      }),
  ];
}

/** Converts nanoseconds of CPU per second to cores. */
function scaled<T extends (number | null)[] | undefined>(values: T): T {
  return values?.map((value) => (value === null ? null : value / 1e9)) as T;
}
