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
use super::children::{Children, Ending};
use super::look::{Done, Seen, Verdict};
use super::place::Place;
use super::server::Server;
use super::start::{Started, start};
use super::watch::Watch;
use super::{Ended, Event, Order, Settings, StartError};
use crate::folder::{BusFolder, Digest, FolderError, Outcome, ReloadReport};

type Tell<'a> = Box<dyn FnMut(Event) + Send + 'a>;

/// A nats-server that runs, and is reloaded for as long as [`run`](Self::run) works. Dropped, the server is
/// told to end, and not waited for.
pub struct Supervisor<'a> {
    pub(super) settings: Settings,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) tell: Tell<'a>,
    pub(super) place: Place,
    pub(super) children: Children,
    pub(super) server: Server,
    pub(super) running: Candidate,
    /// Whether it has said that it runs with that.
    pub(super) confirmed: bool,
    pub(super) seen: Seen,
    pub(super) report: ReloadReport,
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
        let mut started = Self {
            settings,
            clock,
            tell,
            place,
            children,
            server,
            running,
            confirmed: true,
            seen,
            report,
        };
        started.tell(Verdict::of(outcome, error), began.elapsed());
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
        self.tell(Verdict::of(Outcome::Ended, None), Duration::ZERO);
        Ended { how, asked: true, killed: !in_order }
    }

    fn ended(&mut self, how: Ending) -> Ended {
        let told = format!("nats-server has ended {how}");
        self.tell(Verdict::bad(Outcome::Ended, told), Duration::ZERO);
        Ended { how, asked: false, killed: false }
    }

    pub(super) fn tell(&mut self, verdict: Verdict, took: Duration) {
        let Verdict { outcome, error, .. } = verdict;
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

impl fmt::Debug for Supervisor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor").field("report", &self.report).finish_non_exhaustive()
    }
}
