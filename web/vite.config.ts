import { defineConfig } from 'vitest/config';

// One script and one style sheet: reports hold both, and the live page serves them.
export default defineConfig({
  build: {
    target: 'es2022',
    lib: {
      entry: 'src/main.ts',
      formats: ['iife'],
      name: 'throng',
      fileName: () => 'page.js',
      cssFileName: 'page',
    },
    // ECharts asks for the environment of Node's world; there is none in a page.
    rolldownOptions: { output: { codeSplitting: false } },
    reportCompressedSize: false,
  },
  define: { 'process.env.NODE_ENV': '"production"' },
  test: {
    projects: [
      { test: { name: 'units', include: ['src/**/*.test.ts'] } },
      {
        test: {
          name: 'page',
          include: ['tests/**/*.test.ts'],
          globalSetup: 'tests/setup.ts',
          // Far above what it takes: these only end what hangs.
          testTimeout: 300_000,
          hookTimeout: 600_000,
          // Each file has a browser of its own.
          maxWorkers: 2,
        },
      },
    ],
  },
});
