// An engine over a storage of the host, which may take its time.
//
// Questions are driven here: the engine says which rows it needs, they are fetched, it goes on. Between
// these steps nothing of the engine is held, so blocks come in and other questions are asked meanwhile; the engine's
// waiting room sends a request round again that a block has overtaken.

import { Answer, CLASSES } from "./answer.js";
import { Desk } from "./desk.js";
import { BlockError, ConfigError, StorageError } from "./errors.js";
import { keyName, unpackChanges, unpackKeys } from "./packed.js";
import { bodyBytes } from "./input.js";
import { Rows } from "./rows.js";
import { now } from "./waiting.js";

/** @import { Storage } from "../../index.js" */
/** @import { Refused } from "./errors.js" */
/** @import { Glue, Host, Question } from "./load.js" */
/** @import { Known } from "./rows.js" */
/** @import { Asked, Call } from "./waiting.js" */

export class RemoteDesk extends Desk {
  #rows;
  /**
   * Fulfilled when the last change that was begun is through
   *
   * @type {Promise<unknown>}
   */
  #changed = Promise.resolve();

  /**
   * @param {(glue: Glue) => Host} setUp
   * @param {Storage} storage
   */
  constructor(setUp, storage) {
    super(setUp);
    this.#rows = new Rows(storage);
  }

  /**
   * @param {Uint8Array} message
   * @returns {Promise<string>}
   */
  async ingest(message) {
    // At once: a message that is malformed is refused before its turn, and the caller's bytes are free.
    return this.#change(this.run((host) => host.ask_ingest(message), BlockError), BlockError);
  }

  /**
   * @param {bigint} height
   * @param {Uint8Array} config
   */
  async putConfig(height, config) {
    await this.#change(this.run((host) => host.ask_config(height, config), ConfigError), ConfigError);
  }

  /** @returns {Promise<string>} */
  async chain() {
    const question = this.run((host) => host.ask_chain());
    return this.#using(question, async () => {
      await this.#drive(question);
      return this.run(() => question.text());
    });
  }

  /**
   * @param {string | Uint8Array} body
   * @param {string | undefined} pathMethod
   * @returns {Promise<Answer | null>}
   */
  async answer(body, pathMethod) {
    const question = this.run((host) => host.ask(bodyBytes(body), pathMethod));
    return this.#using(question, async () => {
      await this.#ask(question);
      return this.#answerOf(question);
    });
  }

  /**
   * @param {string | Uint8Array} body
   * @param {Asked} asked
   * @returns {Promise<Answer>}
   */
  async call(body, { pathMethod, timeout, signal }) {
    const deadline = now() + timeout;
    const call = this.open(signal);
    if (!call.done) {
      const question = this.run((host) => host.ask(bodyBytes(body), pathMethod));
      this.#using(question, () => this.#wait(question, call, deadline)).catch((error) =>
        this.waiting.reject(call, error),
      );
    }
    return call.promise;
  }

  /**
   * Asks until there is an answer, or until the request is let in to wait
   *
   * @param {Question} question
   * @param {Call} call
   * @param {number} deadline
   * @returns {Promise<void>}
   */
  async #wait(question, call, deadline) {
    for (;;) {
      await this.#ask(question);
      if (call.done) return;
      const answer = this.#answerOf(question);
      if (answer) return this.waiting.answer(call, answer);
      if (this.run((host) => host.admit(deadline, question))) {
        this.waiting.wait(call, this.run((host) => host.ticket()));
        return this.arm();
      }
    }
  }

  /** Asks those again that were woken */
  pump() {
    for (let question; (question = this.run((host) => host.poll_exchange())); ) {
      const woken = question;
      // A panic is all that can go wrong, and of that those who wait hear by themselves.
      this.#using(woken, () => this.#again(woken)).catch(() => {});
    }
    this.arm();
  }

  /**
   * @param {Question} question
   * @returns {Promise<void>}
   */
  async #again(question) {
    const { ticket, kinds } = this.run((_, glue) => ({
      ticket: question.ticket(),
      kinds: glue.Settlement,
    }));
    for (;;) {
      await this.#ask(question);
      const settlement = this.run((host) => host.settle(question));
      if (settlement === kinds.Again) continue;
      if (settlement === kinds.Answered) {
        const answer = this.#answerOf(question);
        if (answer) this.waiting.answerTicket(ticket, answer);
      }
      return this.arm();
    }
  }

  /**
   * Takes its turn, asks what changes, commits that, and tells those who wait
   *
   * @param {Question} question
   * @param {Refused} Wanted
   * @returns {Promise<string>}
   */
  async #change(question, Wanted) {
    const before = this.#changed;
    const work = this.#using(question, async () => {
      await before;
      const known = new Map();
      await this.#drive(question, { Wanted, known });
      const [changes, text] = this.run(() => [question.take_changes(), question.text()]);
      if (changes) await this.#rows.commit(unpackChanges(changes), known);
      this.run((host) => host.handle_changes(question));
      this.pump();
      return text;
    });
    this.#changed = work.catch(() => {});
    return work;
  }

  /**
   * Drives a request to its answer or its wait; when the storage fails there is an answer for that
   *
   * @param {Question} question
   */
  async #ask(question) {
    try {
      await this.#drive(question);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      this.run(() => question.fail(error.message));
    }
  }

  /**
   * @param {Question} question
   * @param {{ Wanted?: Refused, known?: Known }} [change]
   */
  async #drive(question, { Wanted, known } = {}) {
    const reader = this.#rows.open();
    try {
      for (let packed; (packed = this.run(() => question.poll(), Wanted)); ) {
        const keys = unpackKeys(packed);
        const rows = await reader.read(keys);
        if (known) keys.forEach((key, index) => known.set(keyName(key), rows[index]));
        this.run(() => {
          for (const row of rows) question.push(row);
          question.supply();
        }, Wanted);
      }
    } finally {
      reader.close();
    }
  }

  /**
   * @param {Question} question
   * @returns {Answer | null}
   */
  #answerOf(question) {
    return this.run(() => {
      const kind = question.class();
      return kind === undefined ? null : new Answer(/** @type {Uint8Array} */ (question.take_answer()), CLASSES[kind]);
    });
  }

  /**
   * Frees a question when it is done with, if there is still an instance to free it in
   *
   * @template T
   * @param {Question} question
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #using(question, work) {
    try {
      return await work();
    } finally {
      if (this.instance && !this.instance.isOutOfOrder) question.free();
    }
  }
}
