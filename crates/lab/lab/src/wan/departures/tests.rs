use super::*;
use crate::wan::buffers::Buffers;

#[test]
fn the_earliest_departs_first_and_equals_in_their_order() {
    let mut buffers = Buffers::default();
    let mut departures = Departures::default();
    for (at_ns, number) in [(30, 0), (10, 1), (20, 2), (10, 3)] {
        let frame = buffers.frame(1, |bytes| bytes[0] = number);
        departures.push(at_ns, 0, frame);
    }
    assert_eq!(departures.next_ns(), Some(10));
    assert_eq!((departures.count(), departures.held_bytes()), (4, 4 * 256));
    assert!(departures.pop_due(9).is_none());
    let mut order = Vec::new();
    while let Some(departure) = departures.pop_due(25) {
        order.push(departure.frame.bytes()[0]);
        buffers.release(departure.frame);
    }
    assert_eq!(order, [1, 3, 2]);
    assert_eq!((departures.count(), departures.held_bytes()), (1, 256));
}
