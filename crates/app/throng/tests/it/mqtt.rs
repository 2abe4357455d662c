//! MQTT with a real server, Mosquitto: other clients count what was published, and the run says what is true when the
//! server ends.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use record::Outcome;
use testkit::needs::skip;
use testkit::services::Services;

use crate::support::{Ended, Space, pass};

/// What the servers of `scripts/services` are protected by.
const PASSWORD: &str = "open-sesame";
/// Published by the speakers of a run with one QoS.
const EACH: u64 = 60;

/// Mosquitto's own client, subscribed to a topic.
struct Subscriber {
    client: Child,
    output: BufReader<ChildStdout>,
}

impl Subscriber {
    /// Waits until the server has acknowledged the subscription. The client ends after that number of messages, or after
    /// two minutes. `None`, and the test is reported as skipped, where there is no such client.
    fn start(url: &str, topic: &str, messages: u64) -> Option<Subscriber> {
        let address = url.trim_start_matches("mqtt://");
        let (host, port) = address.split_once(':').unwrap();
        // A line at a time, also into a pipe.
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "mosquitto_sub"]);
        command.args(["-d", "-h", host, "-p", port, "-u", "throng", "-P", PASSWORD]);
        command.args(["-q", "2", "-W", "120", "-t", topic, "-C", &messages.to_string()]);
        command.args(["-F", "got %t %q"]);
        let version = Command::new("mosquitto_sub").arg("--help").output();
        if version.is_err() {
            skip("mosquitto_sub is not installed");
            return None;
        }
        let mut client = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(client.stdout.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("Subscribed") {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "mosquitto_sub ended");
        }
        Some(Subscriber { client, output })
    }

    /// Messages that it got, by their QoS.
    fn got(mut self) -> [u64; 3] {
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        self.client.wait().unwrap();
        let got: Vec<_> = text.lines().filter(|line| line.starts_with("got ")).collect();
        let count = |qos: &str| got.iter().filter(|line| line.ends_with(qos)).count() as u64;
        [count(" 0"), count(" 1"), count(" 2")]
    }
}

/// A scenario: two listeners, then 20 speakers, each of whom publishes nine messages, three of each QoS.
fn scenario(server: &str, options: &str, version: &str, topic: &str) -> String {
    let opening = format!(
        "
    - mqtt: {server}
      version: {version}
      user: throng
      password: {PASSWORD}"
    );
    let publish = |qos: u32| {
        let to = format!("topic: \"{topic}/${{user}}/{qos}\", qos: {qos}");
        format!(
            "
        - publish: {{ {to}, payload: {{ n: \"${{n}}\", at: \"${{now()}}\" }} }}
          as: qos {qos}"
        )
    };
    let messages: String = (0..3).map(publish).collect();
    format!(
        "
target: {server}
{options}
messages:
  got: {{ when: {{ topic: \"{topic}/+/+\" }}, seq: /n, sent_at: /at, unit: s }}
sessions:
  listener:{opening}
    - subscribe: \"{topic}/#\"
      qos: 2
    - forever:
        - think: 10s
  speaker:{opening}
      client_id: {topic}-${{user}}
    - set: {{ n: 0 }}
    - loop: 3
      steps:
        - set: {{ n: \"${{n + 1}}\" }}{messages}
    - close:
arrivals:
  - {{ constant: 2/s, for: 1s, session: listener }}
  - {{ constant: 20/s, for: 1s, session: speaker }}
  - {{ hold: 2s }}
thresholds:
  - errors == 0
  - count(qos 1) == {EACH}
  - count(qos 2) == {EACH}
  - count(got) == {}
  - count(got.lost) == 0
  - count(got.duplicated) == 0
  - count(got.out_of_order) == 0
",
        2 * 3 * EACH
    )
}

/// Over TCP, TLS and WebSockets, in both versions: Mosquitto's client gets all that was published, and so do ours,
/// without a loss or a repetition.
#[test]
fn both_sides_count_the_same_messages() {
    let Some(services) = Services::start(&["mosquitto"]) else {
        return;
    };
    let Some(url) = services.url("mosquitto") else {
        return;
    };
    let mut ways = vec![("tcp", url, String::new())];
    ways.extend(services.ws_url("mosquitto").map(|ws| ("ws", ws, String::new())));
    if let (Some(tls), Some(ca)) = (services.tls_url("mosquitto"), services.ca()) {
        ways.push(("tls", tls, format!("options: {{ tls: {{ ca: {ca} }} }}")));
    }
    for (name, server, options) in ways {
        for version in ["3.1.1", "5"] {
            let topic = format!("{name}-{version}");
            let Some(other) = Subscriber::start(url, &format!("{topic}/#"), 3 * EACH) else {
                return;
            };
            let space = Space::new();
            let text = scenario(server, &options, version, &topic);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            assert_eq!(other.got(), [EACH; 3], "{topic}");
        }
    }
}

/// A server that is killed in the middle: messages in flight are lost with their connections, later users are refused.
#[test]
fn a_server_that_is_killed_is_no_success() {
    let Some(services) = Services::start(&["mosquitto"]) else {
        return;
    };
    let Some(url) = services.url("mosquitto") else {
        return;
    };
    let text = format!(
        "
target: {url}
sessions:
  speaker:
    - mqtt:
      user: throng
      password: {PASSWORD}
    - loop: 20
      steps:
        - publish: {{ topic: a, qos: 1 }}
        - think: 100ms
arrivals:
  - {{ constant: 10/s, for: 4s }}
thresholds:
  - errors == 0
"
    );
    let space = Space::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            pass(Duration::from_secs(3));
            services.kill("mosquitto");
        });
        Ended::of(&mut space.run_text(&text, &[])).with(1);
    });
    let summary = space.summary();
    let failed = |measure: &str, outcome: Outcome| {
        let measure = summary.measures.iter().find(|own| own.name == measure);
        let errors = &measure.expect("the measure is there").errors_by_kind;
        errors.get(outcome.name()).copied().unwrap_or(0)
    };
    assert!(failed("mqtt", Outcome::Refused) > 0, "{summary:?}");
}
