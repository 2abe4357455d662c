//! Accounts: who has how much, in whole cents.

use std::collections::HashMap;

use crate::bus::model::User;

/// All accounts.
#[derive(Debug)]
pub(crate) struct Ledger {
    accounts: HashMap<User, Account>,
    starting_balance: u64,
    deposited: u128,
    withdrawn: u128,
}

#[derive(Debug)]
struct Account {
    balance: u64,
    /// Money in open pools, which is no longer in the balance.
    staked: u64,
    /// The owner left: close as soon as nothing is staked.
    leaving: bool,
}

/// All money, by where it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Money {
    /// Money in balances.
    pub(crate) balances: u128,
    /// In open pools.
    pub(crate) stakes: u128,
    /// Ever paid in: the starting balances.
    pub(crate) deposited: u128,
    /// Ever paid out: the balances of closed accounts.
    pub(crate) withdrawn: u128,
}

impl Money {
    /// Whether no cent was made or lost.
    pub(crate) fn balanced(&self) -> bool {
        self.balances + self.stakes + self.withdrawn == self.deposited
    }
}

impl Ledger {
    pub(crate) fn new(starting_balance: u64) -> Self {
        Self { accounts: HashMap::new(), starting_balance, deposited: 0, withdrawn: 0 }
    }

    /// Makes room for `accounts` more accounts.
    pub(crate) fn make_room(&mut self, accounts: usize) {
        self.accounts.reserve(accounts);
    }

    /// The balance of `user`, whose account is opened if there was none.
    pub(crate) fn open(&mut self, user: &User) -> u64 {
        self.account(user).balance
    }

    fn account(&mut self, user: &User) -> &mut Account {
        // Looked up twice, so that the name is only copied for a new account.
        if !self.accounts.contains_key(user) {
            let account = Account { balance: self.starting_balance, staked: 0, leaving: false };
            self.deposited += u128::from(self.starting_balance);
            self.accounts.insert(user.clone(), account);
        }
        self.accounts.get_mut(user).expect("just made sure that it is there")
    }

    /// Whether `user` has an account.
    pub(crate) fn knows(&self, user: &User) -> bool {
        self.accounts.contains_key(user)
    }

    /// How many accounts there are.
    pub(crate) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Moves `amount` from the balance into a pool: `Ok` and `Err` hold the balance afterwards,
    /// which in the second case did not suffice and is unchanged.
    pub(crate) fn stake(&mut self, user: &User, amount: u64) -> Result<u64, u64> {
        let account = self.account(user);
        account.balance = account.balance.checked_sub(amount).ok_or(account.balance)?;
        account.staked += amount;
        Ok(account.balance)
    }

    /// Ends a stake of `staked`, for which the pool pays `paid`.
    pub(crate) fn release(&mut self, user: &User, staked: u64, paid: u64) {
        let account = self.account(user);
        account.staked -= staked;
        account.balance += paid;
        if account.leaving && account.staked == 0 {
            self.remove(user);
        }
    }

    /// Closes an account, now or as soon as its last stake has ended.
    pub(crate) fn close(&mut self, user: &User) {
        match self.accounts.get_mut(user) {
            Some(account) if account.staked > 0 => account.leaving = true,
            Some(_) => self.remove(user),
            None => {}
        }
    }

    fn remove(&mut self, user: &User) {
        if let Some(account) = self.accounts.remove(user) {
            self.withdrawn += u128::from(account.balance);
        }
    }

    /// Counts all money, account by account. `stakes` is what the open pools say they hold: it
    /// is counted there, so that the two books check each other.
    pub(crate) fn audit(&self, stakes: u128) -> Money {
        let balances = self.accounts.values().map(|account| u128::from(account.balance)).sum();
        Money { balances, stakes, deposited: self.deposited, withdrawn: self.withdrawn }
    }
}
