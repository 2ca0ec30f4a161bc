// Images and ZIP files of images, sent one file after another.

import { asProblem, IdempotencyKeys, Problem, projectPath, send } from "./api.js";
import { notice, number } from "./dom.js";

const LARGEST = 10_000_000; // bytes that the server accepts at once
const STARTS = [/^\x89PNG\r\n/, /^\xff\xd8\xff/, /^GIF8/, /^RIFF[^]{4}WEBP/, /^PK\x03\x04/]; // of the files it accepts
const CODES = ["not-an-image", "bad-archive", "too-large", "too-many"]; // refusals that concern only one file

/** @param {File} file */
async function isImage(file) {
  const start = await file.slice(0, 12).arrayBuffer().catch(() => new ArrayBuffer(0)); // such as a folder
  return STARTS.some((one) => one.test(String.fromCharCode(...new Uint8Array(start))));
}

/**
 * Why a file is left out, or null.
 * @param {File} file
 */
async function fault(file) {
  if (!(await isImage(file))) return `${file.name} is not a PNG, JPEG, WebP or GIF image, or a ZIP file of them`;
  return file.size > LARGEST ? `${file.name} is larger than 10 MB` : null;
}

/** @type {(count: number, what: string) => string} */
const counted = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

/** @param {File[]} files */
export async function haveImages(files) {
  return (await Promise.all(files.map(isImage))).includes(true);
}

export class ImageFiles {
  constructor() {
    this.keys = new IdempotencyKeys();
    /** @type {Map<string, number>} */
    this.sent = new Map(); // how many images each file that was sent contained
    /** @type {File[]} */
    this.files = [];
    this.added = 0; // images, at the latest attempt
  }

  /**
   * Returns what to tell the person about them.
   * @param {File[]} files
   */
  async take(files) {
    const faults = await Promise.all(files.map(fault));
    this.files = files.filter((_, i) => faults[i] === null);
    return [`${counted(this.files.length, "file")} to send.`,
      ...faults.filter((one) => one !== null).map((one) => `Left out: ${one}.`)].join(" ");
  }

  /**
   * Each file has its own key, so that nothing is added twice if it is sent again, after a lost response or after the
   * files were chosen again. Those that the server refuses are listed by name, and the others are still sent.
   * @param {string} project
   * @param {(sentence: string) => void} say
   * @returns {Promise<number>} how many images there are now
   */
  async sendTo(project, say) {
    let done = 0;
    this.added = 0;
    /** @type {string[]} */
    const refused = [];
    const progress = () => `${number(done)} of ${counted(this.files.length, "file")} sent, ${counted(this.added, "image")}.`;
    try {
      for (const file of this.files) {
        say(`${progress()} Sending ${file.name}…`);
        try {
          const count = await this.sendFile(project, file);
          this.added += count;
          done += 1;
        } catch (error) {
          const problem = asProblem(error);
          if (!CODES.includes(problem.code)) throw problem;
          refused.push(`${file.name} was not added: ${problem.words}.`);
        }
      }
    } catch (error) {
      const problem = asProblem(error);
      say(`Stopped: ${progress()}${problem.temporary ? " Try again to continue: nothing is added twice." : ""}`);
      throw problem;
    }
    say([progress(), ...refused].join(" "));
    if (!this.added) throw new Problem(422, "no-image", refused.join(" "));
    if (refused.length) notice(refused.join(" "));
    return this.added;
  }

  /**
   * @param {string} project
   * @param {File} file
   */
  async sendFile(project, file) {
    const request = `${project} ${file.name} ${file.size} ${file.lastModified}`;
    const before = this.sent.get(request);
    if (before !== undefined) return before;
    const path = projectPath(project, `/images?name=${encodeURIComponent(file.name)}`);
    /** @type {Server.Added} */
    const { count } = await send("POST", path, { project, file, key: this.keys.of(request) });
    this.sent.set(request, count);
    return count;
  }
}
