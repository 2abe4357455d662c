//! State of an MQTT connection besides its topics.

use plan::expr::{Context, Template};
use plan::{ChannelVerb, Delivery, MqttAuthentication, MqttOpen};
use proto::mqtt::{
    Authentication, Client, Connect, MessageProperties, Publish, Qos, Refusal, Subscribe, Version,
    Will,
};
use record::Outcome;

const SECOND_NS: u64 = 1_000_000_000;

/// The client, and when it has to send something.
#[derive(Debug)]
pub(crate) struct Mqtt {
    pub(crate) client: Client,
    /// There is no WebSocket.
    pub(crate) bare: bool,
    /// The server had a session of this client.
    pub(crate) continued: bool,
    /// How many parts of its authentication were sent besides the first.
    answers_count: u16,
    /// Longest time without a packet of the client; 0: any.
    pub(crate) keep_alive_ns: u64,
    /// When the last one was sent.
    pub(crate) sent_ns: u64,
    /// How the last connection was lost while a step waited for the acknowledgement of its message.
    pub(crate) lost: Option<Box<(Outcome, String)>>,
    /// The beginning of a packet that a message of a WebSocket has divided.
    pub(crate) part: Vec<u8>,
}

impl Mqtt {
    /// `bytes_max`: of the longest packet that is read.
    pub(crate) fn new(five: bool, keep_alive_s: u16, bare: bool, bytes_max: usize) -> Mqtt {
        let version = if five { Version::V5 } else { Version::V3 };
        Mqtt {
            client: Client::new(version, bytes_max),
            bare,
            continued: false,
            answers_count: 0,
            keep_alive_ns: u64::from(keep_alive_s) * SECOND_NS,
            sent_ns: 0,
            lost: None,
            part: Vec::new(),
        }
    }

    /// The server has accepted the client.
    pub(crate) fn accepted(&mut self, session_present: bool, keep_alive_s: Option<u16>) {
        self.continued = session_present;
        if let Some(seconds) = keep_alive_s {
            self.keep_alive_ns = u64::from(seconds) * SECOND_NS;
        }
    }

    /// Appends what introduces the client.
    pub(crate) fn introduce(
        &mut self,
        open: &MqttOpen,
        keep_alive_s: u16,
        scope: &mut impl Context,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.keep_alive_ns = u64::from(keep_alive_s) * SECOND_NS;
        self.answers_count = 0;
        let mut text = |template: &Template| {
            let mut text = Vec::new();
            let rendered = template.render(scope, &mut text);
            rendered.map(|()| text).map_err(|error| error.to_string())
        };
        let client_id = text(&open.client_id)?;
        let user = open.user.as_ref().map(&mut text).transpose()?;
        let password = open.password.as_ref().map(&mut text).transpose()?;
        let topic = open.will.as_ref().map(|will| text(&will.topic));
        let topic = topic.transpose()?.unwrap_or_default();
        let authentication = open.authentication.as_deref();
        let data = authentication.and_then(|own| own.data.first());
        let data = data.map(&mut text).transpose()?.unwrap_or_default();
        let mut payload = Vec::new();
        if let Some(will) = &open.will {
            let rendered = will.payload.render(scope, &mut payload);
            rendered.map_err(|error| error.to_string())?;
        }
        let will = open.will.as_ref().map(|will| Will {
            topic: &topic,
            payload: &payload,
            qos: qos(will.qos),
            retain: will.retain,
            delay_s: will.delay_s,
        });
        let connect = Connect {
            client_id: &client_id,
            user: user.as_deref(),
            password: password.as_deref(),
            keep_alive_s,
            clean: open.clean,
            session_expiry_s: open.session_expiry_s,
            will,
            topic_aliases: open.topic_aliases,
            authentication: authentication
                .map(|own| Authentication { method: own.method.as_bytes(), data: &data }),
        };
        let written = self.client.connect(&connect, out);
        written.map_err(|error| error.to_string())
    }

    /// Appends the next part of the authentication, which the server wants. The error says why there is none.
    pub(crate) fn answer(
        &mut self,
        own: &MqttAuthentication,
        scope: &mut impl Context,
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        self.answers_count = self.answers_count.saturating_add(1);
        let part = own.data.get(usize::from(self.answers_count)).ok_or_else(|| {
            let count = own.data.len();
            format!("the server wants further data of `{}`: `data` has {count}", own.method)
        })?;
        let mut data = Vec::new();
        part.render(scope, &mut data).map_err(|error| error.to_string())?;
        let next = Authentication { method: own.method.as_bytes(), data: &data };
        self.client.answer(&next, out).map_err(|error| error.to_string())
    }

    /// Appends the packet of a step: of a message with one topic, else with one filter or more. Returns its identifier; 0:
    /// nothing acknowledges it.
    pub(crate) fn write(
        &mut self,
        verb: ChannelVerb,
        delivery: &Delivery,
        topics: &[&[u8]],
        payload: &[u8],
        properties: &[(&[u8], &[u8])],
        about: MessageProperties<'_>,
        out: &mut Vec<u8>,
    ) -> Result<u16, Refusal> {
        match verb {
            ChannelVerb::Join => {
                let subscribe = Subscribe {
                    filters: topics,
                    qos: qos(delivery.qos),
                    no_local: delivery.no_local,
                    retain_handling: delivery.retain_handling,
                    id: delivery.id,
                };
                self.client.subscribe(&subscribe, out)
            }
            ChannelVerb::Leave => self.client.unsubscribe(topics, out),
            ChannelVerb::Push => {
                let publish = Publish {
                    topic: topics.first().copied().unwrap_or_default(),
                    payload,
                    qos: qos(delivery.qos),
                    retain: delivery.retain,
                    properties,
                    about,
                };
                self.client.publish(&publish, out)
            }
        }
    }
}

/// The plan has numbers up to 2.
fn qos(number: u8) -> Qos {
    Qos::new(number).unwrap_or(Qos::ExactlyOnce)
}
