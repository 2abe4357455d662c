//! Binary messages of Phoenix channels.

use engine::sim::PeerAction;
use record::Outcome;

use crate::peers::{WsPeer, frame, text};
use crate::support::run;

fn scenario(vsn: &str, steps: &str) -> String {
    format!(
        "
name: binary
target: http://target.test/
messages:
  said: {{ when: {{ event: said }} }}
sessions:
  main:
    - ws: {{ path: /socket, protocol: phoenix, vsn: {vsn} }}
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

#[test]
fn binary_messages_of_phoenix_are_read() {
    let broadcast = b"\x02\x04\x04roomblob\x07\xff\x00";
    let push = b"\x00\x01\x04\x041roomsaid\x01";
    let mut peer = WsPeer::new(|_, message| match message.contains("phx_join") {
        true => vec![
            text(r#"["1","1","room","phx_reply",{"status":"ok","response":{}}]"#),
            PeerAction::Send(frame(0x82, push)),
            PeerAction::Send(frame(0x82, broadcast)),
        ],
        false => vec![PeerAction::Send(frame(0x82, b"\x01\x01\x01\x04\x0212roomok\x2a"))],
    });
    let steps = "
    - join: room
    - expect: { when: { event: blob, topic: room, u8@0: 7 }, as: blob, save: { last: u16be@1 } }
    - check: last == 65280
    - push: { event: ask }
      reply: { save: { answer: u8@0 } }
    - check: answer == 42
      as: answered
";
    let ran = run(&scenario("2.0.0", steps), &mut peer);
    assert_eq!(ran.outcomes("blob"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.outcomes("ask"), [Outcome::Ok], "{:?}", ran.details());
    assert_eq!(ran.counted("said", Outcome::Ok), 1);
    assert_eq!(ran.total(|counts| counts.errors), 0, "{:?}", ran.details());
    for (vsn, broken) in [("2.0.0", &b"\x02\x04\x04room"[..]), ("1.0.0", b"\x02\x01\x01ab")] {
        let mut peer = WsPeer::new(|_, _| vec![]);
        peer.greeting = vec![PeerAction::Send(frame(0x82, broken))];
        let ran = run(&scenario(vsn, "    - think: 1s"), &mut peer);
        assert_eq!(ran.counted("steps", Outcome::Protocol), 1, "{vsn}");
    }
}
