/** The body of the server's reply; an error carries the server's reason. */
export async function request(path: string, init?: RequestInit): Promise<string> {
  const reply = await fetch(path, init).catch(() => undefined);
  if (!reply) throw new Error('the server does not reply; is throng ui still running?');
  const text = await reply.text();
  if (!reply.ok) throw new Error(text.trim());
  return text;
}
