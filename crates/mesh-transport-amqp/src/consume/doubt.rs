//! How many verdicts may not have reached the broker.

/// Counts of one reading, over all its seats.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    said: u64,
    /// Of those that were said, the first so many need no more proof.
    proven: u64,
    /// Lost with a seat since this was last taken.
    undone: u64,
}

impl Doubt {
    /// One more was said.
    pub(super) fn say(&mut self) {
        self.said += 1;
    }

    /// All that were said until now, for [`prove`](Self::prove).
    pub(super) fn said(&self) -> u64 {
        self.said
    }

    /// The broker has the first so many. Whoever proves beside others proves the same ones.
    pub(super) fn prove(&mut self, said: u64) {
        self.proven = self.proven.max(said.min(self.said));
    }

    /// The seat is lost, and what was not proven with it.
    pub(super) fn lose(&mut self) {
        self.undone += self.said - self.proven;
        self.proven = self.said;
    }

    /// How many were lost with their seats since this was last asked.
    pub(super) fn take_undone(&mut self) -> u64 {
        std::mem::take(&mut self.undone)
    }

    pub(super) fn count(&self) -> u64 {
        self.said - self.proven + self.undone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(count: u64) -> Doubt {
        let mut doubt = Doubt::default();
        (0..count).for_each(|_| doubt.say());
        doubt
    }

    #[test]
    fn flushes_beside_each_other_prove_what_was_said_before_them_and_no_more() {
        let mut doubt = said(3);
        let (one, two) = (doubt.said(), doubt.said());
        (0..3).for_each(|_| doubt.say());
        doubt.prove(one);
        doubt.prove(two);
        assert_eq!(doubt.count(), 3);
        doubt.lose();
        assert_eq!(doubt.take_undone(), 3);
    }

    #[test]
    fn a_proof_that_comes_when_its_seat_is_lost_proves_nothing_of_the_next() {
        let mut doubt = said(2);
        let before = doubt.said();
        doubt.lose();
        doubt.say();
        doubt.prove(before);
        assert_eq!((doubt.count(), doubt.take_undone(), doubt.count()), (3, 2, 1));
    }
}
