//! Steps of Tsung: what matches do, and MQTT.

use convert::Leniency;
use scenario::{Source, render};

use crate::{assert_runs, from_tsung};

/// A document with these sessions.
fn document(sessions: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<tsung><clients><client host=\"localhost\"/></clients>\n\
         <servers><server host=\"127.0.0.1\" port=\"1883\" type=\"tcp\"/></servers>\n\
         <load><arrivalphase phase=\"1\" duration=\"3\" unit=\"second\"><users arrivalrate=\"1\" unit=\"second\"/></arrivalphase></load>\n\
         <sessions>{sessions}</sessions></tsung>\n"
    )
}

#[track_caller]
fn converted(sessions: &str) -> String {
    let text = document(sessions);
    let (converted, diagnostics) = from_tsung("x.xml", &text, Leniency::Strict);
    let said = render(&diagnostics, Source { name: "x.xml", text: &text });
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_runs(&converted);
    converted.text
}

/// As in Tsung, a match that continues or is logged does not keep the next one from ending the user.
#[test]
fn matches_that_continue_do_not_hide_others() {
    for action in ["continue", "log", "dump"] {
        let text = converted(&format!(
            "<session name=\"a\" probability=\"100\" type=\"ts_http\"><request><match do=\"{action}\" when=\"match\">Some</match>\
             <match do=\"abort\" when=\"match\">Title</match><http url=\"/m1\" method=\"GET\"/></request></session>"
        ));
        let expected = "      - if: match_2 != null\n        then:\n          - stop:\n";
        assert!(text.contains(expected) && !text.contains("if: match_1"), "{action}\n{text}");
    }
    let text = converted(
        "<session name=\"a\" probability=\"100\" type=\"ts_http\"><request><match do=\"restart\" when=\"match\">A</match>\
         <match do=\"log\" when=\"match\">B</match><match do=\"abort\" when=\"nomatch\">C</match><http url=\"/\" method=\"GET\"/></request></session>",
    );
    let expected = "      - if: match_1 != null\n        then:\n          - restart: 3\n        else:\n          - if: match_3 == null\n\
                    \x20           then:\n              - stop:\n";
    assert!(text.contains(expected), "{text}");
}

