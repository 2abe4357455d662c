// `k6/encoding`.
import { bytesOf, host } from "throng:core";

const kind = (encoding) => (encoding === undefined || encoding === "" ? "std" : String(encoding));
const encoding = {
  b64encode: (data, encoding) => host.base64(bytesOf(data), kind(encoding)),
  b64decode: (text, encoding, format) => {
    const bytes = host.unbase64(String(text), kind(encoding));
    return format === "s" ? host.decode(bytes) : bytes;
  },
};
export default encoding;
