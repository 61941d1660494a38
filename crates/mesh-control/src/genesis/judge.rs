//! What of a difference is put right, with the reason where it isn't.

use mesh_core::port::{Administration, Drift, Position, StreamState};
use mesh_core::time::Timestamp;
use mesh_core::topology::{StreamName, Topology};

use super::rules::{Care, Of, Stock, care};

/// A difference, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judged {
    /// The difference.
    pub drift: Drift,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "whoever tells an operator has to tell each")]
pub enum Verdict {
    /// It was put right.
    Mended,
    /// It can be put right without a loss, and was not asked to be.
    Mendable,
    /// It is not put right unless the operator accepts what comes of it.
    Refused {
        /// What comes of it.
        why: String,
        /// What to do.
        then: String,
    },
    /// It can't be put right in place, or the broker did not do it.
    Stuck {
        /// What stands in the way.
        why: String,
        /// What to do.
        then: String,
    },
}

/// An operator's word that what comes of putting this right is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(clippy::exhaustive_structs, reason = "it is a pair")]
pub struct Accepted {
    /// The object: `EVENTS`, `EVENTS/n1_mail`.
    pub object: String,
    /// The setting.
    pub field: String,
}

impl Accepted {
    fn covers(&self, drift: &Drift) -> bool {
        self.object == drift.object && self.field == drift.field
    }
}

/// What is to be done about a difference, before anything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    Mend { left: &'static str },
    Refuse { why: String, then: String },
    Stick { why: String, then: String },
}

/// What became of a difference, once what was chosen is put right.
pub(super) fn conclude(drift: Drift, judgement: Judgement, mended: Option<&[Drift]>) -> Judged {
    let verdict = match judgement {
        Judgement::Refuse { why, then } => Verdict::Refused { why, then },
        Judgement::Stick { why, then } => Verdict::Stuck { why, then },
        Judgement::Mend { left } => match mended {
            None => Verdict::Mendable,
            Some(now) => match now.iter().find(|now| now.is_same(&drift)) {
                // Who has put it right meanwhile left nothing to do.
                None => Verdict::Mended,
                Some(now) if now.mended => Verdict::Mended,
                Some(_) => Verdict::Stuck {
                    why: "the broker left it as it was".to_owned(),
                    then: left.to_owned(),
                },
            },
        },
    };
    let mended = verdict == Verdict::Mended;
    Judged { drift: Drift { mended, ..drift }, verdict }
}

/// Judges differences of what a topology names.
pub(super) struct Judge<'a> {
    pub(super) administration: &'a dyn Administration,
    pub(super) topology: &'a Topology,
    pub(super) accepted: &'a [Accepted],
    pub(super) now: Timestamp,
}

impl Judge<'_> {
    pub(super) async fn judge(&self, drift: &Drift) -> Judgement {
        let of = if drift.object.contains('/') { Of::Consumer } else { Of::Stream };
        let is_accepted = self.accepted.iter().any(|accepted| accepted.covers(drift));
        let Drift { object, field, .. } = drift;
        match care(of, field) {
            Care::Safe { left } => Judgement::Mend { left },
            Care::Fixed { why, then } => {
                Judgement::Stick { why: why.to_owned(), then: then.to_owned() }
            }
            Care::Ask { .. } if is_accepted => Judgement::Mend { left: UNTAKEN },
            Care::Ask { why, then } => Judgement::Refuse {
                why: why.to_owned(),
                then: format!("{then}, then run genesis with `--mend --accept {object}.{field}`"),
            },
            Care::NotBelow(Stock::OfASubject) => Judgement::Mend {
                left: "a subject has more messages than that: let them be settled or grow old, and run genesis again",
            },
            Care::NotBelow(_) if is_accepted => Judgement::Mend { left: UNTAKEN },
            Care::NotBelow(stock) => match self.below(stock, object).await {
                Ok(None) => Judgement::Mend { left: UNTAKEN },
                Ok(Some(why)) | Err(why) => Judgement::Refuse {
                    why,
                    then: format!(
                        "wait until less is stored or say a higher limit in the mesh's files; or run genesis with \
                         `--mend --accept {object}.{field}`, which accepts it"
                    ),
                },
            },
        }
    }

    /// Why the limit that should be is below what is stored, if it is; the error says why nobody knows.
    async fn below(&self, stock: Stock, object: &str) -> Result<Option<String>, String> {
        let unknown = || "what is stored can't be compared with it".to_owned();
        let stream = StreamName::from_name(object).ok_or_else(unknown)?;
        let spec = self.topology.stream(stream).ok_or_else(unknown)?;
        let looked = self.administration.inspect(stream).await;
        let state = looked.map_err(|error| error.to_string())?.ok_or_else(unknown)?;
        Ok(match stock {
            Stock::Bytes => {
                let bytes = state.bytes.ok_or_else(unknown)?;
                (bytes > spec.max_bytes).then(|| {
                    format!("{bytes} bytes are stored: nobody could append until they are fewer")
                })
            }
            Stock::Consumers => (state.consumers > u64::from(spec.max_consumers))
                .then(|| format!("there are {} consumers", state.consumers)),
            Stock::Age => {
                let Some(limit) = spec.max_age else { return Ok(None) };
                let Some(oldest) = self.oldest(stream, &state).await? else { return Ok(None) };
                (self.now.saturating_since(oldest) >= limit).then(|| {
                    format!(
                        "messages since {oldest} are stored: the older ones would be let go at once"
                    )
                })
            }
            Stock::OfASubject => None,
        })
    }

    /// When the oldest message was stored, if there is one.
    async fn oldest(
        &self,
        stream: StreamName,
        state: &StreamState,
    ) -> Result<Option<Timestamp>, String> {
        if state.messages == 0 {
            return Ok(None);
        }
        let unknown = "how old the oldest message is can't be seen";
        let first = state.first_sequence.ok_or(unknown)?;
        let read = self.administration.read(stream, Position::Sequence(first)).await;
        let stored = read.map_err(|error| format!("{unknown}: {error}"))?;
        // Gone meanwhile: what is the oldest then can be seen by the next run.
        Ok(Some(stored.ok_or(unknown)?.time))
    }
}

const UNTAKEN: &str =
    "the server did not take the change: look at it by hand, and at the server's log";
