//! Lines of Envoy's default access log (Envoy documentation, "Access logging"), and of Istio's, which has three fields
//! more: `[2015-05-17T10:05:03.310Z] "GET /a HTTP/2" 204 - 154 0 226 100 "192.0.2.1" "agent" "id" "h.test" "10.0.2.1:80"`.

use super::Template;

const NAME: &str = "Envoy access log";
/// The beginning of both, up to the flags of the response.
const HEAD: &str = "[$time_iso8601] \"$request\" $status $response_flags";
/// Istio's details of the response and of its connection.
const ISTIO: &str = " $response_details $termination_details \"$upstream_failure\"";
/// The end of both: bytes, times, and texts in quotes; the address is that of `X-Forwarded-For`.
const REST: &str = " $bytes_received $body_bytes_sent $duration $upstream_time \"$remote_addr\" \
                    \"$http_user_agent\" \"$request_id\" \"$host\" \"$upstream_host\"";

/// Whether a line begins with a time of RFC 3339 in brackets, and a quote.
pub(super) fn looks(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"[") else {
        return false;
    };
    let has_year = rest.len() > 5 && rest[..4].iter().all(u8::is_ascii_digit) && rest[4] == b'-';
    let close = memchr::memchr(b']', rest);
    has_year && close.is_some_and(|close| rest[close..].starts_with(b"] \""))
}

/// The pattern of these lines: Istio's if one of them has its fields, and else Envoy's own.
pub(super) fn template<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Template {
    let istio = pattern(&format!("{HEAD}{ISTIO}{REST}"));
    let mut known = lines.filter(|line| looks(line));
    match known.any(|line| istio.parse(line).is_ok()) {
        true => istio,
        false => pattern(&format!("{HEAD}{REST}")),
    }
}

fn pattern(text: &str) -> Template {
    let template = Template::new(text).expect("the text is a pattern of the right form");
    template.open(NAME)
}
