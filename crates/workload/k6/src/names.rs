//! Names of requests and checks that a script's text has, and the hosts that it names.
//!
//! What is measured is known before a run, while k6 learns of names as they come. So the texts in a script are looked
//! through: what stands where names of checks and URLs stand gets a measure of its own. Names that a script makes otherwise
//! are counted together. Nothing else depends on this.

use std::collections::BTreeSet;

use plan::K6Name;

/// Most names of requests, and most of checks.
const NAMES_MAX: usize = 60;
/// Longest name, in characters.
const CHARS_MAX: usize = 120;
/// Most characters that are looked at for texts that do not end, as a multiple of the script's.
const VAIN_TIMES_MAX: usize = 20;
/// How far behind a key is looked for a function.
const FUNCTION_CHARS: usize = 80;

/// What a script's texts name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    /// What names of requests look like, with what results call them; the most particular first.
    pub requests: Vec<(String, K6Name)>,
    pub checks: Vec<String>,
    /// Schemes and hosts of URLs: `https://a.test:8443`.
    pub origins: Vec<String>,
    /// What is in these lists already.
    known: BTreeSet<String>,
}

/// A text in a script.
pub(crate) struct Literal<'a> {
    /// Between what varies.
    pub(crate) parts: Vec<String>,
    /// What stands before it, without white space.
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
}

/// The names in these texts.
pub fn names<'a>(texts: impl IntoIterator<Item = &'a str>) -> Names {
    let mut names = Names::default();
    for text in texts {
        for literal in literals(text) {
            names.take(&literal);
        }
    }
    // Of two that match, the one that says more is meant.
    let length = |name: &K6Name| name.parts.iter().map(String::len).sum::<usize>();
    names.requests.sort_by_key(|(_, name)| (name.parts.len() > 1, usize::MAX - length(name)));
    names.requests.truncate(NAMES_MAX);
    names.checks.truncate(NAMES_MAX);
    names
}

impl Names {
    fn take(&mut self, literal: &Literal<'_>) {
        let is_fit = |name: &str| {
            !name.is_empty()
                && name.chars().count() <= CHARS_MAX
                && !name.contains(char::is_control)
        };
        if let [whole] = &literal.parts[..]
            && is_check(literal)
            && is_fit(whole)
            && self.is_new("check", whole)
        {
            self.checks.push(whole.clone());
            return;
        }
        if is_import(literal) {
            return;
        }
        let first = literal.parts.first().map_or("", String::as_str);
        let is_whole = literal.parts.len() == 1;
        if let Some((origin, path)) = origin(first, is_whole) {
            self.add_origin(origin);
            // WebSockets are measured together.
            if first.starts_with("ws") {
                return;
            }
            if path.len() <= 1 && is_whole && !literal.before.ends_with('(') {
                return;
            }
        } else if !names_path(literal) {
            return;
        }
        let mut parts = literal.parts.clone();
        // `BASE + "/path"`
        if is_whole && first.starts_with('/') {
            parts.insert(0, String::new());
        }
        let label = parts.join("{}");
        let label = shown(label.strip_prefix("{}").unwrap_or(&label));
        if is_fit(&label) && self.is_new("request", &parts.join("{}")) {
            self.requests.push((label, K6Name { parts }));
        }
    }

    /// The hosts in a text that is no script, such as a value of the environment.
    pub fn add_origins_of(&mut self, text: &str) {
        if let Some((origin, _)) = origin(text, true) {
            self.add_origin(origin);
        }
    }

    fn add_origin(&mut self, origin: String) {
        if self.is_new("origin", &origin) {
            self.origins.push(origin);
        }
    }

    fn is_new(&mut self, kind: &str, text: &str) -> bool {
        self.known.insert(format!("{kind} {text}"))
    }
}

/// What results call requests of this URL or path: without credentials and query, which may hold secrets.
fn shown(label: &str) -> String {
    let is_url = label.starts_with('/') || label.contains("://");
    let path = label.split(['?', '#']).next().filter(|_| is_url).unwrap_or(label);
    let mut shown = path.to_owned();
    plan::secret::hide_credentials(&mut shown);
    shown
}

