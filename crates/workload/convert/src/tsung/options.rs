//! `<options>`: what holds for the whole test.

use roxmltree::Node;

use super::attributes::value_at;
use super::text;
use super::{Importer, Item, Map, elements, opening};

/// A think time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pause {
    /// A fixed time in seconds.
    Fixed(f64),
    /// Exponential, with this mean in seconds.
    Random(f64),
    /// Every value between these seconds alike.
    Range(f64, f64),
}

/// `option name="thinktime"`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Think {
    pub(super) pause: Pause,
    /// It stands in the place of every think time of the sessions.
    pub(super) is_override: bool,
}

/// How often and after what a connection is tried again.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Retries {
    times: u64,
    pause_ms: f64,
}

impl Default for Retries {
    /// Tsung's own (manual, "Retry Attempts and Timeouts").
    fn default() -> Retries {
        Retries { times: 3, pause_ms: 10.0 }
    }
}

impl Retries {
    pub(super) fn write(&self, settings: &mut Map) {
        if self.times == 0 {
            return;
        }
        let retries = Map::new(settings.at.clone())
            .comment("Tsung multiplies this by the number of the attempt.")
            .with("times", Item::Bare(self.times.min(100).to_string()))
            .with("pause", Item::Bare(text::seconds(self.pause_ms / 1e3)));
        settings.put("connect_retries", Item::Map(retries));
    }
}

/// Options that change nothing of the load here, and why.
const IGNORED: &[(&str, &str)] = &[
    ("hibernate", "an idle user needs almost no memory"),
    ("ports_range", "use several source addresses instead: options.source_addresses"),
    ("tcp_snd_buffer", "sockets use the system's buffer sizes"),
    ("tcp_rcv_buffer", "sockets use the system's buffer sizes"),
    ("udp_snd_buffer", "UDP is not supported"),
    ("udp_rcv_buffer", "UDP is not supported"),
    ("tcp_reuseaddr", "source addresses are chosen differently"),
    ("ssl_ciphers", "rustls chooses the ciphers"),
    ("ssl_versions", "TLS 1.2 or 1.3 is used"),
    ("ssl_reuse_sessions", "TLS sessions are resumed if the server offers it"),
    ("max_ssh_startup_per_core", "no other machine is used"),
    ("bosh_path", "BOSH is not supported"),
    ("global_ack_timeout", "no request waits for all other users"),
    ("heartbeat", "AMQP is not supported"),
];

/// Options without a counterpart.
const LOST: &[&str] = &[
    "rate_limit",
    "ip_transparent",
    "certificate",
    "http_use_server_as_proxy",
    "global_number",
    "userid_max",
    "domain",
    "username",
    "passwd",
    "muc_service",
];

