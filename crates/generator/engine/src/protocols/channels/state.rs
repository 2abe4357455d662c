//! State of a connection that speaks a protocol of channels.

mod topics;

use plan::{ChannelVerb, Pc, Protocol as ChannelProtocol};
use topics::Rejoin;

use crate::channels::{has_topics, is_answered, is_confirmed};
use crate::conn::background::{Background, NEVER};
use crate::protocols::mqtt::client::Mqtt;
use crate::protocols::websocket::deflate::Compression;
use crate::protocols::websocket::pauses::ReconnectState;
pub(crate) use topics::{Attempt, Topic};

/// In place of a number: not an answer is awaited but the news that a topic was joined.
pub(crate) const BY_TOPIC: u32 = 0;

/// Numbers of a message.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// The message's own number.
    pub(crate) number: u32,
    /// That of the message which joined its topic.
    pub(crate) joined_by: u32,
    /// An attempt to join the topic again that was in flight, and is of no more use.
    pub(crate) given_up: Option<(Pc, Attempt)>,
}

/// Why a message is not sent now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// The message's topic is about to be joined again.
    Later,
    /// The server has ended what it would end.
    Needless,
    /// It cannot be sent; this says why.
    Impossible(String),
}

/// State of a connection that speaks one of the protocols.
#[derive(Debug)]
pub(crate) struct Channels {
    /// When something of the below is next due.
    pub(crate) background: Background,
    /// When the next heartbeat is due, or silence has lasted too long.
    pub(crate) beat_ns: u64,
    /// When our next ping is due that the server does not answer.
    pub(crate) ping_ns: u64,
    pub(crate) protocol: ChannelProtocol,
    /// Compression of our messages, if that was agreed on.
    pub(crate) compression: Option<Compression>,
    /// How long the server may be silent.
    pub(crate) silence_ns: Option<u64>,
    /// Numbers given so far.
    pub(crate) numbers: u32,
    /// The heartbeat that was not answered yet.
    pub(crate) beat: Option<u32>,
    /// The operation in flight waits for this number's answer; or, with 0, for its topic to be joined.
    pub(crate) awaited: Option<u32>,
    /// The number of the message that joined the topic of the last message.
    pub(crate) concerns: u32,
    /// The step in flight has not sent its message: its topic is about to be joined again.
    pub(crate) deferred: bool,
    /// Binary messages that are still to come and belong to one before.
    pub(crate) attachments: u32,
    /// At the end what was joined last, or is being joined.
    pub(crate) topics: Vec<Topic>,
    /// Only if it speaks MQTT.
    pub(crate) mqtt: Option<Box<Mqtt>>,
    /// Only if it reconnects.
    pub(crate) reconnect: Option<Box<ReconnectState>>,
}

impl Channels {
    pub(crate) fn new(protocol: ChannelProtocol, pc: Pc) -> Channels {
        Channels {
            background: Background::new(pc),
            beat_ns: NEVER,
            ping_ns: NEVER,
            protocol,
            compression: None,
            silence_ns: None,
            numbers: 0,
            beat: None,
            awaited: None,
            concerns: 0,
            deferred: false,
            attachments: 0,
            topics: Vec::new(),
            mqtt: None,
            reconnect: None,
        }
    }

    /// True if it is MQTT without a WebSocket.
    pub(crate) fn is_bare(&self) -> bool {
        self.mqtt.as_ref().is_some_and(|mqtt| mqtt.bare)
    }

    /// The server has kept the session while the connection was lost, with all that it is subscribed to.
    pub(crate) fn continues(&mut self) -> bool {
        let continues = self.mqtt.as_ref().is_some_and(|mqtt| mqtt.continued);
        if continues {
            self.topics.iter_mut().for_each(|topic| topic.open = true);
        }
        continues
    }

    /// True from its loss until it can be used again.
    pub(crate) fn is_lost(&self) -> bool {
        self.reconnect.as_ref().is_some_and(|own| own.lost)
    }

    /// The connection is lost, and will reconnect: no topic is open until then.
    pub(crate) fn suspend(&mut self) {
        self.beat_ns = NEVER;
        self.ping_ns = NEVER;
        self.beat = None;
        self.awaited = None;
        self.silence_ns = None;
        for topic in &mut self.topics {
            topic.open = false;
        }
        if let Some(reconnect) = &mut self.reconnect {
            reconnect.lost = true;
        }
    }

    /// Before a new connection.
    pub(crate) fn reset(&mut self) {
        self.compression = None;
        self.attachments = 0;
        if let Some(mqtt) = &mut self.mqtt {
            mqtt.part.clear();
        }
    }

    /// A number that was not given before.
    pub(crate) fn number(&mut self) -> u32 {
        self.numbers = self.numbers.wrapping_add(1);
        self.numbers
    }

    /// When a heartbeat, a ping, the end of silence, a rejoin or an attempt to reconnect is next due.
    pub(crate) fn due_ns(&self) -> u64 {
        if self.is_lost() {
            return self.background.due_ns;
        }
        let rejoins = self.topics.iter().map(Topic::due_ns);
        rejoins.fold(self.beat_ns.min(self.ping_ns), u64::min)
    }

