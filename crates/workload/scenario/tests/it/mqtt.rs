//! What steps of MQTT compile to.

use plan::expr::Template;
use plan::{ChannelVerb, Op, Payload, Protocol, Source, WsOpen};

use crate::{compile_with, plan, with_steps};

fn ops(steps: &str) -> Vec<Op> {
    plan(&with_steps(steps)).sessions[0].ops.clone()
}

fn opened(step: &str) -> (WsOpen, plan::Endpoint) {
    let plan = plan(&with_steps(step));
    let Op::WsOpen(open) = &plan.sessions[0].ops[0] else {
        panic!("{:?}", plan.sessions[0].ops);
    };
    ((**open).clone(), plan.endpoints[open.endpoint.index()].clone())
}

#[test]
fn servers_are_reached_over_tcp_tls_and_websockets() {
    for (server, tls, port, bare) in [
        ("broker.test", false, 1883, true),
        ("broker.test:99", false, 99, true),
        ("mqtt://broker.test", false, 1883, true),
        ("mqtts://broker.test", true, 8883, true),
        ("tls://broker.test:99", true, 99, true),
        ("ws://broker.test/mqtt", false, 80, false),
        ("wss://broker.test:99/mqtt", true, 99, false),
    ] {
        let (open, endpoint) = opened(&format!("- mqtt: {server}"));
        assert_eq!(endpoint.host, "broker.test", "{server}");
        assert_eq!((endpoint.tls, endpoint.port), (tls, port), "{server}");
        let mqtt = open.mqtt.expect("it is MQTT");
        assert_eq!(mqtt.bare, bare, "{server}");
        assert_eq!(open.path.as_static(), Some(if bare { "" } else { "/mqtt" }));
        let offered = open.headers.iter().find(|(name, _)| name == "sec-websocket-protocol");
        assert_eq!(offered.and_then(|(_, value)| value.as_static()), Some("mqtt"));
    }
}

#[test]
fn a_client_says_what_its_step_says() {
    let (open, _) = opened(
        r#"- mqtt:
  version: 5
  client_id: me
  user: u
  password: "${env('TOKEN')}"
  keep_alive: 2m
  clean: false
  session_expiry: 1h
  will: { topic: w, payload: gone, qos: 1, retain: true, delay: 5s }
  reconnect: true"#,
    );
    let expected = Protocol::Mqtt { five: true, keep_alive_s: 120 };
    assert_eq!(open.protocol, Some(expected));
    assert!(open.reconnect.is_some());
    let mqtt = open.mqtt.expect("it is MQTT");
    let will = mqtt.will.expect("there is a will");
    assert_eq!(mqtt.client_id.as_static(), Some("me"));
    assert_eq!((mqtt.clean, mqtt.session_expiry_s), (false, 3600));
    assert_eq!((will.qos, will.retain, will.delay_s), (1, true, 5));
}

