use super::{BindingPattern, TranslationProblem, Untranslatable};
use crate::subject::{Filter, MAX_SUBJECT_BYTES, Subject};

impl BindingPattern {
    /// The filters that together match the same subjects: one, or two where a trailing `#` may
    /// also stand for nothing.
    ///
    /// A `#` among stars is moved behind them first, which changes nothing: `a.#.*` is `a.*.#`.
    ///
    /// # Errors
    /// [`Untranslatable`] where a `#` has an ordinary word behind it, or a word is `>`.
    pub fn to_filters(&self) -> Result<Vec<Filter>, Untranslatable> {
        let mut tokens = Vec::new();
        let mut hash = None;
        let mut offset = 0;
        for word in self.words() {
            match (word, hash) {
                ("#", _) => hash = hash.or(Some(offset)),
                ("*", _) => tokens.push(word),
                (_, Some(at)) => {
                    return Err(self.refusal(TranslationProblem::InnerHash, at, tokens));
                }
                (">", _) => {
                    return Err(self.refusal(TranslationProblem::TailWord, offset, tokens));
                }
                _ => tokens.push(word),
            }
            offset += word.len() + 1;
        }
        Ok(match (hash, tokens.last()) {
            (None, _) => vec![join(&tokens)],
            (Some(_), None) => vec![tail(tokens)],
            (Some(_), Some(&"*")) => {
                tokens.pop();
                vec![tail(tokens)]
            }
            (Some(_), Some(_)) => vec![join(&tokens), tail(tokens)],
        })
    }

    /// The binding pattern that matches the same subjects: `a.>` becomes `a.*.#`.
    ///
    /// Where that would pass 255 bytes, so would a subject with a second token under the `>`, and
    /// `*` says the same.
    ///
    /// # Errors
    /// [`Untranslatable`] where a token is `#`.
    pub fn from_filter(filter: &Filter) -> Result<Self, Untranslatable> {
        let (mut text, mut hash, mut offset) = (String::new(), None, 0);
        for token in filter.tokens() {
            if offset > 0 {
                text.push('.');
            }
            if token == "#" {
                hash = hash.or(Some(offset));
            }
            text.push_str(match token {
                ">" if offset + "*.#".len() > MAX_SUBJECT_BYTES => "*",
                ">" => "*.#",
                token => token,
            });
            offset += token.len() + 1;
        }
        let Some(offset) = hash else {
            return Ok(Self::from_checked(text));
        };
        Err(Untranslatable {
            pattern: filter.as_str().to_owned(),
            problem: TranslationProblem::HashToken,
            offset,
            nearest: text,
            counter_example: instance(filter.tokens(), "x"),
        })
    }

    /// `tokens` is what was translated before the word at `offset`. The nearest filter has a `>`
    /// from there on; the counter-example has one token there, none that the pattern asks for.
    fn refusal(
        &self,
        problem: TranslationProblem,
        offset: usize,
        tokens: Vec<&str>,
    ) -> Untranslatable {
        let rest = || self.as_str()[offset..].split('.');
        let mut other = "x".to_owned();
        while rest().any(|word| word == other) {
            other.push('x');
        }
        let nearest = tail(tokens);
        Untranslatable {
            pattern: self.as_str().to_owned(),
            problem,
            offset,
            counter_example: instance(nearest.tokens(), &other),
            nearest: nearest.as_str().to_owned(),
        }
    }
}

fn join(tokens: &[&str]) -> Filter {
    Filter::from_checked(tokens.join("."))
}

fn tail(mut tokens: Vec<&str>) -> Filter {
    tokens.push(">");
    join(&tokens)
}

/// A subject with `x` in place of `*` and `#`, and `end` in place of `>`. No longer than the
/// pattern, if `end` is `x` or, as in `refusal`, one longer than a word of the part it stands for.
fn instance<'a>(tokens: impl Iterator<Item = &'a str>, end: &str) -> Subject {
    let tokens: Vec<&str> = tokens
        .map(|token| match token {
            ">" => end,
            "*" | "#" => "x",
            token => token,
        })
        .collect();
    Subject::from_checked(tokens.join("."))
}
