//! What somebody may send because it was asked to: a nats-server's `allow_responses`, as it was measured.

use std::time::Duration;

use hashbrown::HashMap;
use mesh_core::permissions::Responses;
use mesh_core::subject::Subject;
use parking_lot::Mutex;

/// Above so many, those that are over are forgotten now and then, as a server does it.
const TIDY_ABOVE: usize = 4096;
/// How often at most: looking at all of them takes a while.
const TIDY_EVERY: Duration = Duration::from_secs(1);

/// So many are known at most: whoever is asked more than this at once is not let answer the rest.
const MOST: usize = 65_536;

/// The reply addresses that one connection was given, each with what is left of its budget.
#[derive(Debug, Default)]
pub(crate) struct Replies(Mutex<All>);

#[derive(Debug, Default)]
struct All {
    given: HashMap<Subject, Given>,
    tidied: Option<Duration>,
}

/// One that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Given {
    since: Duration,
    used: u32,
}

impl Replies {
    /// Whether it may answer there once more; it has, then.
    pub(crate) fn take(&self, reply: &Subject, budget: Responses, now: Duration) -> bool {
        self.0.lock().take(reply, budget, now)
    }

    /// It is given a message with this reply address. One that it has still something left of is not
    /// given anew: the server looks whether it might answer there, and that counts as an answer. The
    /// result is what was known of the address before, for [`put_back`](Self::put_back).
    pub(crate) fn give(&self, reply: &Subject, budget: Responses, now: Duration) -> Option<Given> {
        let mut all = self.0.lock();
        let before = all.given.get(reply).copied();
        if all.take(reply, budget, now) {
            return before;
        }
        all.tidy(budget, now);
        if all.given.len() < MOST {
            all.given.insert(reply.clone(), Given { since: now, used: 0 });
        } else {
            tracing::warn!(%reply, most = MOST, "too many answers are owed: this one is not let through");
        }
        before
    }

    /// The message did not get there after all.
    pub(crate) fn put_back(&self, reply: &Subject, before: Option<Given>) {
        let mut all = self.0.lock();
        match before {
            Some(before) => all.given.insert(reply.clone(), before),
            None => all.given.remove(reply),
        };
    }

    /// What every reload of a server does.
    pub(crate) fn forget(&self) {
        self.0.lock().given.clear();
    }
}

impl All {
    fn take(&mut self, reply: &Subject, budget: Responses, now: Duration) -> bool {
        let Some(one) = self.given.get_mut(reply) else {
            return false;
        };
        if is_left(*one, budget, now) {
            one.used += 1;
            return true;
        }
        self.given.remove(reply);
        false
    }

    fn tidy(&mut self, budget: Responses, now: Duration) {
        let due = self.tidied.is_none_or(|then| now.saturating_sub(then) >= TIDY_EVERY);
        if self.given.len() >= TIDY_ABOVE && due {
            self.tidied = Some(now);
            self.given.retain(|_, given| is_left(*given, budget, now));
        }
    }
}

fn is_left(given: Given, budget: Responses, now: Duration) -> bool {
    given.used < budget.max && now.saturating_sub(given.since) <= budget.expires
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Responses = Responses { max: 4, expires: Duration::from_secs(1) };

    /// What a nats-server 2.15.1 answered: `a` a message that names the address, a digit so many answers,
    /// of which `.` went through and `X` did not.
    fn plan(plan: &str) -> String {
        let (replies, reply) = (Replies::default(), Subject::new("reply").unwrap());
        let mut seen = String::new();
        for step in plan.chars() {
            if let Some(count) = step.to_digit(10) {
                let answers = (0..count).map(|_| replies.take(&reply, BUDGET, Duration::ZERO));
                seen.extend(answers.map(|through| if through { '.' } else { 'X' }));
            } else {
                replies.give(&reply, BUDGET, Duration::ZERO);
                seen.push('a');
            }
        }
        seen
    }

    #[test]
    fn a_budget_is_counted_as_a_server_was_seen_to_count() {
        for (steps, seen) in [
            ("a9", "a....XXXXX"),
            ("aa9", "aa...XXXXXX"),
            ("aaa9", "aaa..XXXXXXX"),
            ("a1a9", "a.a..XXXXXXX"),
            ("a2a9", "a..a.XXXXXXXX"),
            ("a3a9", "a...aXXXXXXXXX"),
            ("a4a9", "a....a....XXXXX"),
            ("a5a9", "a....Xa....XXXXX"),
            ("a5aa9", "a....Xaa...XXXXXX"),
            ("a1a1a9", "a.a.aXXXXXXXXX"),
            ("a1a1a1a1a9", "a.a.aXa.a..XXXXXXX"),
            ("a1a1a1aa9", "a.a.aXaa...XXXXXX"),
            ("a2aa9", "a..aaXXXXXXXXX"),
        ] {
            assert_eq!(plan(steps), seen, "{steps}");
        }
    }

    #[test]
    fn the_time_runs_from_the_first_message_that_names_an_address() {
        let (replies, reply) = (Replies::default(), Subject::new("reply").unwrap());
        let at = Duration::from_millis;
        replies.give(&reply, BUDGET, at(0));
        replies.give(&reply, BUDGET, at(700));
        assert!(!replies.take(&reply, BUDGET, at(1300)), "asking again renews nothing");
        replies.give(&reply, BUDGET, at(1300));
        assert!(replies.take(&reply, BUDGET, at(2300)), "it is over, so it is given anew");
    }

    #[test]
    fn what_did_not_get_there_leaves_nothing() {
        let (replies, reply) = (Replies::default(), Subject::new("reply").unwrap());
        let before = replies.give(&reply, BUDGET, Duration::ZERO);
        replies.put_back(&reply, before);
        assert!(!replies.take(&reply, BUDGET, Duration::ZERO));
        replies.give(&reply, BUDGET, Duration::ZERO);
        for _ in 0..9 {
            let before = replies.give(&reply, BUDGET, Duration::ZERO);
            replies.put_back(&reply, before);
        }
        let left = (0..9).filter(|_| replies.take(&reply, BUDGET, Duration::ZERO)).count();
        assert_eq!(left, 4);
    }

    #[test]
    fn whoever_asks_at_ever_new_addresses_fills_no_memory() {
        let replies = Replies::default();
        let reply = |number: usize| Subject::new(format!("r.{number}")).unwrap();
        for number in 0..MOST + 10 {
            replies.give(&reply(number), BUDGET, Duration::ZERO);
        }
        assert_eq!(replies.0.lock().given.len(), MOST);
        assert!(!replies.take(&reply(MOST + 5), BUDGET, Duration::ZERO));
        replies.give(&reply(0), BUDGET, Duration::from_secs(5));
        assert_eq!(replies.0.lock().given.len(), 1, "those that are over are forgotten");
    }
}
