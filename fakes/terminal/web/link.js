// A link is the connection of a client to the stdio surface of the gateway. It knows no document.

// The waits before the attempts to reconnect, in milliseconds: together about the minute that a session waits for its clients.
const waits = [250, 500, 1000, 2000, 4000, 8000, 8000, 8000, 8000, 8000, 8000];
// After so many refusals in a row, of a gateway that is there, the session is taken for gone.
const refusals = 3;
// After these codes, connecting again does not help: the end, and errors in what was sent.
const final = new Set([1000, 1002, 1003, 1007, 1009]);
// A message of stdin is not longer: the gateway takes 1 MiB.
const longest = 64 << 10;

// address returns the address of the stdio surface for a request.
function address(request, { joined, token, size }) {
  const url = new URL("attach", document.baseURI);
  const put = (name, value) => { if (value) url.searchParams.append(name, value); };
  if (!joined && request.role !== "viewer") { // who joins a session must not start the command again if it is gone
    put("cmd", request.cmd);
    for (const arg of request.args) url.searchParams.append("arg", arg);
    put("sandbox", request.sandbox);
    if (request.pty) {
      put("pty", "1");
      put("cols", String(size.cols));
      put("rows", String(size.rows));
    }
  }
  put("session", request.session);
  if (request.session) put("role", request.role);
  put("token", token);
  return url;
}

// control reads a text message of the gateway, which may be anything.
function control(text) {
  try {
    const m = JSON.parse(text);
    if (m !== null && typeof m === "object" && typeof m.type === "string") return m;
  } catch { /* not JSON */ }
  return { type: "" };
}

// Link connects, and connects again after a cut if the request names a session. It calls
// on.state(state, sentence), on.opened(again), on.output(stream, bytes), on.notice(sentence) and on.demoted().
export class Link {
  #request; #token; #size; #on;
  #socket = null; #joined = false; #tries = 0; #refused = 0; #timer = 0; #over = false; #strange = false;

  constructor(request, { token, size, on }) {
    this.#request = request;
    this.#token = token;
    this.#size = size;
    this.#on = on;
    this.#dial();
  }

  // stdin sends input. It returns false if there is no connection that takes it.
  stdin(bytes) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    for (let i = 0; i < bytes.length; i += longest) this.#socket.send(bytes.subarray(i, i + longest));
    return true;
  }

  // send sends a control message.
  send(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  resize(size) {
    this.#size = size;
    this.send({ type: "resize", ...size });
  }

  // close ends the connection for good.
  close() {
    if (!this.#over) this.#finish("closed", this.#request.session && this.#joined ?
      `Disconnected. Session ${this.#request.session} waits a minute for its clients.` : "Disconnected.");
  }

  async #dial() {
    this.#on.state("connecting", this.#joined ? "Reconnecting…" : "Connecting…");
    const refusal = await this.#refusal();
    if (this.#over) return;
    if (refusal) {
      if (refusal.final || !this.#joined) this.#finish("failed", refusal.text);
      else this.#retry(refusal.text);
      return;
    }
    const url = address(this.#request, { joined: this.#joined, token: this.#token, size: this.#size });
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#opened();
    };
    socket.onmessage = (e) => this.#message(e.data);
    socket.onclose = (e) => this.#closed(e, opened);
  }

  // refusal asks the gateway, without an upgrade, whether it would let this client in: a browser does not say why a WebSocket failed.
  async #refusal() {
    let answer;
    try {
      const headers = this.#token ? { Authorization: "Bearer " + this.#token } : {};
      answer = await fetch(new URL("attach", document.baseURI), { headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(15000) });
    } catch (err) {
      if (err instanceof TypeError && /header|string/i.test(err.message) && !/fetch/i.test(err.message)) return { text: "The token has characters that no token has.", final: true };
      return { text: "The gateway cannot be reached.", final: false };
    }
    if (answer.ok) return null;
    const said = (await answer.text().catch(() => "")).slice(0, 200);
    if (answer.status === 401 && !this.#token) return { text: "The gateway requires a token: enter it above and connect again.", final: true };
    if (answer.status === 401) return { text: `The gateway refuses the token: ${said}`, final: true };
    return { text: `The gateway answers ${answer.status}: ${said}`, final: answer.status < 500 && answer.status !== 429 };
  }

  #opened() {
    const again = this.#joined;
    this.#joined = true;
    this.#tries = this.#refused = 0;
    this.#on.opened(again);
    const { session, cmd, role } = this.#request;
    const what = role === "viewer" ? `session ${session}` : session ? `${cmd}, session ${session}` : cmd;
    this.#on.state("open", `${again ? "Connected again" : "Connected"}: ${what}.`);
    if (this.#request.pty && role !== "viewer") this.send({ type: "resize", ...this.#size });
  }

  #message(data) {
    if (this.#over) return;
    if (data instanceof ArrayBuffer) {
      const bytes = new Uint8Array(data);
      if (bytes[0] === 1 || bytes[0] === 2) this.#on.output(bytes[0], bytes.subarray(1)); // others are panes of other clients
      return;
    }
    const m = control(data);
    switch (m.type) {
      case "exit":
        if (Number.isInteger(m.code)) this.#finish("ended", `The command ended with exit code ${m.code}.`);
        else this.#odd();
        break;
      case "error":
        if (typeof m.message !== "string") {
          this.#odd();
          break;
        }
        this.#on.notice("The gateway: " + m.message.slice(0, 300));
        if (/this one is a viewer$/.test(m.message)) {
          this.#request.role = "viewer";
          this.#on.demoted();
        }
        break;
      case "opened": case "closed": // panes of other clients
        break;
      default:
        this.#odd();
    }
  }

  #odd() {
    if (!this.#strange) this.#on.notice("The gateway sent a message that the protocol does not know; it is ignored.");
    this.#strange = true;
  }

  #closed(e, opened) {
    if (this.#over) return;
    const reason = e.reason ? `: ${e.reason.slice(0, 150)}` : "";
    if (!opened && !this.#joined) {
      this.#finish("failed", "The gateway refused the connection: the session does not exist, a field is not valid, or the gateway is full.");
    } else if (!opened && ++this.#refused >= refusals) {
      this.#finish("failed", `The gateway does not let this client into session ${this.#request.session} again: it is over, or full.`);
    } else if (!this.#request.session || opened && final.has(e.code)) {
      this.#finish("failed", `The connection ended without an exit code (${e.code}${reason}).`);
    } else {
      this.#retry(`The connection was cut (${e.code}${reason}).`);
    }
  }

  #retry(why) {
    if (this.#tries === waits.length) {
      this.#finish("failed", `${why} Given up after ${this.#tries} attempts.`);
      return;
    }
    const wait = waits[this.#tries++];
    this.#on.state("waiting", `${why} Attempt ${this.#tries} of ${waits.length} to reconnect in ${wait / 1000} s.`);
    this.#timer = setTimeout(() => this.#dial(), wait);
  }

  #finish(state, sentence) {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
    this.#on.state(state, sentence);
  }
}