/// `'status is 200': (r) => …`
fn is_check(literal: &Literal<'_>) -> bool {
    let Some(value) = literal.after.strip_prefix(':') else {
        return false;
    };
    let value = value.trim_start();
    let head: String = value.chars().take(FUNCTION_CHARS).collect();
    // Up to the arrow there are parameters alone.
    let arrow = head.split_once("=>");
    let is_arrow = arrow.is_some_and(|(before, _)| !before.contains(['"', '\'', '`', ';', ':']));
    value.starts_with("function") || value.starts_with("async ") || is_arrow
}

/// Whether it names a module, as in `import { x } from 'https://…'`.
fn is_import(literal: &Literal<'_>) -> bool {
    ["from", "import", "import(", "require("].iter().any(|word| literal.before.ends_with(word))
}

/// Whether it is a path that something stands before, or the tag `name`.
fn names_path(literal: &Literal<'_>) -> bool {
    let is_tag = literal.before.strip_suffix(':').is_some_and(|before| {
        let before = before.trim_end().trim_end_matches(['"', '\'']);
        before.ends_with("name")
    });
    let first = literal.parts.first().map_or("", String::as_str);
    let second = literal.parts.get(1).map_or("", String::as_str);
    is_tag
        || (first.starts_with('/') && literal.before.ends_with('+'))
        || (first.is_empty() && second.starts_with('/'))
}

/// Scheme of HTTP and host of a URL, and what follows; `None`: it is none, or its host varies.
fn origin(text: &str, is_whole: bool) -> Option<(String, &str)> {
    let schemes = [
        ("http://", "http://"),
        ("https://", "https://"),
        ("ws://", "http://"),
        ("wss://", "https://"),
    ];
    let (written, scheme) = schemes.into_iter().find(|(written, _)| text.starts_with(written))?;
    let rest = &text[written.len()..];
    let end = rest.find(['/', '?', '#']);
    let authority = &rest[..end.unwrap_or(rest.len())];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let is_host =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    let is_known = (is_whole || end.is_some()) && !host.is_empty() && host.chars().all(is_host);
    is_known.then(|| (format!("{scheme}{host}"), &rest[end.unwrap_or(rest.len())..]))
}

/// The texts in quotes of a script, comments left out.
pub(crate) fn literals(text: &str) -> Vec<Literal<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut vain = VAIN_TIMES_MAX.saturating_mul(bytes.len());
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += text[at..].find("*/").map_or(text.len() - at, |end| end + 2);
            }
            quote @ (b'"' | b'\'' | b'`') => match literal(text, at, quote) {
                Some((parts, end)) => {
                    let before = text[..at].trim_end();
                    let after = text[end..].trim_start();
                    found.push(Literal { parts, before, after });
                    at = end;
                }
                None => {
                    // No text of one line is looked for beyond it.
                    let line = text[at..].find('\n').filter(|_| quote != b'`');
                    vain = vain.saturating_sub(line.unwrap_or(text.len() - at));
                    if vain == 0 {
                        break;
                    }
                    at += 1;
                }
            },
            _ => at += 1,
        }
    }
    found
}

