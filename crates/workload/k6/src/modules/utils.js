// `k6-utils` of k6's library, without the network.
import { fault } from "throng:core";

export const randomIntBetween = (min, max) => Math.floor(Math.random() * (max - min + 1) + min);
export const randomItem = (items) => items[Math.floor(Math.random() * items.length)];
export const randomString = (length, charset) => {
  const from = charset || "abcdefghijklmnopqrstuvwxyz";
  let text = "";
  for (let at = 0; at < length; at += 1) text += from[Math.floor(Math.random() * from.length)];
  return text;
};
export const uuidv4 = () =>
  "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx".replace(/[xy]/g, (c) => {
    const nibble = Math.floor(Math.random() * 16);
    return (c === "x" ? nibble : (nibble & 3) | 8).toString(16);
  });
export const findBetween = (content, left, right, repeat) => {
  const found = [];
  let from = 0;
  for (;;) {
    const start = content.indexOf(left, from);
    if (start < 0) break;
    const begins = start + left.length;
    const ends = content.indexOf(right, begins);
    if (ends < 0) break;
    found.push(content.slice(begins, ends));
    from = ends + right.length;
    if (!repeat) break;
  }
  return repeat ? found : found.length > 0 ? found[0] : null;
};
export const normalDistributionStages = () => fault("`normalDistributionStages` is not supported here: write the stages");
