//! The channels that a connection gets: mostly one, which then costs nothing besides the row.

/// A place in a channel's audience.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) channel: u32,
    pub(crate) place: u32,
}

/// All seats of a connection, at most one in each channel.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::box_collection,
    reason = "the vector's own 24 bytes would stand in every row"
)]
pub(crate) enum Seats {
    #[default]
    None,
    One(Seat),
    Many(Box<Vec<Seat>>),
}

impl Seats {
    pub(crate) fn as_slice(&self) -> &[Seat] {
        match self {
            Self::None => &[],
            Self::One(seat) => std::slice::from_ref(seat),
            Self::Many(seats) => seats,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Seat] {
        match self {
            Self::None => &mut [],
            Self::One(seat) => std::slice::from_mut(seat),
            Self::Many(seats) => seats,
        }
    }

    /// Whether there is one in `channel`.
    pub(crate) fn has(&self, channel: u32) -> bool {
        self.as_slice().iter().any(|seat| seat.channel == channel)
    }

    /// Adds a seat in a channel where there is none.
    pub(crate) fn add(&mut self, seat: Seat) {
        debug_assert!(!self.has(seat.channel), "one seat a channel");
        *self = match std::mem::take(self) {
            Self::None => Self::One(seat),
            Self::One(first) => Self::Many(Box::new(vec![first, seat])),
            Self::Many(mut seats) => {
                seats.push(seat);
                Self::Many(seats)
            }
        };
    }

    /// The seat in `channel` now has another place.
    pub(crate) fn moved(&mut self, moved: Seat) {
        let mut seats = self.as_mut_slice().iter_mut();
        if let Some(seat) = seats.find(|seat| seat.channel == moved.channel) {
            *seat = moved;
        }
    }

    /// Takes out the seat in `channel`.
    pub(crate) fn remove(&mut self, channel: u32) -> Option<Seat> {
        let at = self
            .as_slice()
            .iter()
            .position(|seat| seat.channel == channel)?;
        match self {
            Self::Many(seats) if seats.len() > 1 => Some(seats.swap_remove(at)),
            _ => self.pop(),
        }
    }

    /// Takes any seat out.
    pub(crate) fn pop(&mut self) -> Option<Seat> {
        match self {
            Self::Many(seats) if seats.len() > 1 => seats.pop(),
            _ => std::mem::take(self).as_slice().first().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(channel: u32, place: u32) -> Seat {
        Seat { channel, place }
    }

    #[test]
    fn seats_come_and_go() {
        let mut seats = Seats::default();
        assert_eq!(seats.remove(1), None);
        for channel in 1..=3 {
            seats.add(seat(channel, 10 * channel));
        }
        seats.moved(seat(2, 7));
        seats.moved(seat(9, 7));
        assert_eq!(seats.remove(2), Some(seat(2, 7)));
        assert_eq!(seats.remove(2), None);
        assert_eq!(seats.remove(1), Some(seat(1, 10)));
        assert!(seats.has(3) && !seats.has(1));
        assert_eq!(seats.pop(), Some(seat(3, 30)));
        assert_eq!(seats, Seats::None);
        assert_eq!(seats.pop(), None);
    }
}
