//! Messages with a number.

use serde::Serialize;

use crate::ids::MeasureId;
use crate::matching::Source;

/// A number inside a message that grows by one with each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MessageNumber {
    pub from: Source,
    /// The value that distinguishes sequences; `None`: the topic, if there is one.
    pub sequence: Option<Source>,
    /// All who are subscribed get the same numbers, so that what one got another must get, too.
    /// False: each connection numbers its own messages.
    pub shared: bool,
    /// Numbers that a user never got.
    pub lost: MeasureId,
    /// Messages that it got again.
    pub duplicated: MeasureId,
    /// Messages that came behind a later one.
    pub out_of_order: MeasureId,
    /// Messages without a number that can be read.
    pub unreadable: MeasureId,
    /// Messages and subscriptions of which it is unknown what was lost.
    pub unaccounted: MeasureId,
    /// Subscriptions that got none, as all that were opened by the same step.
    pub silent: MeasureId,
    /// From the sender's stamp to the first user's receipt; `None`: there is no stamp.
    pub first: Option<MeasureId>,
    /// From the sender's stamp to the last user's receipt; without a stamp from the first user's
    /// receipt.
    pub last: MeasureId,
    /// By region: from the sender's stamp to the receipt by the last user there; `None`: there is no stamp, or there are no
    /// two regions.
    pub reached: Option<MeasureId>,
    /// From when the last user of the first region got it until the last user of the last one did; `None`: there are no two
    /// regions.
    pub apart: Option<MeasureId>,
}
