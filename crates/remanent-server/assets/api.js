// Requests to the server. A request of a slot ends the one before it in the same slot: on the server, too.

const slots = new Map();

/** An error that the server explains. */
export class Refused extends Error {}

/** Ends the request of a slot. */
export function cancel(slot) {
  slots.get(slot)?.abort();
  slots.delete(slot);
}

async function request(slot, path, options = {}) {
  cancel(slot);
  const controller = new AbortController();
  slots.set(slot, controller);
  try {
    const response = await fetch(path, { ...options, signal: controller.signal });
    if (!response.ok) {
      const body = await response.json().catch(() => ({}));
      throw new Refused(body.error ?? `the server answers ${response.status}`);
    }
    return response;
  } finally {
    if (slots.get(slot) === controller) slots.delete(slot);
  }
}

/** JSON. */
export async function get(slot, path) {
  return (await request(slot, path)).json();
}

/** Text. */
export async function getText(slot, path) {
  return (await request(slot, path)).text();
}

/** JSON for JSON. */
export async function post(slot, path, value) {
  const options = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(value),
  };
  return (await request(slot, path, options)).json();
}

/** Whether a request ended because a newer one took its place. */
export function isSuperseded(error) {
  return error.name === 'AbortError';
}

/** The path of a question to the theory. */
export function question(ask, parameters, extra = {}) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...parameters, ...extra })) {
    for (const one of Array.isArray(value) && key === 'scan' ? value : [value]) {
      if (one !== null && one !== undefined && one !== '') query.append(key, String(one));
    }
  }
  return `/api/theory/${ask}?${query}`;
}
