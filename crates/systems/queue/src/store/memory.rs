//! Queues in memory, by the rules of the stored functions. They end with the process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use super::StoreError;
use crate::clock::wall_us;
use crate::jobs::Outcome;
use crate::options::Fill;
use crate::wire::{Message, Operation, Request, Writer};

/// Most bytes that messages take; further sends are refused.
const BYTES_MAX: usize = 1 << 30;
/// Approximate size of a message beside its text, in bytes.
const MESSAGE_BYTES: usize = 200;
/// Most queues; further ones are refused.
const QUEUES_MAX: usize = 1_000_000;
/// Fills give messages to this number of senders in turn.
const FILL_SENDERS: u64 = 100;

/// All queues and messages.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The numbers that were given last.
    queue: i32,
    message: i64,
    /// The latest arrival: the clock may be set back, the order is not.
    arrival_us: u64,
    /// Messages of a queue by their number, which is the order of their arrival.
    queues: BTreeMap<i32, BTreeMap<i64, StoredMessage>>,
    /// Numbers and queues of a sender's messages.
    senders: HashMap<i32, BTreeMap<i64, i32>>,
    /// Messages by receiver and queue.
    receivers: BTreeMap<(i32, i32), u64>,
    bytes: usize,
}

#[derive(Debug)]
struct StoredMessage {
    sender: i32,
    receiver: Option<i32>,
    arrival_us: u64,
    text: String,
}

impl Memory {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between its changes can panic.
        self.0.lock().expect("no thread panicked with the lock")
    }

    /// Replaces all queues and messages.
    pub(crate) fn fill(&self, fill: Fill) -> Result<(), StoreError> {
        let mut state = self.state();
        *state = State::default();
        for _ in 0..fill.queues {
            state.create()?;
        }
        for number in 0..fill.messages {
            let turn = |count: u64| i32::try_from(1 + number % count.max(1)).unwrap_or(i32::MAX);
            let round = number / u64::from(fill.queues);
            let receiver = (fill.receivers > 0)
                .then(|| i32::try_from(1 + round % u64::from(fill.receivers)).unwrap_or(i32::MAX));
            let digits = format!("{number:032x}");
            let text = digits.bytes().cycle().take(fill.length).map(char::from);
            state.send(turn(fill.queues.into()), turn(FILL_SENDERS), receiver, text.collect())?;
        }
        Ok(())
    }

    /// Carries out a request and writes the answer.
    ///
    /// # Errors
    /// When it was not carried out.
    pub(crate) fn carry_out(
        &self,
        request: &Request,
        texts_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, StoreError> {
        let mut state = self.state();
        match request {
            Request::CreateQueue { .. } => {
                let queue = state.create()?;
                let mut answer = Writer::answer(out, Operation::CreateQueue);
                answer.id(queue);
                answer.finish();
            }
            Request::DeleteQueue { queue } => {
                let count = state.delete(*queue)?;
                let mut answer = Writer::answer(out, Operation::DeleteQueue);
                answer.u32(count.try_into().unwrap_or(u32::MAX));
                answer.finish();
            }
            Request::Send { queue, sender, receiver, text } => {
                let id = state.send(*queue, *sender, *receiver, text.clone())?;
                let mut answer = Writer::answer(out, Operation::Send);
                answer.u64(id.unsigned_abs());
                answer.finish();
            }
            Request::Peek { queue, receiver } => {
                let oldest = state.oldest(*queue, *receiver)?;
                return Ok(one(oldest, Operation::Peek, out));
            }
            Request::Pop { queue, receiver, .. } => {
                let oldest = state.oldest(*queue, *receiver)?;
                let id = oldest.as_ref().map(|message| message.id);
                let outcome = one(oldest, Operation::Pop, out);
                if let Some(id) = id {
                    state.remove(*queue, id);
                }
                return Ok(outcome);
            }
            Request::Queues { receiver, limit } => state.waiting(*receiver, *limit, out),
            Request::Messages { sender, receiver, limit } => {
                state.sent(*sender, *receiver, *limit, texts_max, out);
            }
        }
        Ok(Outcome::Done)
    }
}

fn one(found: Option<Message<'_>>, operation: Operation, out: &mut Vec<u8>) -> Outcome {
    let mut answer = Writer::answer(out, operation);
    answer.message(&found.unwrap_or(Message::NONE));
    answer.finish();
    match found {
        Some(_) => Outcome::Done,
        None => Outcome::Nothing,
    }
}

fn is_for(message: &StoredMessage, receiver: Option<i32>) -> bool {
    message.receiver.is_none() || message.receiver == receiver
}

