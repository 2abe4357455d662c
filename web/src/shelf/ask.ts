/** What the server answers, as text; its own words where it refuses. */
export async function ask(path: string, init?: RequestInit): Promise<string> {
  const answer = await fetch(path, init).catch(() => undefined);
  if (!answer) throw new Error('the server does not answer; is throng ui still running?');
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim());
  return text;
}
