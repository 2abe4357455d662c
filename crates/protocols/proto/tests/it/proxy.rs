//! Tunnels through proxies: literal bytes of RFC 9110 §9.3.6, RFC 1928 and RFC 1929, cut anywhere.

use crate::http1_pieces::{cut, cuts};
use proptest::prelude::*;
use proto::proxy::{Credentials, Error, Handshake, Host, Kind, Tunnel};

const NAME: Host<'_> = Host::Name("example.org");
const ANN: Credentials<'_> = Credentials { user: "ann", password: "pass word" };

fn tunnel<'a>(kind: Kind, host: Host<'a>, credentials: Option<Credentials<'a>>) -> Tunnel<'a> {
    Tunnel::new(kind, host, 443, credentials).expect("a tunnel of tests")
}

/// How many bytes a handshake left when the tunnel was open, or `None` if it never was; and what was sent.
type Shook = (Option<usize>, Vec<u8>);

/// Shakes hands with a proxy whose answers come in these pieces.
fn shake(tunnel: &Tunnel<'_>, pieces: &[&[u8]]) -> Result<Shook, Error> {
    let mut sent = Vec::new();
    let mut handshake = Handshake::begin(tunnel, &mut sent);
    let mut buffer = Vec::new();
    let mut is_open = false;
    for piece in pieces {
        buffer.extend_from_slice(piece);
        if !is_open {
            let (taken, open) = handshake.decode(tunnel, &buffer, &mut sent)?;
            buffer.drain(..taken);
            is_open = open;
        }
    }
    Ok((is_open.then_some(buffer.len()), sent))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_connect_request_names_host_and_port() {
    let request = |host, credentials| {
        let sent = shake(&tunnel(Kind::Connect, host, credentials), &[]);
        text(&sent.expect("nothing is wrong yet").1)
    };
    assert_eq!(
        request(NAME, None),
        "CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n"
    );
    // RFC 7617: `ann:pass word` in base64.
    assert_eq!(
        request(Host::Address("::1".parse().unwrap()), Some(ANN)),
        "CONNECT [::1]:443 HTTP/1.1\r\nhost: [::1]:443\r\n\
         proxy-authorization: Basic YW5uOnBhc3Mgd29yZA==\r\n\r\n"
    );
}

#[test]
fn any_2xx_opens_the_tunnel_where_its_head_ends() {
    let own = tunnel(Kind::Connect, NAME, None);
    for (answer, left) in [
        ("HTTP/1.1 200 Connection established\r\n\r\n", Some(0)),
        // A length means nothing here.
        ("HTTP/1.0 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\nabc", Some(3)),
        ("HTTP/1.1 299\r\n\r\n", Some(0)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 x\r\n\r\n", Some(0)),
        ("HTTP/1.1 200 OK\r\nvia: x\r\n", None),
    ] {
        let shook = shake(&own, &[answer.as_bytes()]).expect(answer);
        assert_eq!(shook.0, left, "{answer}");
    }
}

#[test]
fn a_refusal_says_what_the_proxy_answered() {
    let own = tunnel(Kind::Connect, NAME, None);
    let refused = |answer: &str| shake(&own, &[answer.as_bytes()]).expect_err(answer);
    let error = refused("HTTP/1.1 407 Proxy Authentication Required\r\nx: y\r\n\r\nbody");
    assert_eq!(error.to_string(), "it answered 407 Proxy Authentication Required");
    assert!(error.is_refusal());
    assert_eq!(refused("HTTP/1.1 502\r\n\r\n").to_string(), "it answered 502");
    assert!(refused("HTTP/1.1 101 Switching\r\n\r\n").is_refusal());
    let long = format!("HTTP/1.1 503 {}\r\n\r\n", "x".repeat(5000));
    assert!(refused(&long).to_string().len() < 150);
    for broken in [
        "\x05\x00".to_owned(),
        format!("HTTP/1.1 200 OK\r\nx: {}", "x".repeat(20_000)),
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(40),
    ] {
        assert!(!refused(&broken).is_refusal(), "{broken:.40}");
    }
}

#[test]
fn socks_without_credentials_takes_two_exchanges() {
    for (host, address) in [
        (NAME, b"\x03\x0bexample.org".as_slice()),
        (Host::Address("192.0.2.7".parse().unwrap()), b"\x01\xc0\x00\x02\x07"),
        (
            Host::Address("2001:db8::1".parse().unwrap()),
            b"\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01",
        ),
    ] {
        let own = tunnel(Kind::Socks5, host, None);
        for bound in [
            b"\x01\x7f\0\0\x01".as_slice(),
            b"\x03\x03abc",
            &[b"\x04".as_slice(), &[0; 16]].concat(),
        ] {
            let reply = [b"\x05\0\0", bound, b"\x04\xd2rest"].concat();
            let (left, sent) = shake(&own, &[b"\x05\0", &reply]).unwrap();
            assert_eq!(left, Some(4));
            assert_eq!(sent, [b"\x05\x01\0\x05\x01\0", address, b"\x01\xbb"].concat());
        }
    }
}

#[test]
fn socks_sends_name_and_password_only_if_the_proxy_wants_them() {
    let own = tunnel(Kind::Socks5, NAME, Some(ANN));
    let reply = b"\x05\0\0\x01\0\0\0\0\0\0";
    let (left, sent) = shake(&own, &[b"\x05\x02", b"\x01\0", reply]).unwrap();
    assert_eq!(left, Some(0));
    let exchange = b"\x01\x03ann\x09pass word\x05\x01\0\x03\x0bexample.org\x01\xbb";
    assert_eq!(sent, [b"\x05\x02\0\x02", exchange.as_slice()].concat());
    let (left, sent) = shake(&own, &[b"\x05\0", reply]).unwrap();
    assert_eq!(left, Some(0));
    assert!(!text(&sent).contains("pass word"));
}

#[test]
fn socks_refusals_have_their_codes_in_words() {
    let anybody = tunnel(Kind::Socks5, NAME, None);
    let ann = tunnel(Kind::Socks5, NAME, Some(ANN));
    for (own, pieces, detail) in [
        (anybody, vec![b"\x05\xff".as_slice()], "a user name"),
        (ann, vec![b"\x05\x02", b"\x01\x01"], "does not accept"),
        (anybody, vec![b"\x05\0", b"\x05\x02"], "2 (not allowed by its rules)"),
        (anybody, vec![b"\x05\0", b"\x05\x05\0\x01\0\0\0\0\0\0"], "5 (connection refused)"),
        (anybody, vec![b"\x05\0", b"\x05\x99"], "153 (unknown)"),
    ] {
        let error = shake(&own, &pieces).expect_err(detail);
        assert!(error.is_refusal(), "{error}");
        assert!(error.to_string().contains(detail), "{error}");
    }
    for pieces in [
        vec![b"HTTP/1.1 400".as_slice()],
        vec![b"\x05\x02"],
        vec![b"\x05\0", b"\x04\0\0\x01"],
        vec![b"\x05\0", b"\x05\0\0\x02\0"],
    ] {
        let error = shake(&anybody, &pieces).expect_err("not SOCKS");
        assert!(!error.is_refusal(), "{error}");
    }
}

#[test]
fn what_no_request_has_room_for_is_no_tunnel() {
    let long = "x".repeat(256);
    let with = |password| Credentials { user: "ann", password };
    assert!(Tunnel::new(Kind::Socks5, Host::Name(&long), 1, None).is_none());
    assert!(Tunnel::new(Kind::Socks5, NAME, 1, Some(with(&long))).is_none());
    assert!(Tunnel::new(Kind::Connect, NAME, 1, Some(with(&long))).is_some());
    for name in ["", "a b", "a\r\nb: c"] {
        assert!(Tunnel::new(Kind::Connect, Host::Name(name), 1, None).is_none(), "{name:?}");
    }
    assert!(!format!("{ANN:?}").contains("pass"));
}

proptest! {
    #[test]
    fn how_answers_are_cut_changes_nothing(
        is_socks: bool,
        refuses: bool,
        rest in prop::collection::vec(any::<u8>(), 0..20),
        at in cuts(),
    ) {
        let answer: &[u8] = match (is_socks, refuses) {
            (false, false) => b"HTTP/1.1 102 x\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\n\r\n",
            (false, true) => b"HTTP/1.1 403 Forbidden\r\na: b\r\n\r\n",
            (true, false) => b"\x05\x02\x01\0\x05\0\0\x03\x05bound\0\x50",
            (true, true) => b"\x05\x02\x01\0\x05\x04\0\x01\0\0\0\0\0\x50",
        };
        let kind = if is_socks { Kind::Socks5 } else { Kind::Connect };
        let own = tunnel(kind, NAME, Some(ANN));
        let wire = [answer, &rest].concat();
        let at_once = shake(&own, &[&wire]);
        match &at_once {
            Ok((left, _)) => prop_assert_eq!(*left, (!refuses).then_some(rest.len())),
            Err(error) => prop_assert!(refuses && error.is_refusal()),
        }
        prop_assert_eq!(at_once, shake(&own, &cut(&wire, &at)));
    }

    #[test]
    fn no_answer_panics(is_socks: bool, wire: Vec<u8>, at in cuts()) {
        let kind = if is_socks { Kind::Socks5 } else { Kind::Connect };
        let own = tunnel(kind, NAME, Some(ANN));
        prop_assert_eq!(shake(&own, &[&wire]), shake(&own, &cut(&wire, &at)));
    }
}
