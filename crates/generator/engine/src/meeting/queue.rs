//! Values that some users put and others take, first in, first out. Those who wait for one get it in order of arrival.

use std::collections::VecDeque;

use plan::expr::Value;

use super::line::Line;

/// Texts of the values of a queue have at most this size together, bytes.
pub const QUEUE_BYTES_MAX: usize = 16 << 20;

/// Why a queue takes no value: its limits are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    #[error("it holds {0} values already")]
    Values(u64),
    #[error("its values would have more than {} MiB together", QUEUE_BYTES_MAX >> 20)]
    Bytes,
}

/// A queue of the users of this process.
#[derive(Debug)]
pub(crate) struct Queue {
    values_max: u64,
    values: VecDeque<Value>,
    /// Size of all values.
    bytes: usize,
    /// Nobody waits while there are values.
    line: Line,
}

/// The destination of a value that was put into the queue.
#[derive(Debug, PartialEq)]
pub(crate) enum Destination {
    /// To the user of this number and loop, who waited for it.
    To(u64, usize, Value),
    /// It waits for somebody.
    Kept,
}

impl Queue {
    pub(crate) fn new(values_max: u64) -> Queue {
        Queue { values_max, values: VecDeque::new(), bytes: 0, line: Line::default() }
    }

    /// Puts a value behind the others.
    pub(crate) fn put(&mut self, value: Value) -> Result<Destination, Full> {
        if let Some((number, loop_place)) = self.line.take_first() {
            return Ok(Destination::To(number, loop_place, value));
        }
        if self.values.len() as u64 >= self.values_max {
            return Err(Full::Values(self.values_max));
        }
        let bytes = self.bytes.saturating_add(bytes_of(&value));
        if bytes > QUEUE_BYTES_MAX {
            return Err(Full::Bytes);
        }
        self.bytes = bytes;
        self.values.push_back(value);
        Ok(Destination::Kept)
    }

    /// A value comes back whose receiver has gone meanwhile: it is the next one again.
    pub(crate) fn put_back(&mut self, value: Value) -> Destination {
        if let Some((number, loop_place)) = self.line.take_first() {
            return Destination::To(number, loop_place, value);
        }
        self.bytes = self.bytes.saturating_add(bytes_of(&value));
        self.values.push_front(value);
        Destination::Kept
    }

    /// Takes the first value; or the user of this loop waits, by this number.
    pub(crate) fn take(&mut self, loop_place: usize) -> Result<Value, u64> {
        let value = self.values.pop_front();
        let value = value.ok_or_else(|| self.line.join(loop_place))?;
        self.bytes -= bytes_of(&value);
        Ok(value)
    }

    /// The user waits no longer. False: a value is on its way to it.
    pub(crate) fn leave(&mut self, number: u64) -> bool {
        self.line.leave(number)
    }
}

/// Memory of a value beside its place in the queue.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Number(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Nothing | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_waiting_users_are_served_in_order() {
        let mut queue = Queue::new(10);
        assert_eq!(queue.put(Value::Int(1)), Ok(Destination::Kept));
        assert_eq!(queue.put(Value::Int(2)), Ok(Destination::Kept));
        assert_eq!(queue.take(0), Ok(Value::Int(1)));
        assert_eq!(queue.take(0), Ok(Value::Int(2)));
        let first = queue.take(0).unwrap_err();
        let second = queue.take(1).unwrap_err();
        assert_eq!(queue.put(Value::Int(3)), Ok(Destination::To(first, 0, Value::Int(3))));
        assert!(queue.leave(second));
        assert_eq!(queue.put(Value::Int(4)), Ok(Destination::Kept));
    }

    #[test]
    fn a_full_queue_refuses_and_keeps_what_it_has() {
        let mut queue = Queue::new(2);
        for value in 0..2 {
            assert_eq!(queue.put(Value::Int(value)), Ok(Destination::Kept));
        }
        assert_eq!(queue.put(Value::Int(9)), Err(Full::Values(2)));
        assert_eq!(queue.take(0), Ok(Value::Int(0)));
        assert_eq!(queue.put(Value::Int(2)), Ok(Destination::Kept));
    }

    #[test]
    fn texts_have_a_limit_together() {
        let mut queue = Queue::new(u64::MAX);
        let half = Value::text(&"x".repeat(QUEUE_BYTES_MAX / 2));
        assert_eq!(queue.put(half.clone()), Ok(Destination::Kept));
        assert_eq!(queue.put(half.clone()), Ok(Destination::Kept));
        assert_eq!(queue.put(Value::text("y")), Err(Full::Bytes));
        assert_eq!(queue.put(Value::Int(1)), Ok(Destination::Kept));
        assert_eq!(queue.take(0), Ok(half));
        assert_eq!(queue.put(Value::text("y")), Ok(Destination::Kept));
    }

    #[test]
    fn a_value_that_comes_back_is_the_next_one() {
        let mut queue = Queue::new(1);
        assert_eq!(queue.put(Value::Int(2)), Ok(Destination::Kept));
        assert_eq!(queue.put_back(Value::Int(1)), Destination::Kept);
        assert_eq!(queue.take(0), Ok(Value::Int(1)));
        assert_eq!(queue.take(0), Ok(Value::Int(2)));
        let waits = queue.take(3).unwrap_err();
        assert_eq!(queue.put_back(Value::Int(5)), Destination::To(waits, 3, Value::Int(5)));
    }
}
