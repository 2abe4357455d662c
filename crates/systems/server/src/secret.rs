//! Secrets in messages of clients.

/// Stands for a secret wherever one would be shown.
pub const HIDDEN: &str = "***";

/// Shortest secret that is no word by accident, if it has letters and something else.
const DISTINCTIVE_MIN: usize = 6;
/// Shortest secret that is no word by accident, of whatever it is made. Longer words hardly stand in messages.
const LONG_MIN: usize = 16;

/// A client's message without this secret.
///
/// Hidden is what must be the secret by where it stands: `:secret@` of a URL, `name=secret`, or a text in quotes. A secret
/// that no message has by accident, long or of letters and other characters, is hidden everywhere. Were one of a few letters,
/// its places in other words would spell it: `conn***ction r***fus***d`.
#[must_use]
pub fn redacted(text: &str, secret: &str) -> String {
    if secret.is_empty() {
        return text.to_owned();
    }
    let is_distinctive = is_distinctive(secret);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(secret) {
        shown.push_str(&rest[..at]);
        rest = &rest[at + secret.len()..];
        let is_hidden = is_distinctive || is_value(shown.chars().next_back(), rest.chars().next());
        shown.push_str(if is_hidden { HIDDEN } else { secret });
    }
    shown.push_str(rest);
    shown
}

fn is_distinctive(secret: &str) -> bool {
    let is_mixed = secret.chars().any(char::is_alphabetic)
        && secret.chars().any(|c| !c.is_alphabetic() && !c.is_whitespace());
    secret.len() >= LONG_MIN || secret.len() >= DISTINCTIVE_MIN && is_mixed
}

/// True if what stands between these characters is a complete value.
fn is_value(before: Option<char>, after: Option<char>) -> bool {
    match before {
        Some(':') => after == Some('@'),
        Some('=') => after.is_none_or(|c| c.is_whitespace() || "&;,)\"'`".contains(c)),
        Some(quote @ ('"' | '\'' | '`')) => after == Some(quote),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_secret_is_hidden_where_it_is_one_and_nowhere_else() {
        for (text, secret, shown) in [
            ("connection refused", "e", "connection refused"),
            ("mysql://u:e@h/db: refused", "e", "mysql://u:***@h/db: refused"),
            ("using password: YES", "password", "using password: YES"),
            (
                "bad password \"e\" in user=e host=here",
                "e",
                "bad password \"***\" in user=*** host=here",
            ),
            ("redis://:e@h?password=e", "e", "redis://:***@h?password=***"),
            ("no hunter2 here", "hunter2", "no *** here"),
            ("no tr!cky-one here", "tr!cky-one", "no *** here"),
            ("no correcthorsebattery here", "correcthorsebattery", "no *** here"),
            ("nothing", "", "nothing"),
            ("ééé", "é", "ééé"),
        ] {
            assert_eq!(redacted(text, secret), shown);
        }
    }

    proptest::proptest! {
        /// However a URL stands in a message, its secret does not.
        #[test]
        fn no_url_shows_its_secret(
            before in "[a-z ]{0,8}",
            secret in "[a-z]{1,4}[@:]?[a-z]{0,3}",
            after in "[a-z ]{0,8}",
        ) {
            let text = format!("{before}redis://:{secret}@host{after}");
            let expected = format!("{before}redis://:***@host{after}");
            proptest::prop_assert_eq!(redacted(&text, &secret), expected);
        }
    }
}
