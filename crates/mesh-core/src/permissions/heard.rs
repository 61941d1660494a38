//! What can be heard at all, by whatever subscriptions are permitted.

use super::{Rule, Rules};
use crate::port::QueueGroup;
use crate::subject::{Filter, Subject, normalise};

impl Rule {
    /// The widest subscription that it holds for: to `a.>`, where it is `a.*`.
    #[must_use]
    pub fn widest(&self) -> Filter {
        match before_last(&self.filter, "*") {
            Some(before) => Filter::from_checked(format!("{before}>")),
            None => self.filter.clone(),
        }
    }
}

impl Rules {
    /// Everything that can be heard in this group, or in none, by whatever subscriptions are permitted: these
    /// filters, less what is [denied](Self::denied).
    ///
    /// ```
    /// use mesh_core::permissions::Rules;
    /// use mesh_core::subject::Filter;
    ///
    /// let rules = Rules::allow([Filter::new("a.*")?, Filter::new("b")?]);
    /// // By a subscription to `a.>`.
    /// assert_eq!(rules.heard_in(None), [Filter::new("a.>")?, Filter::new("b")?]);
    /// # Ok::<(), mesh_core::subject::SubjectError>(())
    /// ```
    #[must_use]
    pub fn heard_in(&self, group: Option<&QueueGroup>) -> Vec<Filter> {
        normalise(self.allowed().iter().flat_map(|rule| self.heard_by(rule, group)))
    }

    /// Whether a message to this subject can reach it, by whatever subscription is permitted.
    #[must_use]
    pub fn hears(&self, subject: &Subject) -> bool {
        let near = self.allowed().iter().filter(|rule| rule.widest().matches(subject));
        let mut heard = near.flat_map(|rule| self.heard_by(rule, rule.group.as_ref()));
        heard.any(|filter| filter.matches(subject)) && !self.hides(subject)
    }

    /// The widest subscriptions that a rule holds for and that are permitted.
    ///
    /// The wider one is, the fewer other rules hold for it, which deny it or keep it to their groups. Those that
    /// end with `*` are the exception: `a.*` holds for `a.>`, and not for `a.*.>`.
    fn heard_by(&self, rule: &Rule, group: Option<&QueueGroup>) -> Vec<Filter> {
        let permitted = |filter: &Filter| self.permits_filter(filter, group);
        let widest = rule.widest();
        if permitted(&widest) {
            return vec![widest];
        }
        let Some(before) = before_last(&rule.filter, ">") else {
            return [rule.filter.clone()].into_iter().filter(permitted).collect();
        };
        let all = self.allowed().iter().map(|rule| &rule.filter).chain(self.denied());
        // Behind the longest of all filters nothing changes any more.
        let longest = all.map(|filter| filter.tokens().count()).max().unwrap_or_default();
        let ends = (0..=longest).flat_map(|stars| {
            let stars = "*.".repeat(stars);
            [format!("{before}{stars}*"), format!("{before}{stars}>")]
        });
        ends.filter_map(|text| Filter::new(text).ok()).filter(permitted).collect()
    }
}

/// What stands before a filter's last token, where that is this one.
fn before_last<'f>(filter: &'f Filter, last: &str) -> Option<&'f str> {
    let before = filter.as_str().strip_suffix(last)?;
    (before.is_empty() || before.ends_with('.')).then_some(before)
}
