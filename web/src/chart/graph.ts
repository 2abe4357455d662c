/** Runs as a graph: which are alike, and their groups. */

import { base, tooltip } from './base';
import type { Option } from './echarts';
import { lineColour, type Theme } from './theme';

/** ECharts rounds coordinates up to 1 when it places edges, which then miss their nodes. */
const RADIUS = 1000;

export interface Node {
  name: string;
  /** The text of the tooltip. */
  text: string;
  /** The group it is drawn in, from 0. */
  group: number;
  symbol: 'circle' | 'rect' | 'diamond';
}

export interface GraphSpec {
  nodes: Node[];
  edges: [number, number][];
}

/** Groups are adjacent on a circle, in different colours; every edge is drawn. */
export function graph(spec: GraphSpec, theme: Theme): Option {
  const order = spec.nodes
    .map((_, n) => n)
    .sort((a, b) => group(spec, a) - group(spec, b) || a - b);
  const place = new Map(order.map((n, at) => [n, at]));
  const angle = (n: number) => (2 * Math.PI * (place.get(n) ?? 0)) / Math.max(1, order.length);
  const many = spec.nodes.length > 24;
  return {
    ...base(theme),
    grid: undefined,
    tooltip: tooltip(
      theme,
      (params) => (params as { data: { text?: string } }).data.text ?? '',
      'item',
    ),
    series: [
      {
        type: 'graph',
        layout: 'none',
        top: 28,
        bottom: 28,
        left: 40,
        right: 40,
        preserveAspect: true,
        data: spec.nodes.map((node, n) => ({
          name: node.name,
          text: node.text,
          x: RADIUS * Math.cos(angle(n)),
          y: RADIUS * Math.sin(angle(n)),
          symbol: node.symbol,
          symbolSize: many ? 14 : 28,
          itemStyle: {
            color: lineColour(theme, node.group),
            borderColor: theme.ground,
            borderWidth: 2,
          },
          label: {
            show: true,
            position: many ? 'right' : 'inside',
            color: many ? theme.ink : theme.ground,
            fontSize: 11,
            fontWeight: 600,
          },
        })),
        links: spec.edges.map(([source, target]) => ({ source, target })),
        lineStyle: { color: theme.faint, width: many ? 0.6 : 1.4, opacity: 0.75 },
        emphasis: { disabled: true },
      },
    ],
  };
}

function group(spec: GraphSpec, n: number): number {
  return spec.nodes[n]?.group ?? 0;
}
