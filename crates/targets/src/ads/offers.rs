//! Ads that were served, for the events that follow: the last so many of them.

use super::fault::Fault;

/// What can be done with an ad that was served, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Served,
    Impression,
    Redeem,
    Click,
    Convert,
}

impl Step {
    pub(super) const ALL: [Step; 5] = [
        Step::Served,
        Step::Impression,
        Step::Redeem,
        Step::Click,
        Step::Convert,
    ];

    /// As records and messages call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Step::Served => "served",
            Step::Impression => "impression",
            Step::Redeem => "redeem",
            Step::Click => "click",
            Step::Convert => "convert",
        }
    }

    pub(super) fn before(self) -> Option<Step> {
        let place = self as usize;
        place.checked_sub(1).map(|place| Step::ALL[place])
    }
}

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

/// The last offers, each at its number modulo how many are kept.
#[derive(Debug)]
pub(super) struct Offers {
    kept: Vec<Option<Offer>>,
    max: usize,
}

impl Offers {
    pub(super) fn new(max: usize) -> Offers {
        Offers {
            kept: Vec::new(),
            max,
        }
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
        self.kept[place] = Some(offer);
    }

    /// Keeps an offer of before again, unless it is kept already.
    pub(super) fn put_back(&mut self, offer: &Offer) {
        if self.get(offer.id).is_none() {
            self.put(offer.clone());
        }
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut Offer> {
        let place = self.place(id);
        let kept = self.kept.get_mut(place)?.as_mut();
        kept.filter(|offer| offer.id == id)
    }

    pub(super) fn get(&mut self, id: u64) -> Option<&Offer> {
        self.get_mut(id).map(|offer| &*offer)
    }

    /// Takes an offer a step further. True where it is new, and not the same event once more.
    pub(super) fn advance(&mut self, id: u64, to: Step) -> Result<(Offer, bool), Fault> {
        let offer = self.get_mut(id).ok_or(Fault::NoOffer)?;
        if offer.step >= to {
            return Ok((offer.clone(), false));
        }
        if to.before() != Some(offer.step) {
            let (wanted, found) = (to.before().unwrap_or(Step::Served), offer.step);
            return Err(Fault::TooEarly { wanted, found });
        }
        offer.step = to;
        Ok((offer.clone(), true))
    }

    /// Undoes [`advance`](Self::advance): the event could not be recorded.
    pub(super) fn undo(&mut self, id: u64, step: Step) {
        if let (Some(offer), Some(before)) = (self.get_mut(id), step.before())
            && offer.step == step
        {
            offer.step = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(id: u64) -> Offer {
        Offer {
            id,
            ad: 1,
            publisher: "p".into(),
            user: "u".into(),
            step: Step::Served,
        }
    }

    #[test]
    fn steps_follow_each_other_and_count_once() {
        let mut offers = Offers::new(4);
        offers.put(offer(9));
        assert!(matches!(
            offers.advance(9, Step::Redeem),
            Err(Fault::TooEarly {
                wanted: Step::Impression,
                found: Step::Served
            })
        ));
        for step in [Step::Impression, Step::Redeem, Step::Click, Step::Convert] {
            assert!(offers.advance(9, step).unwrap().1, "{step:?}");
            assert!(!offers.advance(9, step).unwrap().1, "{step:?} again");
        }
        offers.undo(9, Step::Convert);
        assert_eq!(offers.get(9).unwrap().step, Step::Click);
        // Something else has happened meanwhile: nothing is undone.
        offers.undo(9, Step::Redeem);
        assert_eq!(offers.get(9).unwrap().step, Step::Click);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut offers = Offers::new(3);
        (0..5).for_each(|id| offers.put(offer(id)));
        assert!(matches!(
            offers.advance(1, Step::Impression),
            Err(Fault::NoOffer)
        ));
        for id in 2..5 {
            assert!(offers.advance(id, Step::Impression).is_ok());
        }
        assert!(matches!(
            offers.advance(u64::MAX, Step::Impression),
            Err(Fault::NoOffer)
        ));
    }
}
