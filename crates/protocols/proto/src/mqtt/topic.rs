//! Names and filters of topics (§4.7).

use crate::mqtt::wire::TEXT_BYTES_MAX;

/// Why a text is no name, or no filter, of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// No character.
    #[error("a topic has at least one character")]
    Empty,
    /// More bytes than a text may have.
    #[error("a topic has at most 65,535 bytes")]
    TooLong,
    /// The null character.
    #[error("a topic cannot contain U+0000")]
    Null,
    /// Not UTF-8.
    #[error("a topic is text in UTF-8")]
    NotText,
    /// A wildcard in the name of a topic.
    #[error("messages are published to one topic, whose name has neither `+` nor `#`")]
    Wildcard,
    /// A wildcard that is not a complete level, or `#` before the end.
    #[error("`+` stands for a complete level (a/+/b), and `#` for all levels at the end (a/#)")]
    MisplacedWildcard,
    /// A shared subscription without a name or a filter.
    #[error("a shared subscription is $share/NAME/FILTER")]
    Share,
}

/// The prefix of a shared subscription (§4.8.2).
const SHARE: &[u8] = b"$share/";

/// Checks the name of a topic to publish to (§4.7.1, §4.7.3).
pub fn check_topic(name: &[u8]) -> Result<(), TopicError> {
    check_text(name)?;
    match name.iter().any(|byte| matches!(byte, b'+' | b'#')) {
        true => Err(TopicError::Wildcard),
        false => Ok(()),
    }
}

/// Checks a filter to subscribe to (§4.7.1, §4.8.2).
pub fn check_filter(filter: &[u8]) -> Result<(), TopicError> {
    check_text(filter)?;
    let levels = match filter.strip_prefix(SHARE) {
        None => filter,
        Some(shared) => match unshared(filter) {
            levels if levels.is_empty() || levels == filter => return Err(TopicError::Share),
            levels if shared[..shared.len() - levels.len()].contains(&b'+') => {
                return Err(TopicError::Share);
            }
            levels => levels,
        },
    };
    let mut levels = levels.split(|byte| *byte == b'/').peekable();
    while let Some(level) = levels.next() {
        let has = |wildcard: u8| level.contains(&wildcard);
        let is_last = levels.peek().is_none();
        if (has(b'+') && level != b"+") || (has(b'#') && (level != b"#" || !is_last)) {
            return Err(TopicError::MisplacedWildcard);
        }
    }
    Ok(())
}

fn check_text(text: &[u8]) -> Result<(), TopicError> {
    match text {
        [] => Err(TopicError::Empty),
        _ if text.len() > TEXT_BYTES_MAX => Err(TopicError::TooLong),
        _ if text.contains(&0) => Err(TopicError::Null),
        _ if core::str::from_utf8(text).is_err() => Err(TopicError::NotText),
        _ => Ok(()),
    }
}

/// The filter of a subscription, which may be shared.
fn unshared(filter: &[u8]) -> &[u8] {
    let Some(shared) = filter.strip_prefix(SHARE) else {
        return filter;
    };
    match shared.iter().position(|byte| *byte == b'/') {
        None | Some(0) => filter,
        Some(end) => &shared[end + 1..],
    }
}

/// Whether a topic's name matches a filter. Wildcards at the beginning do not match names that begin with `$` (§4.7.2).
pub fn matches(filter: &[u8], name: &[u8]) -> bool {
    let filter = unshared(filter);
    if name.first() == Some(&b'$') && matches!(filter.first(), Some(b'+' | b'#')) {
        return false;
    }
    let mut names = name.split(|byte| *byte == b'/');
    for level in filter.split(|byte| *byte == b'/') {
        if level == b"#" {
            return true;
        }
        match names.next() {
            Some(name) if level == b"+" || level == name => {}
            _ => return false,
        }
    }
    names.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of §4.7.1.2, §4.7.1.3 and §4.7.2.
    #[test]
    fn filters_match_as_the_standard_has_it() {
        for (filter, name, expected) in [
            ("sport/tennis/player1/#", "sport/tennis/player1", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/ranking", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
            ("sport/#", "sport", true),
            ("#", "sport/tennis", true),
            ("sport/tennis/+", "sport/tennis/player1", true),
            ("sport/tennis/+", "sport/tennis/player1/ranking", false),
            ("sport/+", "sport", false),
            ("sport/+", "sport/", true),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("#", "$SYS/uptime", false),
            ("+/monitor/Clients", "$SYS/monitor/Clients", false),
            ("$SYS/#", "$SYS/uptime", true),
            ("$SYS/monitor/+", "$SYS/monitor/Clients", true),
            ("ACCOUNTS", "Accounts", false),
            ("$share/consumer/sport/+", "sport/x", true),
            ("$share/consumer/sport/+", "x", false),
        ] {
            let found = matches(filter.as_bytes(), name.as_bytes());
            assert_eq!(found, expected, "{filter} {name}");
        }
    }

    #[test]
    fn names_and_filters_are_checked() {
        for filter in ["#", "+", "a/#", "+/a/#", "/", "a/+/b", "$share/g/a/#", "$SYS/#"] {
            assert_eq!(check_filter(filter.as_bytes()), Ok(()), "{filter}");
        }
        for (filter, error) in [
            ("", TopicError::Empty),
            ("a#", TopicError::MisplacedWildcard),
            ("a/#/b", TopicError::MisplacedWildcard),
            ("a+/b", TopicError::MisplacedWildcard),
            ("a/\0", TopicError::Null),
            ("$share/", TopicError::Share),
            ("$share/g", TopicError::Share),
            ("$share/g/", TopicError::Share),
            ("$share//a", TopicError::Share),
            ("$share/+/a", TopicError::Share),
        ] {
            assert_eq!(check_filter(filter.as_bytes()), Err(error), "{filter:?}");
        }
        assert_eq!(check_topic(b"a/b"), Ok(()));
        assert_eq!(check_topic(b"a/+"), Err(TopicError::Wildcard));
        assert_eq!(check_topic(b"\xff"), Err(TopicError::NotText));
        assert_eq!(check_topic(&[b'a'; 65_536]), Err(TopicError::TooLong));
    }
}
