//! The supervisor at work.

use std::fmt;
use std::mem;
use std::path::absolute;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mesh_core::port::Clock;
use rustix::process::Signal;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::candidate::Candidate;
use super::changes;
use super::children::{Children, Ending};
use super::place::Place;
use super::server::{NotReloaded, Server};
use super::start::{Started, start};
use super::watch::Watch;
use super::{Ended, Event, Order, Settings, StartError};
use crate::folder::{BusFolder, Digest, FolderError, Outcome, ReloadReport};

/// How long a file must stay the same until it is read: whoever writes in place has more to write.
const SETTLE: Duration = Duration::from_millis(100);

/// How the server begins to say that a reload can't change something.
const UNSUPPORTED: &str = "config reload not supported";

type Tell<'a> = Box<dyn FnMut(Event) + Send + 'a>;

/// A nats-server that runs, and is reloaded for as long as [`run`](Self::run) works. Dropped, the server is
/// told to end, and not waited for.
pub struct Supervisor<'a> {
    settings: Settings,
    clock: Arc<dyn Clock>,
    tell: Tell<'a>,
    place: Place,
    children: Children,
    server: Server,
    running: Candidate,
    seen: Seen,
    report: ReloadReport,
}

/// What was in the folder.
#[derive(Clone, PartialEq)]
enum Seen {
    File(Vec<u8>),
    Nothing,
    Unreadable(String),
}

/// What a look came to.
#[derive(Clone, Copy, PartialEq)]
enum Done {
    Nothing,
    Changed,
}

/// What came of a file.
struct Verdict {
    outcome: Outcome,
    error: Option<String>,
}

impl<'a> Supervisor<'a> {
    /// Starts the server, and returns when it serves. Where the composed file is bad or gone, it is started
    /// with the file that ran last here. What happens is told by `tell`, the start included.
    ///
    /// # Errors
    /// [`StartError`]; then no server runs.
    pub async fn start(
        mut settings: Settings,
        clock: Arc<dyn Clock>,
        tell: impl FnMut(Event) + Send + 'a,
    ) -> Result<Self, StartError> {
        let began = Instant::now();
        // The server is started in the folder: a path from here would mean another place there.
        let path = settings.folder.path().to_owned();
        let path = absolute(&path).map_err(FolderError::io("finding", &path))?;
        settings.folder = BusFolder::at(path);
        let Started { place, children, server, running, seen, outcome, error } =
            start(&settings).await?;
        let seen = seen.map_or(Seen::Nothing, Seen::File);
        let report = ReloadReport::new(clock.now(), outcome, None);
        let tell = Box::new(tell);
        let mut started =
            Self { settings, clock, tell, place, children, server, running, seen, report };
        started.tell(Verdict { outcome, error }, began.elapsed());
        Ok(started)
    }

    /// What was said last.
    #[must_use]
    pub fn report(&self) -> &ReloadReport {
        &self.report
    }

    /// Reloads the server with each new file, until it is told to end or the server ends by itself. An end
    /// of the orders is an order to end.
    pub async fn run(mut self, mut orders: mpsc::Receiver<Order>) -> Ended {
        let interval = self.settings.interval;
        let mut watch = Watch::of(self.settings.folder.composed_file());
        watch.look();
        let news = watch.news();
        let mut forced = false;
        let mut next_look = Instant::now();
        // A look that takes up a change is not followed by another within an interval.
        let mut not_before = next_look;
        loop {
            let order = tokio::select! {
                ending = self.server.ended() => return self.ended(ending),
                order = orders.recv() => order.unwrap_or(Order::End),
                () = news.notified() => {
                    next_look = next_look.min(not_before.max(Instant::now()));
                    continue;
                }
                () = sleep_until(next_look) => {
                    watch.look();
                    let began = Instant::now();
                    let (done, order) = self.look_until_told(mem::take(&mut forced), &mut orders).await;
                    if done == Done::Changed {
                        not_before = began + interval;
                    }
                    next_look = not_before.max(began + interval);
                    let Some(order) = order else { continue };
                    order
                }
            };
            match order {
                Order::Check => {
                    forced = true;
                    next_look = not_before.max(Instant::now());
                }
                Order::LameDuck => self.lame_duck(),
                Order::End => return self.end(orders).await,
            }
        }
    }

