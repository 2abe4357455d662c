//! The steps of an offer, one after the other.

/// The steps of an ad that was served, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Served,
    Impression,
    Redeem,
    Click,
    Convert,
}

impl Step {
    pub(super) const ALL: [Step; 5] =
        [Step::Served, Step::Impression, Step::Redeem, Step::Click, Step::Convert];

    /// Name in records and messages.
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
