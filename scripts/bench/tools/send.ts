/** Asks an instance as an administrator does. Throws for whatever is no success. */
export const send = async (url: string, token: string, method: string, body?: string): Promise<void> => {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${(await answer.text()).slice(0, 500)}`);
  await answer.body?.cancel();
};