    /// Index of the topic; if the server states the number that joined it, that one must be the
    /// last: a message about an earlier one is out of date.
    pub(crate) fn place(&self, topic: &[u8], joined_by: Option<u32>) -> Option<usize> {
        let mut topics = self.topics.iter();
        topics.position(|own| {
            *own.name == *topic && joined_by.is_none_or(|number| number == own.joined_by)
        })
    }

    /// The topic that an attempt in flight joins again with this number.
    pub(crate) fn rejoining(&self, number: u32) -> Option<usize> {
        let mut topics = self.topics.iter();
        topics.position(|own| own.joined_by == number && own.is_rejoining())
    }

    /// Forgets a topic. Returns the attempt to join it again that was in flight.
    pub(crate) fn forget(&mut self, topic: &[u8]) -> Option<(Pc, Attempt)> {
        let own = self.topics.remove(self.place(topic, None)?);
        Some((own.pc, own.attempt()?))
    }

    /// True if the server has ended all topics that the session joined: no message comes any more.
    pub(crate) fn is_deserted(&self) -> bool {
        !self.topics.is_empty() && !self.topics.iter().any(Topic::lives)
    }

    /// The numbers of a message that is sent now. Remembers what answers it. `pc` is the step that sends
    /// it.
    pub(crate) fn next_numbers(
        &mut self,
        verb: ChannelVerb,
        pc: Pc,
        topic: &[u8],
        wants_answer: bool,
    ) -> Result<Numbers, Unsent> {
        self.awaited = None;
        let reached = match verb {
            ChannelVerb::Join if self.is_lost() => return Err(Unsent::Later),
            ChannelVerb::Join => None,
            _ if !has_topics(self.protocol) => match self.is_lost() {
                true => return Err(Unsent::Later),
                false => None,
            },
            ChannelVerb::Push | ChannelVerb::Leave => Some(self.reach(verb, topic)?),
        };
        let number = self.number();
        let joined_by = reached.unwrap_or(number);
        Ok(self.note(verb, pc, topic, number, joined_by, wants_answer))
    }

    /// Remembers what answers a message that is sent with these numbers: its own, and that of the message which joined
    /// its topic.
    pub(crate) fn note(
        &mut self,
        verb: ChannelVerb,
        pc: Pc,
        topic: &[u8],
        number: u32,
        joined_by: u32,
        wants_answer: bool,
    ) -> Numbers {
        let given_up = match verb {
            ChannelVerb::Push => None,
            ChannelVerb::Join | ChannelVerb::Leave => self.forget(topic),
        };
        if verb == ChannelVerb::Join {
            self.topics.push(Topic {
                name: topic.into(),
                joined_by,
                pc,
                open: true,
                recoverable: false,
                rejoin: None,
            });
        }
        self.concerns = joined_by;
        self.awaited = match verb {
            _ if !wants_answer => None,
            verb if is_answered(self.protocol, verb) => Some(number),
            ChannelVerb::Join if is_confirmed(self.protocol) => Some(BY_TOPIC),
            // What answers, if anything does, is known by its content.
            ChannelVerb::Join | ChannelVerb::Push | ChannelVerb::Leave => None,
        };
        Numbers { number, joined_by, given_up }
    }

    /// The topic that is being joined may be joined again, with this payload.
    pub(crate) fn rejoin_last(&mut self, payload: &[u8]) {
        if let Some(own) = self.topics.last_mut() {
            own.rejoin = Some(Box::new(Rejoin::new(payload)));
        }
    }

    /// True if the server keeps what the topic misses while the connection is lost.
    pub(crate) fn is_recoverable(&self, topic: &[u8]) -> bool {
        self.protocol == ChannelProtocol::SocketIo
            && self.topics.iter().any(|own| own.recoverable && *own.name == *topic)
    }

    /// The topic was joined: this is the name of its session, a JSON string, if the server keeps one.
    pub(crate) fn note_session(&mut self, topic: &[u8], session: Option<&[u8]>) {
        let Some(place) = self.place(topic, None) else {
            return;
        };
        let own = &mut self.topics[place];
        own.recoverable = session.is_some();
        if let Some(rejoin) = &mut own.rejoin {
            rejoin.note_session(session);
        }
    }

    /// A message of the topic came, which has this offset in the session.
    pub(crate) fn note_offset(&mut self, topic: &[u8], offset: &[u8]) {
        if let Some(place) = self.place(topic, None)
            && let Some(rejoin) = &mut self.topics[place].rejoin
        {
            rejoin.note_offset(offset);
        }
    }

    /// The number of the message that joined the topic to which something is sent.
    fn reach(&mut self, verb: ChannelVerb, topic: &[u8]) -> Result<u32, Unsent> {
        let name = String::from_utf8_lossy(topic);
        let Some(place) = self.place(topic, None) else {
            // What is over is forgotten.
            if verb == ChannelVerb::Leave && self.protocol == ChannelProtocol::GraphQl {
                return Err(Unsent::Needless);
            }
            return Err(Unsent::Impossible(format!("{name:?} is not joined")));
        };
        let own = &self.topics[place];
        if own.open || (verb == ChannelVerb::Leave && own.is_rejoining()) {
            return Ok(own.joined_by);
        }
        if verb == ChannelVerb::Leave {
            self.topics.remove(place);
            return Err(Unsent::Needless);
        }
        if own.rejoin.is_some() {
            return Err(Unsent::Later);
        }
        let why = format!("the server has ended {name:?}, so that nothing can be sent to it");
        Err(Unsent::Impossible(why))
    }
}
