/** The parts of ECharts that the page uses. */

import { CustomChart, GraphChart, LineChart, RadarChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  RadarComponent,
  TitleComponent,
  TooltipComponent,
} from 'echarts/components';
import * as echarts from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';

echarts.use([
  AriaComponent,
  CustomChart,
  GraphChart,
  GridComponent,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  RadarChart,
  RadarComponent,
  ScatterChart,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

export { echarts };
export type Chart = ReturnType<typeof echarts.init>;
// ECharts' own type of options is too wide a union to check much, and slows down the compiler.
export type Option = Record<string, unknown>;
