// A screen is an xterm with a queue in front of it that bounds what waits, in memory and in the parser of xterm.

const handed = 256 << 10; // characters that xterm has and has not parsed
const most = 32 << 20; // characters that wait here; a terminal shows the last few thousand lines of them

// The policy of the page forbids the attribute style; the object model may set the same.
const setAttribute = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (name === "style") this.style.cssText = value;
  else setAttribute.call(this, name, value);
};

// withSheets calls f. The policy forbids style elements, so those that f creates are elements without effect that put their text into sheets of the document.
function withSheets(f) {
  const create = document.createElement;
  document.createElement = function (name, options) {
    if (name !== "style") return create.call(document, name, options);
    const element = create.call(document, "span");
    const sheet = new CSSStyleSheet();
    document.adoptedStyleSheets.push(sheet);
    element.hidden = true;
    Object.defineProperty(element, "textContent", { set: (text) => sheet.replaceSync(text), get: () => "" });
    element.remove = () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
      Element.prototype.remove.call(element);
    };
    return element;
  };
  try {
    f();
  } finally {
    delete document.createElement; // the one of the prototype again
  }
}

// Screen shows output in an element. It calls on.data(bytes) for input, on.size({cols, rows}) and on.leave().
export class Screen {
  #host; #term; #fit; #on; #decoders; #observer;
  #queue = []; #waiting = 0; #handed = 0; #skipped = 0; #idle = [];

  constructor(host, { label, on }) {
    this.#host = host;
    this.#on = on;
    this.#term = new Terminal({
      cursorBlink: true, fontFamily: getComputedStyle(host).getPropertyValue("--mono"), fontSize: 14, minimumContrastRatio: 4.5, scrollback: 5000,
      linkHandler: { activate() {} }, // a link of a stranger is text
      theme: this.#theme(),
    });
    this.#fit = new FitAddon.FitAddon();
    this.#term.loadAddon(this.#fit);
    withSheets(() => this.#term.open(host));
    this.#term.textarea.setAttribute("aria-label", label);
    this.#term.onData((text) => on.data(new TextEncoder().encode(text)));
    this.#term.onBinary((text) => on.data(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    this.#term.onResize(({ cols, rows }) => on.size({ cols, rows }));
    this.#term.attachCustomKeyEventHandler((e) => this.#key(e));
    this.#decoders = decoders();
    this.#observer = new ResizeObserver(() => requestAnimationFrame(() => this.fit()));
    this.#observer.observe(host);
    this.fit();
  }

  get size() { return { cols: this.#term.cols, rows: this.#term.rows }; }

  // text returns what is in the buffer: tests read it.
  get text() {
    const buffer = this.#term.buffer.active;
    const lines = [];
    for (let i = 0; i < buffer.length; i++) lines.push(buffer.getLine(i).translateToString(true));
    return lines.join("\n").trimEnd();
  }

  fit() {
    if (this.#host.clientWidth > 0) this.#fit.fit();
  }

  focus() { this.#term.focus(); }

  // set changes whether keys are sent, lines end with a line feed alone, and a screen reader gets the output.
  set({ readOnly, lines, reader }) {
    const o = this.#term.options;
    if (readOnly !== undefined) {
      o.disableStdin = readOnly;
      o.cursorBlink = !readOnly;
    }
    if (lines !== undefined) o.convertEol = lines;
    if (reader !== undefined) o.screenReaderMode = reader;
  }

  repaint() { this.#term.options.theme = this.#theme(); }

  // write shows output, which need not be UTF-8 nor end with a whole character.
  write(stream, bytes) { this.echo(this.#decoders[stream].decode(bytes, { stream: true })); }

  echo(text) {
    if (text === "") return;
    const last = this.#queue.length - 1;
    if (last >= 0 && this.#queue[last].length < handed / 4) this.#queue[last] += text;
    else this.#queue.push(text);
    this.#waiting += text.length;
    while (this.#waiting > most && this.#queue.length > 1) {
      const dropped = this.#queue.shift().length;
      this.#waiting -= dropped;
      this.#skipped += dropped;
    }
    this.#pump();
  }

  // reset empties the screen, and drops what waits.
  reset() {
    this.#queue = [];
    this.#waiting = this.#skipped = 0;
    this.#decoders = decoders();
    this.#term.write("", () => this.#term.reset()); // behind what xterm already has
  }

  // whenIdle calls f once everything is shown.
  whenIdle(f) {
    this.#idle.push(f);
    this.#pump();
  }

  dispose() {
    this.#observer.disconnect();
    this.#term.dispose();
  }

  #pump() {
    while (this.#handed < handed && this.#queue.length > 0) {
      let text = this.#queue.shift();
      this.#waiting -= text.length;
      if (this.#skipped > 0) {
        text = `\x1b[0m\r\n[${this.#skipped} characters skipped: the page is slower than the output]\r\n` + text;
        this.#skipped = 0;
      }
      this.#handed += text.length;
      this.#term.write(text, () => {
        this.#handed -= text.length;
        this.#pump();
      });
    }
    if (this.#handed === 0) for (const f of this.#idle.splice(0)) f();
  }

  // key keeps the keys that leave the terminal from it.
  #key(e) {
    const leaves = e.ctrlKey && (e.key === "]" || e.code === "BracketRight" && !e.altKey || e.shiftKey && e.key === "ArrowUp");
    if (leaves && e.type === "keydown") {
      e.preventDefault();
      this.#on.leave();
    }
    return !leaves;
  }

  #theme() {
    const style = getComputedStyle(this.#host);
    return { background: style.backgroundColor, foreground: style.color, cursor: style.color, cursorAccent: style.backgroundColor, selectionBackground: "rgba(90, 140, 220, 0.45)" };
  }
}

function decoders() { return { 1: new TextDecoder(), 2: new TextDecoder() }; }
