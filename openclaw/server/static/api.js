// Calls of the server. The token is in sessionStorage, for this tab only; there is no cookie.

const KEY = "openclaw token";
const RETRIES = [200, 500, 1000, 2000, 5000];

export class ApiError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(body && body.error ? body.error : `the server answered ${status}`);
    this.status = status;
    this.hint = (body && body.hint) || "";
    this.body = body;
  }
}

/** @type {(error: ApiError) => void} */
let refused = () => {};

/** @param {(error: ApiError) => void} listener called when a token is needed */
export function onRefused(listener) {
  refused = listener;
}

/** Exchange the code of a link, and tell whether the address has one. */
export async function logIn() {
  const code = location.hash.slice(1);
  if (!/^[\w-]{20,}$/.test(code)) return false;
  history.replaceState(null, "", "/");
  const answer = await fetch("/api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) sessionStorage.setItem(KEY, (await answer.json()).token);
  return true;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {Record<string, string>} [headers]
 * @param {AbortSignal} [signal]
 */
async function send(method, path, body, headers, signal) {
  const answer = await fetch(path, {
    method,
    signal,
    headers: {
      Authorization: `Bearer ${sessionStorage.getItem(KEY) || ""}`,
      "Content-Type": "application/json",
      ...headers,
    },
    body: method === "GET" ? undefined : JSON.stringify(body || {}),
  });
  if (answer.ok) return answer;
  const error = new ApiError(answer.status, await answer.json().catch(() => null));
  if (answer.status === 401) refused(error);
  throw error;
}

/** @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @returns {Promise<any>} */
export async function call(method, path, body, headers) {
  return (await send(method, path, body, headers)).json();
}

/** @param {string} path @returns {Promise<any>} */
export function fetchJson(path) {
  return call("GET", path);
}

/**
 * Hear every event of a run once and in order, over lost connections, until its end.
 * @param {string} run
 * @param {(event: any) => void} hear
 * @param {AbortSignal} signal
 * @param {(lost: boolean) => void} lost called when the connection breaks and when it is back
 */
export async function follow(run, hear, signal, lost) {
  let last = 0;
  for (let failures = 0; !signal.aborted; ) {
    try {
      const headers = { "Last-Event-ID": String(last) };
      const answer = await send("GET", `/api/runs/${run}/events`, null, headers, signal);
      lost(false);
      for await (const { id, data } of read(answer)) {
        failures = 0;
        if (data.event === "end") return;
        last = id || last;
        hear(data);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 502) throw error; // else a proxy found no server
    }
    lost(true);
    await new Promise((done) => setTimeout(done, RETRIES[Math.min(failures, RETRIES.length - 1)]));
    failures += 1;
  }
}

/** @param {Response} answer @returns {AsyncGenerator<{id: number, data: any}>} */
async function* read(answer) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      const field = (/** @type {string} */ name) => {
        const line = lines.find((each) => each.startsWith(`${name}: `));
        return line ? line.slice(name.length + 2) : "";
      };
      if (field("data")) yield { id: Number(field("id")), data: JSON.parse(field("data")) };
    }
  }
}
