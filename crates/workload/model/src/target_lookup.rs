//! Looks up the targets of recorded sessions, which sorted requests lack: reads the log a second time.

use std::collections::HashMap;

use crate::recorded::spread;
use crate::request_target::{LineTargets, RequestTarget};
use crate::scenario::sequences_each;
use crate::{BehaviourKind, Class, Model, ModelError, Target};

/// Leaves the model the sequences that its scenario has room for, and gives each of their requests its own target.
/// `look`: the requests of these lines, as far as they can be read.
pub(crate) fn look_up_targets(
    model: &mut Model,
    look: impl FnOnce(&[u64]) -> Result<LineTargets, ModelError>,
) -> Result<(), ModelError> {
    // The places of lines are of no use in the model.
    let segments = model.segments.iter_mut();
    let mut orders: Vec<Vec<Vec<u64>>> =
        segments.map(|segment| std::mem::take(&mut segment.behaviour.sequence_orders)).collect();
    if model.behaviour != BehaviourKind::Sequences {
        return Ok(());
    }
    let each = sequences_each(model);
    for (segment, orders) in model.segments.iter_mut().zip(&mut orders) {
        let behaviour = &mut segment.behaviour;
        let kept = behaviour.sequences.len();
        let taken = each.min(kept);
        let places = || spread(taken, kept);
        behaviour.sequences = places().map(|place| behaviour.sequences[place].clone()).collect();
        *orders = places().map(|place| orders[place].clone()).collect();
    }
    let mut lines: Vec<u64> = orders.iter().flatten().flatten().copied().collect();
    lines.sort_unstable();
    let targets_by_line = look(&lines)?;
    let mut known: Vec<ClassTargets> = model.classes.iter().map(ClassTargets::new).collect();
    for (segment, orders) in model.segments.iter_mut().zip(&orders) {
        let behaviour = &mut segment.behaviour;
        let sequences = behaviour.sequences.iter().zip(orders);
        let places = sequences.map(|(sequence, orders)| -> Vec<usize> {
            let steps = sequence.iter().zip(orders);
            let places = steps.map(|(&(class, _), order)| {
                let request = targets_by_line.get(order)?;
                Some(known[class].place(request))
            });
            places.collect::<Option<_>>().unwrap_or_default()
        });
        behaviour.sequence_targets = places.collect();
    }
    for (class, known) in model.classes.iter_mut().zip(known) {
        class.targets.extend(known.more);
    }
    Ok(())
}

/// The targets of a class by their places, and those that came to them.
struct ClassTargets {
    places: HashMap<RequestTarget, usize>,
    more: Vec<Target>,
}

impl ClassTargets {
    fn new(class: &Class) -> ClassTargets {
        let targets = class.targets.iter().enumerate();
        let places = targets.map(|(place, target)| {
            let request =
                RequestTarget { method: target.method.clone(), target: target.target.clone() };
            (request, place)
        });
        ClassTargets { places: places.collect(), more: Vec::new() }
    }

    fn place(&mut self, request: &RequestTarget) -> usize {
        if let Some(&place) = self.places.get(request) {
            return place;
        }
        let place = self.places.len();
        self.places.insert(request.clone(), place);
        self.more.push(Target {
            method: request.method.clone(),
            target: request.target.clone(),
            weight: 0,
        });
        place
    }
}
