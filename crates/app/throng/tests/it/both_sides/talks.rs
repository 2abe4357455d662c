//! How a transport's texts say what the client wants, and what the server answers.

use serde_json::{Value, json};

/// A transport of messages, by its name in the scenario.
pub(super) struct Talk {
    name: &'static str,
}

/// What the client said.
pub(super) enum Heard {
    /// Wants an answer, under this number.
    Say(String),
    /// Wants none.
    Pad,
    /// Wants all numbered messages, and then an answer.
    Go(String),
    /// Belongs to the protocol, and is answered by this text.
    Other(Option<String>),
}

impl Talk {
    pub(super) fn new(name: &'static str) -> Talk {
        Talk { name }
    }

    pub(super) fn greeting(&self) -> Option<&'static str> {
        match self.name {
            "actioncable" => Some(r#"{"type":"welcome"}"#),
            "socketio" => Some(r#"0{"sid":"s","pingInterval":25000,"pingTimeout":20000}"#),
            _ => None,
        }
    }

    pub(super) fn hear(&self, text: &str) -> Heard {
        match self.name {
            "phoenix" => phoenix(text),
            "actioncable" => actioncable(text),
            "socketio" => socketio(text),
            _ => meaning(parse(text)["do"].as_str().unwrap(), String::new()),
        }
    }

    /// A numbered message.
    pub(super) fn push(&self, number: u64) -> String {
        self.message(&json!({ "by": self.name, "seq": number }))
    }

    /// What answers a message of this kind with this number.
    pub(super) fn answer(&self, kind: &str, number: &str) -> String {
        match self.name {
            "phoenix" => reply(number),
            "socketio" => format!("43{number}[]"),
            _ => self.message(&json!({ "of": kind })),
        }
    }

    fn message(&self, payload: &Value) -> String {
        match self.name {
            "phoenix" => json!([null, null, "t", "said", payload]).to_string(),
            "actioncable" => json!({ "identifier": IDENTIFIER, "message": payload }).to_string(),
            "socketio" => format!("42{}", json!(["said", payload])),
            _ => payload.to_string(),
        }
    }
}

/// The channel of ActionCable.
const IDENTIFIER: &str = r#"{"channel":"t"}"#;

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn meaning(verb: &str, number: String) -> Heard {
    match verb {
        "say" => Heard::Say(number),
        "pad" => Heard::Pad,
        "go" => Heard::Go(number),
        _ => panic!("no such message: {verb}"),
    }
}

fn reply(number: &str) -> String {
    json!(["1", number, "t", "phx_reply", { "status": "ok", "response": {} }]).to_string()
}

fn phoenix(text: &str) -> Heard {
    let parts = parse(text);
    let number = parts[1].as_str().unwrap();
    let event = parts[3].as_str().unwrap();
    match event {
        "phx_join" | "phx_leave" | "heartbeat" => Heard::Other(Some(reply(number))),
        event => meaning(event, number.to_owned()),
    }
}

fn actioncable(text: &str) -> Heard {
    let command = parse(text);
    match command["command"].as_str().unwrap() {
        "subscribe" => {
            let confirmed = json!({ "identifier": IDENTIFIER, "type": "confirm_subscription" });
            assert_eq!(command["identifier"], IDENTIFIER);
            Heard::Other(Some(confirmed.to_string()))
        }
        "unsubscribe" => Heard::Other(None),
        _ => {
            let data = parse(command["data"].as_str().unwrap());
            meaning(data["action"].as_str().unwrap(), String::new())
        }
    }
}

fn socketio(text: &str) -> Heard {
    let Some(packet) = text.strip_prefix("42") else {
        let joined = text.starts_with("40").then(|| r#"40{"sid":"t"}"#.to_owned());
        return Heard::Other(joined);
    };
    let digits = packet.find('[').unwrap();
    let event = parse(&packet[digits..]);
    meaning(event[0].as_str().unwrap(), packet[..digits].to_owned())
}
