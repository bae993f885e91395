// A connection to a table that comes back by itself.

/** Longest wait between two attempts, in milliseconds. */
const LONGEST = 8000;

/** @typedef {"connecting" | "open" | "lost"} ChannelStatus */

/** A WebSocket that is opened again, later each time, until it is closed on purpose. */
export class Channel {
  /**
   * @param {() => string} address of the socket, asked for at each attempt
   * @param {{message: (data: any) => void, status: (status: ChannelStatus) => void}} told
   */
  constructor(address, told) {
    this.address = address;
    this.told = told;
    this.attempts = 0;
    this.socket = null;
    this.timer = 0;
    this.closed = false;
    this.online = () => this.reopen();
    this.offline = () => this.drop();
    window.addEventListener("online", this.online);
    window.addEventListener("offline", this.offline);
    told.status("connecting");
    this.open();
  }

  open() {
    if (this.closed) return;
    const socket = new WebSocket(this.address());
    this.socket = socket;
    socket.addEventListener("open", () => {
      if (socket === this.socket) this.told.status("open");
    });
    socket.addEventListener("message", (event) => {
      if (socket !== this.socket) return;
      this.attempts = 0;
      this.told.message(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => {
      if (socket === this.socket) this.drop();
    });
  }

  /** Give up the present socket and try again in a while. */
  drop() {
    if (this.closed) return;
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.told.status("lost");
    clearTimeout(this.timer);
    const wait = Math.min(LONGEST, 250 * 2 ** this.attempts) * (0.75 + Math.random() / 2);
    this.attempts += 1;
    this.timer = setTimeout(() => this.open(), wait);
  }

  /** Try now, if there is no connection: a new network, or a new key. */
  reopen({ anyway = false } = {}) {
    if (this.closed || (this.socket?.readyState === WebSocket.OPEN && !anyway)) return;
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.attempts = 0;
    this.open();
  }

  /** Send a message; return whether there was a connection to take it. */
  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    window.removeEventListener("online", this.online);
    window.removeEventListener("offline", this.offline);
    this.socket?.close();
  }
}
