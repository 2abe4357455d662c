// `k6/crypto`.
import { bytesOf, fault, host } from "throng:core";

const KINDS = ["md4", "md5", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256", "ripemd160"];
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
const encoded = (bytes, encoding) => {
  switch (encoding) {
    case "hex": return hex(bytes);
    case "base64": return host.base64(bytes, "std");
    case "base64url": return host.base64(bytes, "url");
    case "base64rawurl": return host.base64(bytes, "rawurl");
    case "binary": return bytes;
    default: return fault(`invalid output encoding: ${encoding}`);
  }
};
const joined = (chunks) => {
  const parts = chunks.map((chunk) => new Uint8Array(typeof chunk === "string" ? host.encode(chunk) : chunk));
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole.buffer;
};
class Hasher {
  constructor(kind, key) {
    if (!KINDS.includes(kind)) fault(`invalid algorithm: ${kind}`);
    this.kind = kind;
    this.key = key;
    this.chunks = [];
  }
  update(data) { this.chunks.push(bytesOf(data)); }
  digest(encoding) { return encoded(host.digest(this.kind, joined(this.chunks), this.key), encoding); }
}
const hash = (kind) => (data, encoding) => encoded(host.digest(kind, bytesOf(data), undefined), encoding);
const hashes = Object.fromEntries(KINDS.map((kind) => [kind, hash(kind)]));
const crypto = Object.assign(hashes, {
  createHash: (kind) => new Hasher(kind, undefined),
  createHMAC: (kind, key) => new Hasher(kind, bytesOf(key)),
  hmac: (kind, key, data, encoding) => encoded(host.digest(kind, bytesOf(data), bytesOf(key)), encoding),
  randomBytes: (count) => (count >= 1 ? host.randomBytes(count) : fault("invalid size")),
  hexEncode: (data) => hex(typeof data === "string" ? host.encode(data) : bytesOf(data)),
});
export default crypto;
