//! Topics that are named by numbers: each side's own, as long as the connection lasts (§3.3.2.3.4).

use crate::mqtt::Error;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// Topic aliases of a connection, both ways.
#[derive(Debug)]
pub(crate) struct Aliases {
    /// The most that the client uses, and that the server may use.
    max: u16,
    /// Topics that the client has named; the first one is 1.
    given: Vec<Box<[u8]>>,
    /// Topics that the server has named; `None`: not yet.
    got: Vec<Option<Box<[u8]>>>,
}

/// How a message of the client names its topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TopicName {
    /// By its text alone.
    Plain,
    /// By its text, and by a number from now on.
    First(u16),
    /// By its number alone.
    Known(u16),
}

impl Aliases {
    pub(crate) fn new(max: u16) -> Aliases {
        Aliases { max, given: Vec::new(), got: Vec::new() }
    }

    /// How a message names its topic to a server that takes `server_max` aliases.
    pub(crate) fn name(&self, topic: &[u8], server_max: u16) -> TopicName {
        let next = self.given.len() + 1;
        match self.given.iter().position(|own| **own == *topic) {
            Some(place) => TopicName::Known(place as u16 + 1),
            None if next <= usize::from(self.max.min(server_max)) => TopicName::First(next as u16),
            None => TopicName::Plain,
        }
    }

    /// The message with the next number is sent.
    pub(crate) fn give(&mut self, topic: &[u8]) {
        self.given.push(topic.into());
    }

    /// A message of the server has this number, and this topic, which is empty where the number says it.
    pub(crate) fn take(&mut self, alias: u16, topic: &[u8]) -> Result<(), Error> {
        if alias == 0 || alias > self.max {
            return Err(Error::TopicAlias { alias, max: self.max });
        }
        let place = usize::from(alias) - 1;
        if topic.is_empty() {
            return match self.topic(alias) {
                Some(_) => Ok(()),
                None => Err(Error::Protocol(format!(
                    "the topic alias {alias}, which names no topic yet"
                ))),
            };
        }
        if self.got.len() <= place {
            self.got.resize(place + 1, None);
        }
        self.got[place] = Some(topic.into());
        Ok(())
    }

    /// The topic of a number that the server has given.
    pub(crate) fn topic(&self, alias: u16) -> Option<&[u8]> {
        let place = usize::from(alias).checked_sub(1)?;
        self.got.get(place)?.as_deref()
    }
}