#[test]
fn topics_are_channels() {
    let ops = ops("- mqtt:
  version: 5
- subscribe: a/+
  qos: 2
  no_local: true
  retained: never
  id: 300
- publish: { topic: b, bytes: [ u8: 1 ], qos: 1, retain: true, properties: { k: v } }
- unsubscribe:
- close: 4");
    let [_, Op::Channel(join), Op::Channel(push), Op::Channel(leave), Op::Close { code: 4 }, ..] =
        &ops[..]
    else {
        panic!("{ops:?}");
    };
    let verbs = [join.verb, push.verb, leave.verb];
    assert_eq!(verbs, [ChannelVerb::Join, ChannelVerb::Push, ChannelVerb::Leave]);
    let delivery = join.delivery.as_ref().expect("it is MQTT");
    assert_eq!((delivery.qos, delivery.no_local, delivery.retain_handling), (2, true, 2));
    assert_eq!(delivery.id, Some(300));
    let delivery = push.delivery.as_ref().expect("it is MQTT");
    assert_eq!((delivery.qos, delivery.retain, delivery.properties.len()), (1, true, 1));
    assert!(matches!(push.payload, Payload::Bytes(_)));
    assert_eq!(leave.topic, None);
}

/// What version 5 adds: numbers for topics, authentication by a method, and properties of messages.
#[test]
fn clients_of_version_5_say_more() {
    let steps = "- mqtt:
  version: 5
  topic_aliases: 10
  authentication: { method: TOKEN, data: [ \"${env('TOKEN')}\", \"${env('PASSWORD')}\" ] }
- publish: { topic: b, content_type: t, response_topic: \"a/${user}\", correlation: \"${user}\", expires: 5s, utf8: true }
- expect: { when: { topic: a }, save: { to: { header: correlation } } }";
    let ops = ops(steps);
    let [Op::WsOpen(open), Op::Channel(push), Op::Expect(expect), ..] = &ops[..] else {
        panic!("{ops:?}");
    };
    let mqtt = open.mqtt.as_ref().expect("it is MQTT");
    assert_eq!(mqtt.topic_aliases, 10);
    let own = mqtt.authentication.as_ref().expect("it has a method");
    assert_eq!((own.method.as_str(), own.data.len()), ("TOKEN", 2));
    let about = &push.delivery.as_ref().expect("it is MQTT").about;
    assert_eq!((about.is_text, about.expiry_s), (true, Some(5)));
    assert_eq!(about.content_type.as_ref().and_then(Template::as_static), Some("t"));
    assert!(about.response_topic.is_some() && about.correlation.is_some());
    assert_eq!(expect.save[0].from, Source::Header("correlation".to_owned()));
}

#[test]
fn what_a_client_cannot_do_is_refused() {
    for (steps, code) in [
        ("- mqtt:\n  topic_aliases: 3", "misplaced-key"),
        ("- mqtt:\n  version: 5\n  topic_aliases: 1001", "bad-count"),
        ("- mqtt:\n  version: 5\n  authentication: { method: scram-sha-256 }", "bad-method"),
        ("- mqtt:\n- publish: { topic: a, correlation: x }", "misplaced-key"),
        ("- mqtt:\n  version: 5\n- publish: { topic: a, response_topic: a/# }", "bad-topic"),
        ("- mqtt:\n  version: 5\n- expect: { save: { x: { header: server } } }", "bad-save"),
    ] {
        let (plan, diagnostics) = compile_with(&with_steps(steps), &[]);
        let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert!(plan.is_none() && codes == [code], "{steps}: {codes:?}");
    }
}

/// What others get of a shared subscription is not lost.
#[test]
fn numbers_of_shared_subscriptions_are_warned_of() {
    let scenario = |messages: &str, filter: &str| {
        format!(
            "target: mqtt://broker.test
{messages}
sessions:
  s:
    - mqtt:
    - subscribe: {filter}
arrivals: [ {{ constant: 1/s, for: 1s }} ]
"
        )
    };
    let numbered = "messages: { said: { when: { topic: a }, seq: /n } }";
    let warnings = |messages, filter| {
        let (plan, diagnostics) = compile_with(&scenario(messages, filter), &[]);
        assert!(plan.is_some());
        diagnostics.len()
    };
    assert_eq!(warnings(numbered, "$share/g/a"), 1);
    assert_eq!(warnings(numbered, "a"), 0);
    assert_eq!(warnings("", "$share/g/a"), 0);
}

#[test]
fn filters_of_a_list_stand_in_one_step() {
    let ops = ops("- mqtt:
- subscribe: [a/+, 'rooms/${user}/said']
  qos: 1
- unsubscribe: [a/+]");
    let [_, Op::Channel(subscribe), Op::Channel(unsubscribe), ..] = &ops[..] else {
        panic!("{ops:?}");
    };
    let first =
        |op: &plan::ChannelOp| op.topic.as_ref().and_then(|own| own.as_static().map(str::to_owned));
    assert_eq!(subscribe.verb, ChannelVerb::Join);
    assert_eq!(first(subscribe).as_deref(), Some("a/+"));
    let delivery = subscribe.delivery.as_ref().unwrap();
    assert_eq!((delivery.qos, delivery.more.len()), (1, 1));
    assert_eq!(unsubscribe.verb, ChannelVerb::Leave);
    assert_eq!(first(unsubscribe).as_deref(), Some("a/+"));
    assert!(unsubscribe.delivery.as_ref().unwrap().more.is_empty());
}
