//! Ads that were served, for the events that follow: the last ones.

use super::request_error::RequestError;
use super::step::Step;

/// An ad that was served to somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) id: u64,
    pub(super) ad: u32,
    /// The publisher's key.
    pub(super) publisher: std::sync::Arc<str>,
    /// As the publisher calls its user; may be empty.
    pub(super) user: Box<str>,
    /// How far it came.
    pub(super) step: Step,
}

impl Offer {
    /// Whether it is to be taken this step further now: false where it was, which is the same event once
    /// more. While it is being taken one further, nobody knows of that step and of the next.
    pub(super) fn is_next(&self, to: Step, is_pending: bool) -> Result<bool, RequestError> {
        match (to as usize).saturating_sub(self.step as usize) {
            0 => Ok(false),
            1 if !is_pending => Ok(true),
            1 | 2 if is_pending => Err(RequestError::Pending),
            _ => Err(RequestError::TooEarly {
                wanted: to.before().unwrap_or(Step::Served),
                found: self.step,
            }),
        }
    }
}

/// One attempt to take an offer a step further: a number that no other change of any process has. Zero is no
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Change(pub(super) u64);

impl Change {
    pub(super) fn is_somebody(self) -> bool {
        self != Change::default()
    }
}

/// An offer, and who is taking it a step further: that it came there is known when it is recorded.
#[derive(Debug, Clone)]
struct OfferEntry {
    offer: Offer,
    pending: Change,
}

/// The last offers, each at its number modulo how many are kept.
#[derive(Debug)]
pub(super) struct Offers {
    kept: Vec<Option<OfferEntry>>,
    max: usize,
    changes: u64,
}

impl Offers {
    pub(super) fn new(max: usize) -> Offers {
        Offers { kept: Vec::new(), max, changes: 0 }
    }

    fn place(&self, id: u64) -> usize {
        (id % self.max as u64) as usize
    }

    /// Keeps an offer, in the place of the oldest where all places are taken.
    pub(super) fn put(&mut self, offer: Offer) {
        let place = self.place(offer.id);
        if place >= self.kept.len() {
            self.kept.resize(place + 1, None);
        }
        self.kept[place] = Some(OfferEntry { offer, pending: Change::default() });
    }

    /// Keeps an offer of before again, unless it is kept already.
    pub(super) fn put_back(&mut self, offer: &Offer) {
        if self.get(offer.id).is_none() {
            self.put(offer.clone());
        }
    }

    fn find(&mut self, id: u64) -> Option<&mut OfferEntry> {
        let place = self.place(id);
        let kept = self.kept.get_mut(place)?.as_mut();
        kept.filter(|kept| kept.offer.id == id)
    }

    pub(super) fn get(&mut self, id: u64) -> Option<&Offer> {
        self.find(id).map(|kept| &kept.offer)
    }

    /// Begins to take an offer a step further, and returns the change if that is new, and not the
    /// same event once more. Until that is [settled](Self::settle) nobody else takes it any further.
    pub(super) fn advance(
        &mut self,
        id: u64,
        to: Step,
    ) -> Result<(Offer, Option<Change>), RequestError> {
        self.changes += 1;
        let change = Change(self.changes);
        let kept = self.find(id).ok_or(RequestError::NoOffer)?;
        let mut offer = kept.offer.clone();
        if !offer.is_next(to, kept.pending.is_somebody())? {
            return Ok((offer, None));
        }
        kept.pending = change;
        offer.step = to;
        Ok((offer, Some(change)))
    }

    /// Ends what [`advance`](Self::advance) began: the offer came that step further if it is recorded, and
    /// else stays where it was.
    pub(super) fn settle(&mut self, id: u64, to: Step, change: Change, is_recorded: bool) {
        // One that was forgotten meanwhile and found again is nobody's, or another's.
        if let Some(kept) = self.find(id).filter(|kept| kept.pending == change) {
            kept.pending = Change::default();
            if is_recorded {
                kept.offer.step = to;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(id: u64) -> Offer {
        Offer { id, ad: 1, publisher: "p".into(), user: "u".into(), step: Step::Served }
    }

    #[test]
    fn steps_follow_each_other_and_count_once() {
        let mut offers = Offers::new(4);
        offers.put(offer(9));
        assert!(matches!(
            offers.advance(9, Step::Redeem),
            Err(RequestError::TooEarly { wanted: Step::Impression, found: Step::Served })
        ));
        for step in [Step::Impression, Step::Redeem, Step::Click, Step::Convert] {
            let (offer, change) = offers.advance(9, step).unwrap();
            assert_eq!(offer.step, step);
            offers.settle(9, step, change.unwrap(), true);
            let (offer, again) = offers.advance(9, step).unwrap();
            assert_eq!((offer.step, again), (step, None));
        }
    }

    #[test]
    fn a_step_is_reported_after_it_is_recorded() {
        let mut offers = Offers::new(4);
        offers.put(offer(9));
        let (_, change) = offers.advance(9, Step::Impression).unwrap();
        // The same once more, and the next one, depend on how that ends; a later one comes too early.
        for step in [Step::Impression, Step::Redeem] {
            assert_eq!(offers.advance(9, step), Err(RequestError::Pending));
        }
        assert!(matches!(offers.advance(9, Step::Click), Err(RequestError::TooEarly { .. })));
        assert_eq!(offers.get(9).unwrap().step, Step::Served);
        // What was refused did not happen, and happens when it is requested again.
        offers.settle(9, Step::Impression, change.unwrap(), false);
        assert!(matches!(offers.advance(9, Step::Redeem), Err(RequestError::TooEarly { .. })));
        let (_, again) = offers.advance(9, Step::Impression).unwrap();
        // Whoever was refused settles no more.
        offers.settle(9, Step::Impression, change.unwrap(), true);
        assert_eq!(offers.get(9).unwrap().step, Step::Served);
        offers.settle(9, Step::Impression, again.unwrap(), true);
        assert_eq!(offers.get(9).unwrap().step, Step::Impression);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut offers = Offers::new(3);
        (0..5).for_each(|id| offers.put(offer(id)));
        assert!(matches!(offers.advance(1, Step::Impression), Err(RequestError::NoOffer)));
        for id in 2..5 {
            assert!(offers.advance(id, Step::Impression).is_ok());
        }
        assert!(matches!(offers.advance(u64::MAX, Step::Impression), Err(RequestError::NoOffer)));
    }
}
