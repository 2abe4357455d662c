//! Reading `WWW-Authenticate` (RFC 9110, sections 11.3 and 11.6.1).

/// One challenge: its scheme, lower case, and its parameters, names in lower case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) scheme: String,
    pub(super) parameters: Vec<(String, String)>,
}

impl Challenge {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// All challenges of a header; malformed ones are skipped.
pub(super) fn challenges(header: &str) -> Vec<Challenge> {
    let mut found: Vec<Challenge> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (word, after) = token(rest);
        if word.is_empty() {
            // Neither a scheme nor a parameter: on to what follows the next comma.
            let Some(comma) = rest.find(',') else {
                return found;
            };
            rest = &rest[comma..];
            continue;
        }
        let spaced = after.trim_start_matches([' ', '\t']);
        match spaced.strip_prefix('=') {
            Some(value) if !found.is_empty() => {
                let (value, after) = parameter(value.trim_start_matches([' ', '\t']));
                if let Some(challenge) = found.last_mut() {
                    let name = word.to_ascii_lowercase();
                    challenge.parameters.push((name, value));
                }
                rest = after;
            }
            Some(value) => rest = value,
            None => {
                found.push(Challenge { scheme: word.to_ascii_lowercase(), parameters: Vec::new() });
                rest = after;
            }
        }
    }
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(c);
    text.split_at(text.find(|c: char| !is_token(c)).unwrap_or(text.len()))
}

/// A token or quoted text, and what follows it.
fn parameter(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, c)| c)),
            c => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_challenges_in_one_header() {
        let found = challenges(
            "Newauth realm=\"a, \\\"b\\\"\", type=1, title=\"\", Basic , DIGEST Nonce=x , qop=\"auth\"",
        );
        let schemes: Vec<_> = found.iter().map(|c| c.scheme.as_str()).collect();
        assert_eq!(schemes, ["newauth", "basic", "digest"]);
        assert_eq!(found[0].get("realm"), Some("a, \"b\""));
        assert_eq!(found[0].get("type"), Some("1"));
        assert_eq!(found[2].get("nonce"), Some("x"));
        assert_eq!(found[2].get("qop"), Some("auth"));
    }

    #[test]
    fn arbitrary_input_does_not_panic() {
        for text in ["", ",,", "=", "a=\"", "Digest realm=\"x", "\u{fc}, Basic", "\"\"\""] {
            let _ = challenges(text);
        }
        assert_eq!(challenges("\u{fc}, Basic")[0].scheme, "basic");
    }
}