/// The example that Tsung ships with, but for the numbers.
#[test]
fn mqtt_is_spoken() {
    let text = converted(
        "<session name=\"publisher\" probability=\"100\" type=\"ts_mqtt\">\
         <request><mqtt type=\"connect\" clean_start=\"true\" keepalive=\"10\" will_topic=\"will_topic\" will_qos=\"0\" will_msg=\"gone\"/></request>\
         <for from=\"1\" to=\"10\" incr=\"1\" var=\"loops\"><request subst=\"true\">\
         <mqtt type=\"publish\" topic=\"test/%%_loops%%\" qos=\"1\" retained=\"true\" stamped=\"false\">test_message</mqtt></request></for>\
         <request><mqtt type=\"disconnect\"/></request></session>\
         <session name=\"subscriber\" probability=\"0\" type=\"ts_mqtt\">\
         <request><mqtt type=\"connect\" client_id=\"me\" username=\"ann\"/></request>\
         <request subst=\"true\"><mqtt type=\"subscribe\" topic=\"test\" qos=\"1\"/></request>\
         <request><mqtt type=\"waitForMessages\" timeout=\"60\"/></request>\
         <request><mqtt type=\"unsubscribe\" topic=\"test\"/></request>\
         <request><mqtt type=\"disconnect\"/></request></session>",
    );
    for part in [
        "target: \"tcp://127.0.0.1:1883\"\n",
        "      - mqtt:\n        client_id: \"tsung-${random_string(10)}\"\n        keep_alive: 10s\n        will:\n          topic: will_topic\n\
         \x20         payload: gone\n          qos: 0\n",
        "publish:\n",
        "topic: \"test/${loops}\"\n",
        "payload: test_message\n",
        "      - mqtt:\n        client_id: me\n        user: ann\n        keep_alive: 10s\n      - subscribe: test\n        qos: 1\n\
         \x20     - think: 60s\n      - unsubscribe: test\n      - close:\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn what_mqtt_has_not_is_refused_by_name() {
    let text = document(
        "<session name=\"a\" probability=\"100\" type=\"ts_mqtt\"><request><mqtt type=\"connect\"/></request>\
         <request><mqtt type=\"publish\" topic=\"t\" stamped=\"true\">x</mqtt></request></session>",
    );
    let (converted, diagnostics) = from_tsung("x.xml", &text, Leniency::Strict);
    let said = render(&diagnostics, Source { name: "x.xml", text: &text });
    assert!(
        converted.is_none() && said.contains("messages with a stamp of Tsung's are not made"),
        "{said}"
    );
}

/// Their pauses alone would be no load.
#[test]
fn sessions_of_other_protocols_are_refused_by_name() {
    let plain = "<session name=\"web\" probability=\"50\" type=\"ts_http\"><request><http url=\"/\"/></request></session>";
    for (kind, name) in [
        ("jabber", "XMPP"),
        ("ldap", "LDAP"),
        ("pgsql", "PostgreSQL"),
        ("mysql", "MySQL"),
        ("amqp", "AMQP"),
        ("fs", "file systems"),
    ] {
        let session = format!(
            "<session name=\"x\" probability=\"50\" type=\"ts_{kind}\"><thinktime value=\"5\"/><request><{kind}/></request></session>"
        );
        let said = |sessions: &str, leniency| {
            let text = document(sessions);
            let (converted, diagnostics) = from_tsung("x.xml", &text, leniency);
            let said = render(&diagnostics, Source { name: "x.xml", text: &text });
            (converted.map(|converted| converted.text), said)
        };
        let expected = format!("sessions of {name} (`ts_{kind}`) are not supported");
        for leniency in [Leniency::Strict, Leniency::Lenient] {
            let (converted, said) = said(&session, leniency);
            assert!(converted.is_none() && said.contains(&expected), "{said}");
        }
        let (converted, said) = said(&format!("{plain}{session}"), Leniency::Lenient);
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        assert!(converted.contains("  web:\n") && !converted.contains("  x:\n"), "{converted}");
    }
}

/// The parameters are those of RFC 5849 section 3.4.1.3, in their order: names, then values, all encoded.
#[test]
fn requests_are_signed_by_oauth() {
    let secrets = "consumer_key=\"a key\" consumer_secret=\"s&amp;t\"";
    let token = "access_token=\"%%_token%%\" access_token_secret=\"%%_secret%%\"";
    let text = converted(&format!(
        "<session name=\"a\" probability=\"100\" type=\"ts_http\"><request>\
         <dyn_variable name=\"token\" xpath=\"/tokenReply/token/text()\"/><dyn_variable name=\"secret\" re=\"s=(.*)\"/>\
         <http url=\"/token\" method=\"POST\" contents=\"scope=a%20b&amp;kind=x%2Fy&amp;flag\"><oauth {secrets}/></http></request>\
         <request subst=\"true\"><http url=\"/echo/%%_token%%?b=2&amp;a=%%_token%%\" method=\"GET\"><oauth {secrets} {token}/></http>\
         </request><request subst=\"true\"><http url=\"/plain\"><oauth {secrets} {token} encoding=\"PLAINTEXT\"/></http></request></session>"
    ));
    for part in [
        "css: tokenreply > token\n",
        "kind=x%2Fy&oauth_consumer_key=a%20key&oauth_nonce=${oauth_nonce_1}&oauth_signature_method=HMAC-SHA1\
         &oauth_timestamp=${oauth_time_2}&oauth_version=1.0&scope=a%20b\"\n",
        "POST&http%3A%2F%2F127.0.0.1%3A1883%2Ftoken&${url(oauth_parameters_3)}\"\n",
        "oauth_key_5: s%26t&\n",
        "oauth_signature=\\\"${url(hmac_sha1(oauth_key_5, oauth_base_4, 'base64'))}\\\", oauth_consumer_key=\\\"a%20key\\\"",
        "a=${url(token)}&b=2&oauth_consumer_key",
        "&oauth_token=${url(token)}&oauth_version=1.0\"\n",
        "%2Fecho%2F${url(token)}&${url(",
        "s%26t&${url(secret)}\"\n",
        "oauth_signature=\\\"s%2526t%26${url(",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}
