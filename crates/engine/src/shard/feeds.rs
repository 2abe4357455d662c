//! Steps that take a row of the users' own data.

use plan::{Feed, Found};

use super::Shard;
use super::session::Flow;

impl Shard<'_> {
    pub(super) fn feed(&mut self, now_ns: u64, key: u32, feed: &Feed) -> Flow {
        let data = &self.plan.data[feed.data as usize];
        let user = &mut self.users[key];
        let draws = &mut user.registers[feed.register as usize];
        let draw = *draws;
        *draws += 1;
        match data.row(user.number, draw, &mut user.value) {
            Found::Row(row) => {
                for &(slot, column) in &feed.columns {
                    user.slots[slot as usize] = data.table.value(row, column);
                }
                return Flow::Next;
            }
            Found::Error => self.fault(now_ns, key, self.plan.faults, || {
                let rows = data.table.rows_count();
                format!("the data {:?} have {rows} rows and no more", data.name)
            }),
            Found::Stop => {}
        }
        // It would find no row if it began anew, either.
        self.leave(now_ns, key);
        Flow::Wait
    }
}
