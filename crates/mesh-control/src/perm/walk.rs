//! Looks for a subject: one of each kind that a set of filters can tell apart.

use std::collections::HashSet;

use mesh_core::subject::{Filter, Subject};

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// There is none.
    Nothing,
    /// This one.
    Subject(Subject),
    /// Too many to look at: there may be one.
    GaveUp,
}

/// A subject of `within` that is `wanted`, where that depends on nothing else than which of `others` match it.
///
/// Filters see of a token only whether it is one of their words, so at each place the words of the filters that
/// still match are tried, and one word that none of them has. What is the same for all filters is looked at once.
/// Each subject that is looked at costs one of `budget`: that some subject is in none of a hundred filters can take
/// more looks than anybody has time for.
pub(super) fn find(
    within: &Filter,
    others: &[&Filter],
    budget: &mut usize,
    mut wanted: impl FnMut(&Subject) -> bool,
) -> Found {
    let others: Vec<Vec<&str>> = others
        .iter()
        .filter(|other| other.overlaps(within))
        .map(|other| other.tokens().collect())
        .collect();
    let within: Vec<&str> = within.tokens().collect();
    let longest = others.iter().map(Vec::len).chain([within.len()]).max().unwrap_or_default();
    let strange = strange(others.iter().flatten().copied());
    let all = State { live: (0..others.len()).collect(), tails: Vec::new() };
    let seen = HashSet::new();
    let mut walk = Walk { within, others, strange, longest, seen, budget, left_out: false };
    match walk.below(&mut Vec::new(), &all, &mut wanted) {
        Found::Nothing if walk.left_out => Found::GaveUp,
        found => found,
    }
}

/// A word that is none of these.
pub(super) fn strange<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let words: HashSet<&str> = words.collect();
    let numbered = (0..=words.len()).map(|number| match number {
        0 => "x".to_owned(),
        more => format!("x{more}"),
    });
    // One more than there are words.
    numbered.into_iter().find(|word| !words.contains(word.as_str())).unwrap_or_default()
}

/// What the tokens so far are to the filters, by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// Those that match so far, and have said all of it token by token.
    live: Vec<usize>,
    /// Those that match whatever comes.
    tails: Vec<usize>,
}

struct Walk<'f, 'b> {
    within: Vec<&'f str>,
    others: Vec<Vec<&'f str>>,
    /// A word of no filter.
    strange: String,
    /// Tokens of the longest filter.
    longest: usize,
    seen: HashSet<(usize, State)>,
    budget: &'b mut usize,
    /// Whether something was not looked at, as its words are too long together: a shorter way may lead there.
    left_out: bool,
}

impl Walk<'_, '_> {
    /// Looks at what begins with `path`.
    fn below(
        &mut self,
        path: &mut Vec<String>,
        state: &State,
        wanted: &mut impl FnMut(&Subject) -> bool,
    ) -> Found {
        let depth = path.len();
        // Behind the longest filter's end nothing changes any more.
        if depth > self.longest {
            return Found::Nothing;
        }
        let Some(words) = self.words(depth, state) else { return Found::Nothing };
        for word in words {
            let next = self.next(depth, state, &word);
            if !self.seen.insert((depth + 1, next.clone())) {
                continue;
            }
            if *self.budget == 0 {
                return Found::GaveUp;
            }
            *self.budget -= 1;
            path.push(word);
            let Ok(subject) = Subject::new(path.join(".")) else {
                self.left_out = true;
                path.pop();
                continue;
            };
            if self.ends_at(depth + 1) && wanted(&subject) {
                return Found::Subject(subject);
            }
            match self.below(path, &next, wanted) {
                Found::Nothing => {}
                found => return found,
            }
            path.pop();
        }
        Found::Nothing
    }

    /// The words to try at a place; nothing behind the end.
    fn words(&self, depth: usize, state: &State) -> Option<Vec<String>> {
        match self.token(depth)? {
            "*" | ">" => {
                let mut words = vec![self.strange.clone()];
                for other in &state.live {
                    match self.others[*other].get(depth) {
                        None | Some(&("*" | ">")) => {}
                        Some(word) if words.iter().any(|known| known == word) => {}
                        Some(word) => words.push((*word).to_owned()),
                    }
                }
                Some(words)
            }
            word => Some(vec![word.to_owned()]),
        }
    }

    /// What `within` says of the place; the same for all that its tail stands for.
    fn token(&self, depth: usize) -> Option<&str> {
        match self.within.last() {
            Some(&">") if depth >= self.within.len() - 1 => Some(">"),
            _ => self.within.get(depth).copied(),
        }
    }

    /// Whether what has so many tokens is all of a subject of `within`.
    fn ends_at(&self, tokens: usize) -> bool {
        match self.within.last() {
            Some(&">") => tokens >= self.within.len(),
            _ => tokens == self.within.len(),
        }
    }

    fn next(&self, depth: usize, state: &State, word: &str) -> State {
        let mut next = State { live: Vec::new(), tails: state.tails.clone() };
        for number in &state.live {
            match self.others[*number].get(depth) {
                Some(&">") => next.tails.push(*number),
                Some(token) if *token == "*" || *token == word => next.live.push(*number),
                _ => {}
            }
        }
        next.tails.sort_unstable();
        next
    }
}
