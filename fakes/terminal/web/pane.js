// A pane is a form for a request, a screen, and the link between them.
import { Link } from "./link.js";
import { Screen } from "./screen.js";

// fresh returns a session id that nobody guesses.
function fresh() {
  return "web-" + Array.from(crypto.getRandomValues(new Uint8Array(8)), (b) => b.toString(16).padStart(2, "0")).join("");
}

// Pane puts a pane at the end of an element. features are those of the gateway; token() returns the token.
export class Pane {
  #root; #form; #screen; #token; #link = null; #pty = true; #role = "";
  #features; #own = "";

  constructor(parent, { name, features, token }) {
    const part = document.getElementById("pane").content.cloneNode(true);
    this.#root = part.querySelector(".pane");
    this.#form = part.querySelector("form");
    this.#token = token;
    this.#features = features;
    this.#root.setAttribute("aria-label", name + " pane");
    this.#find("h2").textContent = name;
    for (const e of part.querySelectorAll("[data-needs]")) e.hidden = !features.has(e.dataset.needs);
    parent.append(part);
    this.#renew();
    this.#screen = new Screen(this.#find(".screen"), {
      label: name + " terminal. Control and right bracket leaves it.",
      on: { data: (bytes) => this.#typed(bytes), size: (size) => this.#resized(size), leave: () => this.#leave() },
    });
    this.#form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.connect();
    });
    this.#find(".hangup").addEventListener("click", () => this.#link?.close());
    this.#screen.set({ readOnly: true });
  }

  get screen() { return this.#screen; }

  connect() {
    this.#link?.close();
    const f = this.#form.elements;
    const request = {
      cmd: f.cmd.value, args: f.args.value === "" ? [] : f.args.value.replace(/\n$/, "").split("\n"), sandbox: f.sandbox.value.trim(),
      session: this.#features.has("stdio.session") ? f.session.value : "", role: this.#features.has("stdio.shared") ? f.role.value : "",
      pty: this.#features.has("stdio.pty") && f.pty.checked,
    };
    this.#pty = request.pty;
    this.#role = request.session ? request.role : "";
    this.#notice("");
    this.#screen.reset();
    this.#screen.set({ readOnly: request.role === "viewer", lines: !request.pty });
    const on = {
      state: (state, sentence) => { if (this.#link === link || !link) this.#state(state, sentence); },
      opened: (again) => this.#opened(again),
      output: (stream, bytes) => this.#screen.write(stream, bytes),
      notice: (sentence) => this.#notice(sentence),
      demoted: () => this.#demoted(),
    };
    let link = null;
    link = this.#link = new Link(request, { token: this.#token(), size: this.#screen.size, on });
  }

  close() {
    this.#link?.close();
    this.#screen.dispose();
    this.#root.remove();
  }

  #find(selector) { return this.#root.querySelector(selector); }

  // renew puts a fresh session into the form.
  #renew() {
    if (this.#features.has("stdio.session")) this.#form.elements.session.value = this.#own = fresh();
  }

  #opened(again) {
    if (again) this.#screen.reset(); // the gateway replays
    else this.#screen.focus();
  }

  #state(state, sentence) {
    const busy = state === "connecting" || state === "open" || state === "waiting";
    const hangup = this.#find(".hangup");
    const focused = document.activeElement === hangup || !busy && this.#find(".screen").contains(document.activeElement);
    const link = this.#link;
    const show = () => {
      if (link !== this.#link) return; // another connection has begun
      this.#root.dataset.state = state;
      this.#find(".state").textContent = sentence;
      const badge = this.#find(".badge");
      badge.hidden = !busy || !this.#role;
      badge.textContent = badge.dataset.role = this.#role;
      this.#form.hidden = busy;
      hangup.hidden = !busy;
      if (!busy) {
        if (state === "ended" && this.#form.elements.session.value === this.#own) this.#renew(); // a session that has ended starts nothing
        this.#screen.set({ readOnly: true });
        if (focused) this.#find("button.main").focus();
      }
    };
    if (state === "ended") this.#screen.whenIdle(show); // the output comes before the exit
    else show();
  }

  #demoted() {
    this.#role = "viewer";
    this.#screen.set({ readOnly: true });
    const badge = this.#find(".badge");
    badge.textContent = badge.dataset.role = "viewer";
  }

  #notice(sentence) {
    const notice = this.#find(".notice");
    notice.hidden = sentence === "";
    notice.textContent = sentence;
  }

  #resized(size) {
    if (this.#pty && this.#role !== "viewer") this.#link?.resize(size);
  }

  #typed(bytes) {
    if (!this.#link || this.#role === "viewer") return;
    if (!this.#pty) bytes = this.#line(bytes);
    if (bytes.length > 0 && !this.#link.stdin(bytes) && this.#root.dataset.state === "waiting") this.#notice("There is no connection: what is typed now is lost.");
  }

  // line does for a command without a terminal what a terminal would do: echo, line feeds, interrupt and end of input.
  #line(bytes) {
    const text = new TextDecoder().decode(bytes).replaceAll("\r", "\n");
    if (text === "\x03") this.#link.send({ type: "signal", signal: "SIGINT" });
    else if (text === "\x04" && this.#features.has("stdio.eof")) this.#link.send({ type: "eof" });
    else {
      this.#screen.echo(text);
      return new TextEncoder().encode(text);
    }
    return new Uint8Array();
  }

  #leave() {
    const hangup = this.#find(".hangup");
    (hangup.hidden ? this.#find("button.main") : hangup).focus();
  }
}
