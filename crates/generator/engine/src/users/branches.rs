//! Branches: what a user does at the same time.
//!
//! A branch is a row of the table of users that no count of users contains: it has a program counter, a timer, random
//! draws and variables of its own, and its user's number.

use plan::expr::Value;
use plan::{Branch, Parallel, Pc};
use stats::rng::{Purpose, Rng};

use super::{User, Users, Wait, large_bytes};
use crate::tables::slots::{Key, UserKey};

impl User {
    /// A branch of it, which begins now. Its draws follow from the seed and its number among the branches.
    fn branch(&self, branch: &Branch, seed: u64, number: u64) -> User {
        let mut registers = self.registers.clone();
        if let Some(draws) = branch.retry_draws {
            registers[draws.index()] = Rng::new(seed, number, Purpose::Retry).next_u64();
        }
        let mut slots = self.slots.clone();
        if let Some((slot, number)) = branch.first {
            slots[slot.index()] = Value::Int(number);
        }
        User {
            think: Rng::new(seed, number, Purpose::Think),
            choice: Rng::new(seed, number, Purpose::Choice),
            value: Rng::new(seed, number, Purpose::Value),
            slots,
            registers,
            pc: branch.instructions.start,
            iteration: self.iteration,
            connected: self.connected,
            ready_ns: self.ready_ns,
            is_branch: true,
            ..User::new(seed, self.number, self.session, self.due_ns)
        }
    }
}

impl Users<'_> {
    /// The user whose branch it is, or the user itself.
    pub(crate) fn owner(&self, key: UserKey) -> UserKey {
        match self.table[key].is_branch {
            true => self.branches.owner(key).unwrap_or(key),
            false => key,
        }
    }

    /// The step that began this branch.
    pub(crate) fn begun_at(&self, key: UserKey) -> Option<Pc> {
        let is_branch = self.table[key].is_branch;
        is_branch.then(|| self.table[self.owner(key)].pc)
    }

    /// The seed of the branches that the user begins next.
    fn branch_seed(&mut self, owner: UserKey, parallel: &Parallel) -> u64 {
        let user = &mut self.table[owner];
        let draws = &mut user.registers[parallel.draws.index()];
        let seeds = Rng::new(self.plan.seed, user.number, Purpose::Branch);
        let seed = seeds.skip(*draws).next_u64();
        *draws += 1;
        seed
    }

    /// What the user's variables hold beside its row, which each of its branches holds as well.
    fn large_bytes_of(&self, owner: UserKey) -> usize {
        match self.saved.has(owner.place()) {
            true => self.table[owner].slots.iter().map(large_bytes).sum(),
            false => 0,
        }
    }

    /// Gives the user branches. False: there is no memory for what their variables hold.
    pub(crate) fn fork(&mut self, owner: UserKey, parallel: &Parallel) -> bool {
        let seed = self.branch_seed(owner, parallel);
        let large = self.large_bytes_of(owner);
        let mut branches = Vec::with_capacity(parallel.branches.len());
        let mut fits = true;
        for (number, branch) in (0..).zip(&parallel.branches) {
            let row = self.table[owner].branch(branch, seed, number);
            let key = self.table.insert(row);
            branches.push(key);
            fits &= self.saved.set(key.place(), large);
        }
        if fits {
            self.branches.begin(owner, branches);
        } else {
            branches.into_iter().for_each(|key| self.remove(key));
        }
        fits
    }

    /// Gives the user, which has branches, another one that runs the same as its first. `None`: there is no memory for what
    /// its variables hold.
    pub(crate) fn add_branch(&mut self, owner: UserKey, parallel: &Parallel) -> Option<UserKey> {
        let branch = parallel.branches.first()?;
        let seed = self.branch_seed(owner, parallel);
        let large = self.large_bytes_of(owner);
        let row = self.table[owner].branch(branch, seed, 0);
        let key = self.table.insert(row);
        match self.saved.set(key.place(), large) {
            true => {
                self.branches.add(owner, key);
                Some(key)
            }
            false => {
                self.remove(key);
                None
            }
        }
    }

    /// The user has what its branch has set. False: there is no memory for that.
    pub(crate) fn take_values(&mut self, owner: UserKey, key: UserKey, branch: &Branch) -> bool {
        for slot in &branch.sets {
            let value = std::mem::take(&mut self.table[key].slots[slot.index()]);
            self.table[owner].slots[slot.index()] = value;
        }
        if !self.saved.has(key.place()) {
            return true;
        }
        self.saved.clear(key.place());
        let large = self.table[owner].slots.iter().map(large_bytes).sum();
        self.saved.set(owner.place(), large)
    }

    /// The user is where its branch is, with what that has.
    pub(crate) fn take_place(&mut self, owner: UserKey, key: UserKey) {
        self.saved.hand_over(key.place(), owner.place());
        let branch = &mut self.table[key];
        let wait = std::mem::replace(&mut branch.wait, Wait::Branches);
        let slots = std::mem::take(&mut branch.slots);
        let registers = std::mem::take(&mut branch.registers);
        let times = (branch.due_ns, branch.ready_ns, branch.sent_ns);
        let pc = branch.pc;
        let user = &mut self.table[owner];
        (user.slots, user.registers, user.wait, user.pc) = (slots, registers, wait, pc);
        (user.due_ns, user.ready_ns, user.sent_ns) = times;
    }

    /// Something has become of a connection of the user's or its branch's: if a branch waits for one, the user's timer
    /// fires at once.
    pub(crate) fn wake(&mut self, key: UserKey) {
        let owner = self.owner(key);
        if !self.branches.waiting(owner).is_empty() {
            self.table[owner].deadline_ns = 0;
            self.wheel.arm(owner.place(), 0);
        }
    }
}
