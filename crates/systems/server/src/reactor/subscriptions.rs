//! The channels that a connection gets: mostly one, which then costs nothing besides the row.

/// A place among a channel's subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) channel: u32,
    pub(crate) place: u32,
}

/// All subscriptions of a connection, at most one in each channel.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "the vector's own 24 bytes would stand in every row")]
pub(crate) enum Subscriptions {
    #[default]
    None,
    One(Subscription),
    Many(Box<Vec<Subscription>>),
}

impl Subscriptions {
    pub(crate) fn as_slice(&self) -> &[Subscription] {
        match self {
            Self::None => &[],
            Self::One(subscription) => std::slice::from_ref(subscription),
            Self::Many(subscriptions) => subscriptions,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Subscription] {
        match self {
            Self::None => &mut [],
            Self::One(subscription) => std::slice::from_mut(subscription),
            Self::Many(subscriptions) => subscriptions,
        }
    }

    /// Whether there is one in `channel`.
    pub(crate) fn has(&self, channel: u32) -> bool {
        self.as_slice().iter().any(|subscription| subscription.channel == channel)
    }

    /// Adds a subscription in a channel where there is none.
    pub(crate) fn add(&mut self, subscription: Subscription) {
        debug_assert!(!self.has(subscription.channel), "one subscription a channel");
        *self = match std::mem::take(self) {
            Self::None => Self::One(subscription),
            Self::One(first) => Self::Many(Box::new(vec![first, subscription])),
            Self::Many(mut subscriptions) => {
                subscriptions.push(subscription);
                Self::Many(subscriptions)
            }
        };
    }

    /// The subscription in `channel` now has another place.
    pub(crate) fn moved(&mut self, moved: Subscription) {
        let mut subscriptions = self.as_mut_slice().iter_mut();
        if let Some(subscription) =
            subscriptions.find(|subscription| subscription.channel == moved.channel)
        {
            *subscription = moved;
        }
    }

    /// Takes out the subscription in `channel`.
    pub(crate) fn remove(&mut self, channel: u32) -> Option<Subscription> {
        let at = self.as_slice().iter().position(|subscription| subscription.channel == channel)?;
        match self {
            Self::Many(subscriptions) if subscriptions.len() > 1 => {
                Some(subscriptions.swap_remove(at))
            }
            _ => self.pop(),
        }
    }

    /// Takes any subscription out.
    pub(crate) fn pop(&mut self) -> Option<Subscription> {
        match self {
            Self::Many(subscriptions) if subscriptions.len() > 1 => subscriptions.pop(),
            _ => std::mem::take(self).as_slice().first().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscription(channel: u32, place: u32) -> Subscription {
        Subscription { channel, place }
    }

    #[test]
    fn seats_come_and_go() {
        let mut subscriptions = Subscriptions::default();
        assert_eq!(subscriptions.remove(1), None);
        for channel in 1..=3 {
            subscriptions.add(subscription(channel, 10 * channel));
        }
        subscriptions.moved(subscription(2, 7));
        subscriptions.moved(subscription(9, 7));
        assert_eq!(subscriptions.remove(2), Some(subscription(2, 7)));
        assert_eq!(subscriptions.remove(2), None);
        assert_eq!(subscriptions.remove(1), Some(subscription(1, 10)));
        assert!(subscriptions.has(3) && !subscriptions.has(1));
        assert_eq!(subscriptions.pop(), Some(subscription(3, 30)));
        assert_eq!(subscriptions, Subscriptions::None);
        assert_eq!(subscriptions.pop(), None);
    }
}