/// The parts of the text in quotes that begins there, and where it ends.
fn literal(text: &str, start: usize, quote: u8) -> Option<(Vec<String>, usize)> {
    let mut parts = vec![String::new()];
    let mut chars = text[start + 1..].char_indices();
    while let Some((at, c)) = chars.next() {
        let here = start + 1 + at;
        let part = parts.last_mut()?;
        match c {
            '\\' => match chars.next()?.1 {
                'n' | 'r' | 't' => part.push(' '),
                escaped => part.push(escaped),
            },
            '\n' if quote != b'`' => return None,
            '$' if quote == b'`' && text[here + 1..].starts_with('{') => {
                let mut depth = 0_usize;
                for (_, c) in chars.by_ref() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 1 => break,
                        '}' => depth -= 1,
                        _ => {}
                    }
                }
                parts.push(String::new());
            }
            c if c == char::from(quote) => return Some((parts, here + 1)),
            c => part.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand() {
        let script = r#"
            import { uuidv4 } from 'https://modules.test/index.js';
            import "https://modules.test/other.js";
            // http.get('https://comment.test/');
            const BASE = 'https://a.test:8443';
            http.get('https://b.test/x?y=1');
            http.get(`${BASE}/items/${id}`, { tags: { name: 'item' } });
            http.post(BASE + "/login", data);
            check(r, { 'status is 200': (r) => r.status === 200, "it's ok": function (r) { return true; } });
            const other = { 'no check': 5 };
            http.get(`https://c.test/${path}`); http.get(`https://${host}/z`);
        "#;
        let sockets = names(["ws.connect('wss://d.test:9000/socket', (socket) => {});"]);
        assert_eq!(sockets.origins, ["https://d.test:9000"]);
        assert!(sockets.requests.is_empty());
        let found = names([script]);
        assert_eq!(found.checks, ["status is 200", "it's ok"]);
        let labels: Vec<&str> = found.requests.iter().map(|(label, _)| label.as_str()).collect();
        let expected = [
            "https://b.test/x",
            "item",
            "https://c.test/{}",
            "https://{}/z",
            "/items/{}",
            "/login",
        ];
        assert_eq!(labels.len(), expected.len() - 1, "{labels:?}");
        assert!(labels.iter().all(|label| expected.contains(label)), "{labels:?}");
        assert_eq!(found.origins, ["https://a.test:8443", "https://b.test", "https://c.test"]);
        let matching = |name: &str| {
            let mut all = found.requests.iter();
            all.find(|(_, pattern)| pattern.matches(name)).map(|(label, _)| label.as_str())
        };
        assert_eq!(matching("https://a.test:8443/items/7"), Some("/items/{}"));
        assert_eq!(matching("https://a.test:8443/login"), Some("/login"));
        assert_eq!(matching("item"), Some("item"));
        assert_eq!(matching("https://a.test:8443/other"), None);
    }

    #[test]
    fn names_have_no_secrets() {
        let script = r#"
            http.get('https://ann:hush@a.test/x?token=hush'); http.get('https://a.test/x?token=other');
            http.get(`${BASE}/y?key=hush&n=${n}`); http.get(BASE + '/z#hush', { tags: { name: 'why?' } });
        "#;
        let found = names([script]);
        let mut labels: Vec<&str> =
            found.requests.iter().map(|(label, _)| label.as_str()).collect();
        labels.sort_unstable();
        let expected = ["/y", "/z", "https://(secret)@a.test/x", "https://a.test/x", "why?"];
        assert_eq!(labels, expected);
        // What is asked for is told apart by all of it.
        let of = |url: &str| found.requests.iter().find(|(_, pattern)| pattern.matches(url));
        assert!(of("https://a.test/x?token=other").is_some());
        assert!(of("https://a.test/x?token=third").is_none());
    }

    /// A quadratic search would take minutes.
    #[test]
    fn many_texts_take_no_longer_than_their_length_says() {
        let urls: String = (0..60_000).map(|n| format!("'http://a.test/{n}',")).collect();
        assert_eq!(names([urls.as_str()]).requests.len(), NAMES_MAX);
        for part in ["/`${/;", "/'\\'/;", "/\"\\\"/;"] {
            let script = part.repeat(60_000) + "http.get('http://late.test/')";
            assert!(names([script.as_str()]).requests.len() <= NAMES_MAX, "{part}");
        }
    }

    #[test]
    fn what_does_not_end_is_left_out() {
        for text in ["'abc", "`${a", "\"", "/*", "'a\nb'", "`\\"] {
            assert!(names([text]).requests.is_empty(), "{text}");
        }
    }
}