impl Importer<'_> {
    /// Reads all options; returns the seed.
    pub(super) fn read_options(
        &mut self,
        node: Node<'_, '_>,
        settings: &mut Map,
        retries: &mut Retries,
    ) -> Option<String> {
        let mut seed = None;
        for option in elements(node) {
            if option.tag_name().name() != "option" {
                self.unknown_element(option);
                continue;
            }
            self.known_attributes(option);
            let Some(name) = self.required(option, "name") else {
                continue;
            };
            match name {
                "seed" => seed = self.seed(option).or(seed),
                "thinktime" => {
                    let is_override = self.flag(option, "override", false);
                    let pause = self.pause(option);
                    self.think = pause.map(|pause| Think { pause, is_override });
                }
                "max_retries" => retries.times = self.count(option, "value").unwrap_or(3),
                "retry_timeout" => {
                    let message =
                        "all pauses between attempts are equal; Tsung's grow with each attempt";
                    self.diagnostics.differs("retries", value_at(option, "value"), message);
                    retries.pause_ms = self.number(option, "value").unwrap_or(10.0);
                }
                "connect_timeout" => self.timeout(option, settings, "connect_timeout"),
                "idle_timeout" => self.timeout(option, settings, "timeout"),
                "user_agent" => self.user_agents(option),
                "websocket_path" => {
                    let path = self.required(option, "value");
                    self.websocket_path = path.unwrap_or("/").to_owned();
                }
                "websocket_frame" => {
                    let frame = self.word(option, "value", &["binary", "text"]);
                    self.websocket_text = frame == Some("text");
                }
                "file_server" => self.file_server(option),
                name => self.other_option(option, name),
            }
        }
        seed
    }

    fn other_option(&mut self, option: Node<'_, '_>, name: &str) {
        let at = value_at(option, "name");
        if let Some((_, why)) = IGNORED.iter().find(|(known, _)| *known == name) {
            let message = format!("the option `{name}` has no effect: {why}");
            self.diagnostics.ignored(at, message);
        } else if LOST.contains(&name) {
            let message = format!("the option `{name}` is not supported");
            self.diagnostics.lost(at, message);
        } else {
            let known = IGNORED.iter().map(|(known, _)| *known);
            let names = known.chain(LOST.iter().copied()).chain([
                "seed",
                "thinktime",
                "max_retries",
                "retry_timeout",
                "connect_timeout",
                "idle_timeout",
                "user_agent",
                "websocket_path",
                "websocket_frame",
                "file_server",
            ]);
            let hint = scenario::document::suggest::nearest(name, names);
            let hint = hint.map(|near| format!("did you mean `{near}`?"));
            let message = format!("there is no option `{name}`");
            self.diagnostics.error("unknown-option", at, message).hint_some(hint);
        }
    }

    /// A number, or `random` and `now`, for which Tsung takes the clock.
    fn seed(&mut self, option: Node<'_, '_>) -> Option<String> {
        let value = self.required(option, "value")?;
        if value == "now" || value == "random" {
            let message =
                "a seed from the clock is ignored: all runs of this scenario use the same seed"
                    .to_owned();
            self.diagnostics.ignored(value_at(option, "value"), message);
            return None;
        }
        self.count(option, "value").map(|seed| seed.to_string())
    }

    /// Milliseconds, or `infinity`.
    fn timeout(&mut self, option: Node<'_, '_>, settings: &mut Map, key: &str) {
        if self.required(option, "value") == Some("infinity") {
            let message = "an infinite timeout is not supported: the default is used".to_owned();
            self.diagnostics.ignored(value_at(option, "value"), message);
            return;
        }
        let Some(ms) = self.number(option, "value") else {
            return;
        };
        let value = Item::Bare(text::seconds(ms / 1e3));
        match settings.get_mut(key) {
            Some(found) => *found = value,
            None => settings.put(key, value),
        }
    }

    fn user_agents(&mut self, option: Node<'_, '_>) {
        for agent in elements(option) {
            if agent.tag_name().name() != "user_agent" {
                self.unknown_element(agent);
                continue;
            }
            self.known_attributes(agent);
            self.required(agent, "probability");
            let weight = self.number(agent, "probability").unwrap_or(0.0);
            let name = agent.text().unwrap_or_default();
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            if name.is_empty() {
                let message = "the user agent is empty".to_owned();
                self.diagnostics.error("empty", opening(agent), message);
            }
            self.agents.push((weight, name));
        }
        let total: f64 = self.agents.iter().map(|(weight, _)| weight).sum();
        if !self.agents.is_empty() && total == 0.0 {
            let message = "all user agents have the probability 0".to_owned();
            self.diagnostics.error("bad-number", opening(option), message);
        }
    }

    /// The pause that `value`, `random`, `min` and `max` say.
    pub(super) fn pause(&mut self, node: Node<'_, '_>) -> Option<Pause> {
        let min = self.number(node, "min");
        let max = self.number(node, "max");
        if let (Some(min), Some(max)) = (min, max) {
            if min > max {
                let message = format!("{min} is more than {max}");
                self.diagnostics
                    .error("bad-number", value_at(node, "min"), message)
                    .hint("swap `min` and `max`");
                return None;
            }
            return Some(Pause::Range(min, max));
        }
        self.required(node, "value")?;
        let value = self.number(node, "value")?;
        Some(if self.flag(node, "random", false) {
            Pause::Random(value)
        } else {
            Pause::Fixed(value)
        })
    }
}
