//! JSON that is nested more deeply than a parser's stack holds: a value that cannot be read.

use record::Outcome;

use crate::peers::{HttpPeer, WsPeer, ok, text};
use crate::support::run;

/// Far more levels than a stack of 2 MiB takes, in few bytes.
fn deep(front: &str) -> String {
    front.repeat(20_000)
}

const ARRIVALS: &str = "
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 9s }
";

#[test]
fn a_response_that_is_nested_too_deeply_has_nothing_to_save() {
    let scenario = format!(
        "
target: http://target.test/
options: {{ response_max: 1MiB }}
sessions:
  main:
    - get: /deep
      save: {{ a: /a/a }}
{ARRIVALS}"
    );
    let mut peer = HttpPeer::new(|_| 0, |_| ok(&deep("{\"a\":")));
    let ran = run(&scenario, &mut peer);
    assert_eq!(ran.outcomes("GET /deep"), [Outcome::Save]);
    let detail = &ran.details()[0];
    assert!(detail.contains("nested deeper than 127 levels"), "{detail}");
}

#[test]
fn a_poll_that_is_nested_too_deeply_has_no_list() {
    let scenario = format!(
        "
target: http://target.test/
options: {{ response_max: 1MiB }}
messages: {{ said: {{ when: {{ /said: 1 }} }} }}
sessions:
  main:
    - poll: /poll
      each: /messages
      as: poll
    - think: 2s
{ARRIVALS}"
    );
    let mut peer = HttpPeer::new(|_| 0, |_| ok(&deep("{\"messages\":[")));
    let ran = run(&scenario, &mut peer);
    assert!(ran.outcomes("poll").contains(&Outcome::Save));
    let detail = &ran.details()[0];
    assert!(detail.contains("nested deeper than 127 levels"), "{detail}");
}

/// A message of the server's: by conditions, by its stamp, and as one of a protocol of channels.
#[test]
fn messages_that_are_nested_too_deeply_match_nothing_or_are_broken() {
    let steps = |protocol: &str, what: &str| {
        format!(
            "
target: http://target.test/
options: {{ message_max: 1MiB, timeout: 1s }}
messages: {{ said: {{ when: {{ regex: said }}, sent_at: /at }} }}
sessions:
  main:
    - ws: {{ path: /, {protocol} }}
{what}
{ARRIVALS}"
        )
    };
    let frame = |payload: &str| {
        let mut bytes = vec![0x81];
        match u16::try_from(payload.len()) {
            Ok(length) => {
                bytes.push(126);
                bytes.extend(length.to_be_bytes());
            }
            Err(_) => {
                bytes.push(127);
                bytes.extend((payload.len() as u64).to_be_bytes());
            }
        }
        bytes.extend(payload.as_bytes());
        engine::sim::PeerAction::Send(bytes)
    };
    let mut peer = WsPeer::new(|_, _| {
        vec![
            frame(&deep("{\"a\":")),
            frame(&format!("{{\"said\":{}", deep("["))),
            text("{\"a\":1}"),
        ]
    });
    let plain = "    - send: hello\n      reply: { when: { /a: 1 }, as: reply }\n";
    let ran = run(&steps("compress: none", plain), &mut peer);
    assert_eq!(ran.outcomes("reply"), [Outcome::Ok]);
    assert_eq!(ran.total(|counts| counts.unmatched), 1);
    assert_eq!(ran.counted("said", Outcome::Save), 1);
    for (protocol, front) in [
        ("protocol: phoenix", "["),
        ("protocol: phoenix, vsn: 1.0.0", "{\"payload\":"),
        ("protocol: actioncable", "{\"message\":"),
        ("protocol: socket.io", "42["),
    ] {
        let broken = match front {
            "42[" => format!("42{}", deep("[")),
            front => deep(front),
        };
        let mut peer = WsPeer::new(|_, _| vec![]);
        peer.greeting = vec![
            text(match protocol {
                "protocol: socket.io" => r#"0{"pingInterval":9000,"pingTimeout":9000}"#,
                "protocol: actioncable" => r#"{"type":"welcome"}"#,
                "protocol: phoenix" => r#"[null,null,"a","b",{}]"#,
                _ => r#"{"topic":"a","event":"b","payload":{}}"#,
            }),
            frame(&broken),
        ];
        let ran = run(&steps(protocol, "    - think: 2s\n"), &mut peer);
        assert_eq!(ran.counted("steps", Outcome::Protocol), 1, "{protocol}");
        let detail = &ran.details()[0];
        assert!(detail.contains("nested deeper than 127 levels"), "{detail}");
    }
}

#[test]
fn a_page_that_is_nested_too_deeply_has_no_elements() {
    let scenario = format!(
        "
target: http://target.test/
options: {{ response_max: 1MiB }}
sessions:
  main:
    - get: /deep
      save: {{ a: {{ css: a }} }}
{ARRIVALS}"
    );
    let mut peer = HttpPeer::new(|_| 0, |_| ok(&deep("<div>")));
    let ran = run(&scenario, &mut peer);
    assert_eq!(ran.outcomes("GET /deep"), [Outcome::Save]);
    let detail = &ran.details()[0];
    assert!(detail.contains("nested deeper than 512 levels"), "{detail}");
}