fn as_message(id: i64, queue: i32, message: &StoredMessage) -> Message<'_> {
    Message {
        id,
        queue,
        sender: message.sender,
        receiver: message.receiver,
        arrival_us: message.arrival_us,
        text: &message.text,
    }
}

impl State {
    fn create(&mut self) -> Result<i32, StoreError> {
        let full = || StoreError::Refused(format!("memory has {QUEUES_MAX} queues, the maximum"));
        let next = self.queue.checked_add(1).ok_or_else(full)?;
        if self.queues.len() >= QUEUES_MAX {
            return Err(full());
        }
        self.queue = next;
        self.queues.insert(next, BTreeMap::new());
        Ok(next)
    }

    fn delete(&mut self, queue: i32) -> Result<usize, StoreError> {
        let messages = self.queues.get(&queue).ok_or(StoreError::NoQueue)?;
        let ids: Vec<i64> = messages.keys().copied().collect();
        for &id in &ids {
            self.remove(queue, id);
        }
        self.queues.remove(&queue);
        Ok(ids.len())
    }

    fn send(
        &mut self,
        queue: i32,
        sender: i32,
        receiver: Option<i32>,
        text: String,
    ) -> Result<i64, StoreError> {
        let bytes = text.len() + MESSAGE_BYTES;
        let messages = self.queues.get_mut(&queue).ok_or(StoreError::NoQueue)?;
        if self.bytes + bytes > BYTES_MAX {
            return Err(StoreError::Refused(format!(
                "messages in memory have {BYTES_MAX} bytes, the maximum"
            )));
        }
        self.bytes += bytes;
        self.message += 1;
        self.arrival_us = wall_us().max(self.arrival_us + 1);
        let kept = StoredMessage { sender, receiver, arrival_us: self.arrival_us, text };
        messages.insert(self.message, kept);
        self.senders.entry(sender).or_default().insert(self.message, queue);
        if let Some(receiver) = receiver {
            *self.receivers.entry((receiver, queue)).or_default() += 1;
        }
        Ok(self.message)
    }

    fn oldest(&self, queue: i32, receiver: Option<i32>) -> Result<Option<Message<'_>>, StoreError> {
        let messages = self.queues.get(&queue).ok_or(StoreError::NoQueue)?;
        let mut own = messages.iter().filter(|(_, kept)| is_for(kept, receiver));
        Ok(own.next().map(|(&id, kept)| as_message(id, queue, kept)))
    }

    fn remove(&mut self, queue: i32, id: i64) {
        let messages = self.queues.get_mut(&queue);
        let Some(kept) = messages.and_then(|messages| messages.remove(&id)) else {
            return;
        };
        self.bytes -= kept.text.len() + MESSAGE_BYTES;
        if let Some(sent) = self.senders.get_mut(&kept.sender) {
            sent.remove(&id);
            if sent.is_empty() {
                self.senders.remove(&kept.sender);
            }
        }
        let Some(receiver) = kept.receiver else {
            return;
        };
        if let Some(count) = self.receivers.get_mut(&(receiver, queue)) {
            *count -= 1;
            if *count == 0 {
                self.receivers.remove(&(receiver, queue));
            }
        }
    }

    fn waiting(&self, receiver: i32, limit: u32, out: &mut Vec<u8>) {
        let own = self.receivers.range((receiver, 0)..=(receiver, i32::MAX));
        let queues: Vec<i32> = own.map(|(&(_, queue), _)| queue).take(limit as usize).collect();
        let mut answer = Writer::answer(out, Operation::Queues);
        answer.u32(queues.len().try_into().unwrap_or(u32::MAX));
        for queue in queues {
            answer.id(queue);
        }
        answer.finish();
    }

    fn sent(
        &self,
        sender: i32,
        receiver: Option<i32>,
        limit: u32,
        texts_max: usize,
        out: &mut Vec<u8>,
    ) {
        let mut found = Vec::new();
        let mut sum = 0;
        for (&id, &queue) in self.senders.get(&sender).into_iter().flatten() {
            let Some(kept) = self.queues.get(&queue).and_then(|messages| messages.get(&id)) else {
                continue;
            };
            if !is_for(kept, receiver) {
                continue;
            }
            let is_over = sum > 0 && sum + kept.text.len() > texts_max;
            if found.len() >= limit as usize || is_over {
                break;
            }
            sum += kept.text.len();
            found.push(as_message(id, queue, kept));
        }
        let mut answer = Writer::answer(out, Operation::Messages);
        answer.u32(found.len().try_into().unwrap_or(u32::MAX));
        for message in &found {
            answer.listed(message);
        }
        answer.finish();
    }
}
