//! URLs and metadata; calls are tested against servers, by the tests of `throng protos`.

use super::*;

#[test]
fn urls_have_a_scheme_a_host_and_perhaps_a_port() {
    let place =
        |url| Address::parse(url).map(|own| (own.is_tls, own.host, own.port, own.authority));
    let found = place("https://api.test").unwrap();
    let own = "api.test".to_owned();
    assert_eq!(found, (true, own, 443, "api.test:443".to_owned()));
    let found = place("http://[::1]:8080/").unwrap();
    assert_eq!(found, (false, "::1".to_owned(), 8080, "[::1]:8080".to_owned()));
    for url in ["api.test:80", "grpc://api.test", "http://", "http://a/b", "http://a/?b", "h ttp"] {
        assert!(matches!(place(url), Err(ReflectionError::Url { .. })), "{url}");
    }
}

#[test]
fn metadata_that_cannot_be_sent_is_refused() {
    let of = |name: &str, value: &str| metadata(&[(name.to_owned(), value.to_owned())]);
    let all = of("Authorization", "Bearer x").unwrap();
    assert_eq!(all["authorization"], "Bearer x");
    for (name, value) in
        [("a b", "c"), ("", "c"), ("a", "c\nd"), ("TE", "x"), ("content-type", "x")]
    {
        assert!(matches!(of(name, value), Err(ReflectionError::Metadata(_))), "{name}");
    }
}
