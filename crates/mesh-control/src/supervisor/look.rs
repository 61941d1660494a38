//! A look at the composed file, and what is done with another one.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Event;
use super::candidate::{Candidate, Problem};
use super::changes;
use super::place::Place;
use super::run::Supervisor;
use super::server::NotReloaded;
use crate::folder::Outcome;

/// How long a file must stay the same until it is read: whoever writes in place has more to write.
const SETTLE: Duration = Duration::from_millis(100);

/// How the server begins to say that a reload can't change something.
const UNSUPPORTED: &str = "config reload not supported";

/// What was in the folder.
#[derive(Clone, PartialEq)]
pub(super) enum Seen {
    File(Vec<u8>),
    Nothing,
    Unreadable(String),
}

/// What a look came to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Done {
    Nothing,
    Changed,
}

/// What came of a file.
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) error: Option<String>,
    /// Whether it says nothing of the file, and may come out otherwise the next time.
    passing: bool,
}

impl Supervisor<'_> {
    /// Looks at the file, and takes up another one.
    pub(super) async fn look(&mut self, forced: bool) -> Done {
        if self.place.taken_again() {
            self.move_in();
        }
        let began = Instant::now();
        let found = Seen::now(&self.place);
        if found == self.seen && !forced {
            self.confirm_late(began).await;
            return Done::Nothing;
        }
        let found = found.settled(&self.place, self.settings.interval).await;
        if found == self.seen && !forced {
            return Done::Nothing;
        }
        self.seen = found.clone();
        let verdict = match found {
            Seen::File(bytes) => self.take_up(bytes, forced).await,
            Seen::Nothing => {
                let name = self.settings.folder.composed_file();
                let told = format!("{}: there is no composed file any more", name.display());
                Verdict::bad(Outcome::Missing, told)
            }
            Seen::Unreadable(told) => Verdict::bad(Outcome::Refused, told),
        };
        if verdict.passing {
            // So that the next look finds something new; what is said already is not said again.
            self.seen = Seen::Unreadable(String::new());
            if verdict.error == self.report.error {
                return Done::Changed;
            }
        }
        self.tell(verdict, began.elapsed());
        Done::Changed
    }

    /// Checks a file, and gives it to the server.
    async fn take_up(&mut self, bytes: Vec<u8>, forced: bool) -> Verdict {
        // One that the server never said to run with is given to it again.
        let known = self.confirmed && !forced;
        if bytes == self.running.bytes && known {
            return Verdict::LIVE;
        }
        let program = &self.settings.program;
        let next = Candidate::examine(bytes, &self.place, program, &self.children).await;
        let next = match next {
            Ok(next) => next,
            Err(Problem::Bad(told)) => return Verdict::bad(Outcome::Refused, told),
            Err(Problem::Passing(told)) => return Verdict::passing(told),
        };
        let fixed = changes::that_need_a_restart(&self.running.conf, &next.conf);
        if !fixed.is_empty() {
            return Verdict::bad(Outcome::NeedsRestart, self.named(&fixed.join(", ")));
        }
        if let Err(error) = self.place.write(&self.place.running_file(), &next.bytes) {
            return Verdict::passing(error.to_string());
        }
        // Only comments differ: the server would read the same.
        if next.digest == self.running.digest && known {
            self.running = next;
            return Verdict::LIVE;
        }
        let reloaded = self.server.reload(next.digest, self.settings.patience).await;
        match reloaded {
            Ok(_) => {
                (self.running, self.confirmed) = (next, true);
                Verdict::LIVE
            }
            Err(NotReloaded::Refused(reason)) => self.put_back(&reason),
            Err(NotReloaded::Silence) => {
                (self.running, self.confirmed) = (next, false);
                let patience = self.settings.patience;
                let told =
                    format!("the server does not say after {patience:?} that it runs with it");
                Verdict::bad(Outcome::Unconfirmed, told)
            }
            Err(NotReloaded::Ended(ending)) => {
                Verdict::bad(Outcome::Ended, format!("nats-server has ended {ending}"))
            }
        }
    }

    /// What the server said against a file that its own check had passed.
    fn put_back(&self, reason: &str) -> Verdict {
        let file = self.place.running_file();
        let composed = self.settings.folder.composed_file();
        let told = reason.replace(&file.display().to_string(), &composed.display().to_string());
        if let Err(error) = self.place.write(&file, &self.running.bytes) {
            return Verdict::bad(Outcome::Refused, format!("{told}; and {error}"));
        }
        if reason.starts_with(UNSUPPORTED) {
            return Verdict::bad(Outcome::NeedsRestart, self.named(&told));
        }
        Verdict::bad(Outcome::Refused, told)
    }

    fn named(&self, what: &str) -> String {
        let file = self.settings.folder.composed_file();
        format!("{}: only a restart changes this: {what}", file.display())
    }

    /// A server that was busy may say now what it did not say in time.
    async fn confirm_late(&mut self, began: Instant) {
        if self.report.outcome == Outcome::Unconfirmed
            && self.server.runs_with(self.running.digest).await
        {
            self.confirmed = true;
            self.tell(Verdict::LIVE, began.elapsed());
        }
    }

    /// Another folder is in the place of the one before: what the supervisor keeps there goes, too.
    fn move_in(&mut self) {
        let written = self.place.write(&self.place.running_file(), &self.running.bytes);
        let told = written.and_then(|()| self.place.bus().tell(&self.report));
        if let Err(error) = told {
            (self.tell)(Event::Untold(error));
        }
    }
}

impl Seen {
    fn now(place: &Place) -> Self {
        match place.bus().read() {
            Ok(Some(bytes)) => Self::File(bytes),
            Ok(None) => Self::Nothing,
            Err(error) => Self::Unreadable(error.to_string()),
        }
    }

    /// What is there once it has stayed the same for a moment; or after an interval, as it is then.
    async fn settled(mut self, place: &Place, interval: Duration) -> Self {
        let settle = SETTLE.min(interval / 4);
        let end = Instant::now() + interval;
        loop {
            sleep(settle).await;
            let again = Self::now(place);
            if again == self || Instant::now() >= end {
                return again;
            }
            self = again;
        }
    }
}

impl Verdict {
    pub(super) const LIVE: Self = Self { outcome: Outcome::Live, error: None, passing: false };

    pub(super) fn of(outcome: Outcome, error: Option<String>) -> Self {
        Self { outcome, error, passing: false }
    }

    pub(super) fn bad(outcome: Outcome, told: String) -> Self {
        Self::of(outcome, Some(told))
    }

    fn passing(told: String) -> Self {
        Self { passing: true, ..Self::bad(Outcome::Refused, told) }
    }
}
