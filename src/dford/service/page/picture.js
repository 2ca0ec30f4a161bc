// One image of an item, on a canvas: this page draws it, so that the security policy need not allow image addresses.

import { Problem } from "./api.js";
import { el, fill } from "./dom.js";
import { imagePath } from "./images.js";

const PAUSE = 3000; // the least milliseconds before trying again to fetch an image

/**
 * Its space is reserved until it has loaded.
 * @param {import("./images.js").Images} images
 * @param {number} item
 * @param {import("./item.js").ImageOf} image
 */
export function picture(images, item, { column, file, alt }) {
  const path = imagePath(item, column);
  const box = el("div", { class: "picture" }, el("p", { class: "nothing" }, "Loading the image…"));
  const show = (/** @type {import("./images.js").Found} */ found) => fill(box, found instanceof Problem
    ? el("p", { class: "nothing", role: "status" }, `This image cannot be shown: ${file}. ${found.words}.`)
    : canvasOf(found, box, alt));
  const follow = async () => {
    const found = await images.get(path);
    if (!box.isConnected) return; // the image may be closed by now
    show(found);
    if (found instanceof Problem && found.temporary)
      setTimeout(() => { if (box.isConnected) follow(); }, found.pause(PAUSE));
  };
  const found = images.now(path);
  if (found) show(found);
  else follow();
  return box;
}

/** @type {WeakMap<HTMLCanvasElement, ImageBitmap>} */
const imageOf = new WeakMap();

/**
 * Drawn before it is first seen, and whenever its box changes size.
 * @param {ImageBitmap} image
 * @param {HTMLElement} box
 * @param {string} alt
 */
function canvasOf(image, box, alt) {
  const canvas = el("canvas", { role: "img", "aria-label": alt, width: 0, height: 0 });
  imageOf.set(canvas, image);
  new ResizeObserver(() => draw(canvas)).observe(box);
  return canvas;
}

/**
 * With as many pixels as the screen shows, as browsers scale large canvases down badly; zoomed, with all pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function draw(canvas) {
  const image = imageOf.get(canvas);
  const box = canvas.parentElement;
  const context = canvas.getContext("2d");
  if (!image?.width || !box?.isConnected || !context) return; // closed, or no longer visible
  const fitted = devicePixelRatio * Math.min(box.clientWidth / image.width, box.clientHeight / image.height);
  const factor = canvas.closest(".zoomed") ? 1 : Math.min(fitted, 1);
  const [width, height] = [image.width, image.height].map((length) => Math.max(1, Math.round(factor * length)));
  if (canvas.width === width && canvas.height === height) return; // already drawn
  Object.assign(canvas, { width, height });
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, width, height);
}