    /// Looks at the file. A reload may take long: an order to end breaks it off, others wait for it.
    async fn look_until_told(
        &mut self,
        forced: bool,
        orders: &mut mpsc::Receiver<Order>,
    ) -> (Done, Option<Order>) {
        let mut order = None;
        let mut look = pin!(self.look(forced));
        loop {
            tokio::select! {
                done = &mut look => return (done, order),
                next = orders.recv() => match next {
                    None | Some(Order::End) => return (Done::Nothing, Some(Order::End)),
                    next => order = next,
                },
            }
        }
    }

    /// Looks at the file, and takes up another one.
    async fn look(&mut self, forced: bool) -> Done {
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
        self.tell(verdict, began.elapsed());
        Done::Changed
    }

    /// Checks a file, and gives it to the server.
    async fn take_up(&mut self, bytes: Vec<u8>, forced: bool) -> Verdict {
        if bytes == self.running.bytes && !forced {
            return Verdict::LIVE;
        }
        let program = &self.settings.program;
        let next = Candidate::examine(bytes, &self.place, program, &self.children).await;
        let next = match next {
            Ok(next) => next,
            Err(told) => return Verdict::bad(Outcome::Refused, told),
        };
        let fixed = changes::that_need_a_restart(&self.running.conf, &next.conf);
        if !fixed.is_empty() {
            return Verdict::bad(Outcome::NeedsRestart, self.named(&fixed.join(", ")));
        }
        if let Err(error) = self.place.write(&self.place.running_file(), &next.bytes) {
            return Verdict::bad(Outcome::Refused, error.to_string());
        }
        // Only comments differ: the server would read the same.
        if next.digest == self.running.digest && !forced {
            self.running = next;
            return Verdict::LIVE;
        }
        let reloaded = self.server.reload(next.digest, self.settings.patience).await;
        match reloaded {
            Ok(_) => {
                self.running = next;
                Verdict::LIVE
            }
            Err(NotReloaded::Refused(reason)) => self.put_back(&reason),
            Err(NotReloaded::Silence) => {
                self.running = next;
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

    fn lame_duck(&mut self) {
        // Fails for a server that has ended, which is seen as that.
        let _ = self.server.signal(Signal::USR2);
        (self.tell)(Event::LameDuck);
    }

    async fn end(mut self, mut orders: mpsc::Receiver<Order>) -> Ended {
        if !self.settings.lame_duck.is_zero() {
            self.lame_duck();
            let again = async { while !matches!(orders.recv().await, None | Some(Order::End)) {} };
            tokio::select! {
                _ = self.server.ended() => {}
                () = sleep(self.settings.lame_duck) => {}
                () = again => {}
            }
        }
        let (how, in_order) = self.server.end().await;
        self.tell(Verdict { outcome: Outcome::Ended, error: None }, Duration::ZERO);
        Ended { how, asked: true, killed: !in_order }
    }

    fn ended(&mut self, how: Ending) -> Ended {
        let told = format!("nats-server has ended {how}");
        self.tell(Verdict::bad(Outcome::Ended, told), Duration::ZERO);
        Ended { how, asked: false, killed: false }
    }

    fn tell(&mut self, verdict: Verdict, took: Duration) {
        let Verdict { outcome, error } = verdict;
        let file = if let Seen::File(bytes) = &self.seen { Some(Digest::of(bytes)) } else { None };
        let runs = outcome != Outcome::Ended;
        let mut report = ReloadReport::new(self.clock.now(), outcome, file);
        report.digest = Some(self.running.digest).filter(|_| runs);
        report.running = Some(self.running.file).filter(|_| runs);
        report.pid = Some(self.server.pid()).filter(|_| runs);
        report.version = Some(self.settings.program.version().to_string());
        report.monitor = Some(self.server.monitor().address()).filter(|_| runs);
        report.error = error;
        report.warnings.clone_from(&self.running.warnings);
        self.report = report.clone();
        if let Err(error) = self.place.bus().tell(&report) {
            (self.tell)(Event::Untold(error));
        }
        (self.tell)(Event::Report { report: Box::new(report), took });
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
    const LIVE: Self = Self { outcome: Outcome::Live, error: None };

    fn bad(outcome: Outcome, told: String) -> Self {
        Self { outcome, error: Some(told) }
    }
}

impl fmt::Debug for Supervisor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("report", &self.report).finish_non_exhaustive()
    }
}
