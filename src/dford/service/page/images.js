// The images of a project's items: fetched once, ahead of time, and only as many kept as memory allows.

import { asProblem, Problem } from "./api.js";

const MOST = 20; // images that are kept
const PIXELS = 48e6; // in all of them, at four bytes each
const LARGEST = 16e6; // pixels of one: some browsers cannot draw on a larger canvas

/** @typedef {ImageBitmap | Problem} Found an image, or why there is none */

/**
 * @param {number} item
 * @param {string} column
 */
export const imagePath = (item, column) => `/items/${item}/images/${encodeURIComponent(column)}`;

export class Images {
  /**
   * @param {import("./project.js").Project} project
   * @param {number} side the most pixels of the longer side
   */
  constructor(project, side = Infinity) {
    this.project = project;
    this.side = side;
    /** @type {Map<string, Found>} */
    this.found = new Map(); // by path, the oldest first
    /** @type {Map<string, Promise<Found>>} */
    this.coming = new Map();
    /** @type {string[]} */
    this.wanted = []; // what is shown, then what comes next; none of these is dropped
    this.isFetching = false;
    this.isClosed = false;
  }

  close() {
    this.isClosed = true;
    this.wanted = [];
    for (const path of this.found.keys()) this.drop(path);
  }

  /**
   * What is already here, and can be drawn at once.
   * @param {string} path
   */
  now(path) {
    return this.found.get(path);
  }

  /**
   * @param {string} path
   * @returns {Promise<Found>}
   */
  async get(path) {
    const found = this.found.get(path) ?? this.coming.get(path);
    if (found) return found;
    const coming = this.fetch(path);
    this.coming.set(path, coming);
    try {
      return await coming;
    } finally {
      this.coming.delete(path);
    }
  }

  /**
   * Fetch these one after another, as far as there is room.
   * @param {string[]} paths
   */
  async fetchAhead(paths) {
    this.wanted = paths;
    if (this.isFetching) return;
    this.isFetching = true;
    for (;;) {
      this.makeRoom();
      const next = this.wanted.find((path) => !this.found.has(path));
      if (next === undefined || this.isFull()) break;
      const found = await this.get(next);
      if (found instanceof Problem && found.temporary) break; // until it is requested again
    }
    this.isFetching = false;
  }

  /**
   * @param {string} path
   * @returns {Promise<Found>}
   */
  async fetch(path) {
    const found = await this.project.send("GET", path, { read: "blob" })
      .then((content) => decode(content, this.side)).catch(asProblem);
    if (this.isClosed) close(found);
    else if (!(found instanceof Problem && found.temporary)) this.found.set(path, found);
    return found;
  }

  isFull() {
    const sizes = [...this.found.values()].map((one) => (one instanceof Problem ? 0 : one.width * one.height));
    return sizes.length >= MOST || sizes.reduce((sum, size) => sum + size, 0) >= PIXELS;
  }

  makeRoom() {
    for (const path of this.found.keys()) {
      if (!this.isFull()) return;
      if (!this.wanted.includes(path)) this.drop(path);
    }
  }

  /** @param {string} path */
  drop(path) {
    close(this.found.get(path));
    this.found.delete(path);
  }
}

/** @param {Found | undefined} found */
function close(found) {
  if (found instanceof ImageBitmap) found.close();
}

/**
 * Rotated as the camera was, and reduced if it is too large.
 * @param {Blob} content
 * @param {number} side
 */
async function decode(content, side) {
  try {
    const image = await createImageBitmap(content);
    const { width, height } = image;
    const factor = Math.min(side / Math.max(width, height), Math.sqrt(LARGEST / (width * height)));
    if (factor >= 1) return image;
    const [resizeWidth, resizeHeight] = [width, height].map((length) => Math.max(1, Math.round(factor * length)));
    const smaller = await createImageBitmap(image, { resizeWidth, resizeHeight, resizeQuality: "high" });
    image.close();
    return smaller;
  } catch {
    throw new Problem(200, "no-image", "The file is damaged, or this browser cannot read its type.");
  }
}
