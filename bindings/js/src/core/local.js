// An engine over the storage in its own memory: everything is done at once.

import { Answer } from "./answer.js";
import { Desk } from "./desk.js";
import { BlockError, ConfigError } from "./errors.js";
import { now } from "./waiting.js";

export class LocalDesk extends Desk {
  ingestSync(message) {
    const text = this.run((host) => host.ingest(message), BlockError);
    this.pump();
    return text;
  }

  async ingest(message) {
    return this.ingestSync(message);
  }

  async putConfig(height, config) {
    this.run((host) => host.put_config(height, config), ConfigError);
  }

  async chain() {
    return this.run((host) => host.chain());
  }

  answerSync(body, pathMethod) {
    return this.run((host) => {
      const bytes = host.answer(body, pathMethod);
      return bytes ? new Answer(bytes, host.class()) : null;
    });
  }

  async answer(body, pathMethod) {
    return this.answerSync(body, pathMethod);
  }

  async call(body, { pathMethod, timeout, signal }) {
    signal?.throwIfAborted();
    const answer = this.run((host) => {
      const bytes = host.call(now() + timeout, body, pathMethod);
      return bytes && new Answer(bytes, host.class());
    });
    if (answer) return answer;
    const call = this.open(signal);
    this.waiting.wait(call, this.run((host) => host.ticket()));
    this.arm();
    return call.promise;
  }

  /** Hands out the answers that are there now */
  pump() {
    for (let bytes; (bytes = this.run((host) => host.poll_answer())); ) {
      const [ticket, kind] = this.run((host) => [host.ticket(), host.class()]);
      this.waiting.answerTicket(ticket, new Answer(bytes, kind));
    }
    this.arm();
  }
}
