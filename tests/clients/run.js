// Throng against another's server.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { program } from './server.js';

/** Runs a scenario; what it comes to. */
export async function run(text) {
  const folder = await mkdtemp(path.join(tmpdir(), 'throng-'));
  try {
    await writeFile(path.join(folder, 'scenario.yaml'), text);
    const child = spawn(program, ['run', 'scenario.yaml', '--runs', 'runs'], { cwd: folder });
    let said = '';
    child.stdout.on('data', (data) => { said += data; });
    child.stderr.on('data', (data) => { said += data; });
    const code = await new Promise((resolve) => { child.once('exit', resolve); });
    const [name] = await readdir(path.join(folder, 'runs'));
    const summary = await readFile(path.join(folder, 'runs', name, 'summary.json'), 'utf8');
    return { code, said, summary: JSON.parse(summary) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
