//! The part of a common log before the time: `192.0.2.1 - frank`, with the host before it perhaps.

use std::net::IpAddr;

use super::without_port;

/// The words before the time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Client<'a> {
    /// The host, in a log of several hosts: `www.a.test:443 192.0.2.1 - frank`.
    pub(super) host: Option<&'a [u8]>,
    pub(super) address: &'a [u8],
    pub(super) user: &'a [u8],
}

impl<'a> Client<'a> {
    /// `None` where there are fewer words than three: an address, what identd says, a user's name, which may hold
    /// blanks.
    pub(super) fn read(text: &'a [u8]) -> Option<Client<'a>> {
        let (first, rest) = word(text)?;
        let (second, behind) = word(rest)?;
        let host = behind.contains(&b' ') && is_host(first, second);
        let (address, rest) = match host {
            true => (second, behind),
            false => (first, rest),
        };
        let (_, user) = word(rest)?;
        (!address.is_empty()).then(|| Client {
            host: host.then(|| without_port(first)),
            address: without_port(address),
            user,
        })
    }
}

/// The first word and the text after its blank. Addresses that proxies passed on are one word:
/// `192.0.2.1, 10.0.0.7`.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr_iter(b' ', text).find(|&at| !text[..at].ends_with(b","))?;
    Some((&text[..end], &text[end + 1..]))
}

/// Whether the first of two words is the host, and the second the address: it has a port and is no address, or
/// only the second is an address.
fn is_host(first: &[u8], second: &[u8]) -> bool {
    if second == b"-" || is_address(first) {
        return false;
    }
    let port = match memchr::memrchr(b':', first) {
        Some(at) => &first[at + 1..],
        None => &[],
    };
    let has_port = !port.is_empty() && port.iter().all(u8::is_ascii_digit);
    has_port || is_address(second)
}

fn is_address(word: &[u8]) -> bool {
    let word = std::str::from_utf8(word).unwrap_or_default();
    let bare = word.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_addresses_and_users_are_separated() {
        for (text, expected) in [
            ("192.0.2.1 - -", "|192.0.2.1|-"),
            ("192.0.2.1 ident frank", "|192.0.2.1|frank"),
            ("192.0.2.1 - John Smith", "|192.0.2.1|John Smith"),
            ("192.0.2.1:4711 - John Smith", "|192.0.2.1|John Smith"),
            ("client.test - -", "|client.test|-"),
            ("2001:db8::1 - -", "|2001:db8::1|-"),
            ("[2001:db8::1] - -", "|2001:db8::1|-"),
            ("192.0.2.1, 10.0.0.7 - -", "|192.0.2.1, 10.0.0.7|-"),
            ("www.a.test:80 192.0.2.1 - -", "www.a.test|192.0.2.1|-"),
            ("www.a.test:80 client.test - John Smith", "www.a.test|client.test|John Smith"),
            ("www.a.test 2001:db8::1 - -", "www.a.test|2001:db8::1|-"),
            ("192.0.2.1 -  ", "|192.0.2.1| "),
            ("192.0.2.1 -", ""),
            ("192.0.2.1", ""),
            ("", ""),
        ] {
            let found = Client::read(text.as_bytes());
            let joined = found.map_or(String::new(), |found| {
                let parts = [found.host.unwrap_or_default(), found.address, found.user];
                parts.map(|part| String::from_utf8_lossy(part)).join("|")
            });
            assert_eq!(joined, expected, "{text}");
        }
    }
}
