use super::FlowName;
use crate::demo::raise::Raised;

const NO_TOOL: &str = "no module that runs serves a tool";

impl FlowName {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Events => "events reach those who consume them",
            Self::Retry => "a consumer that fails gets the event again",
            Self::Redelivery => {
                "a consumer that ends with an event in hand gets it when it is there again"
            }
            Self::Duplicate => "an event that is on the broker twice is handled once",
            Self::DeadLetter => "an event that can't be handled is kept",
            Self::Causes => "an event that a handler publishes names what caused it",
            Self::Calls => "a call that the files allow is answered",
            Self::Refused => "a call that the files don't allow is refused",
            Self::Unavailable => "a call that nobody can answer is told so at once",
            Self::Grants => "a module is given what it requires, once, until it is withdrawn",
            Self::LegacyRealm => "another realm calls in, with messages of the older form",
            Self::NewRealm => "another realm calls in, with messages of today's form",
        }
    }

    /// What a reader has to know to follow the steps.
    pub(super) fn about(self, proves_callers: bool) -> String {
        let about = match self {
            Self::Events => {
                "Each event is published once from every node that runs its module. Each consumer handles it once, and nobody else gets it."
            }
            Self::Retry => "One consumer fails on purpose at its first try.",
            Self::Redelivery => {
                "One consumer is ended while its handler runs, and started again. What it had not settled was given back, and comes again."
            }
            Self::Duplicate => {
                "Whoever does not hear that an event has arrived brings it again. A consumer knows it by its id."
            }
            Self::DeadLetter => {
                "One consumer fails on purpose at every try. What it gives up is put aside (a \"dead letter\"), with who gave up and why, so that it can be sent again."
            }
            Self::Causes => {
                "The first two consumers of an event publish the first event of their own that somebody consumes, until three have come of each other. Whoever reads them sees which came of which."
            }
            Self::Calls => {
                "A module may call what it lists under `calls`, a person what `tools` lists. An administrator may call everything: the first tool of each module is tried."
            }
            Self::Refused => {
                "Each module and person tries the first tool of another module that the files don't grant. The broker refuses; the tool never hears of it."
            }
            Self::Unavailable => {
                "The call is allowed, but the tool's module runs on no node. The caller is told, and doesn't wait."
            }
            Self::Grants => {
                "The controller asks the module that provides it. A repeat changes nothing, a withdrawal touches nobody else, and what is granted after it is new. The credentials here open nothing."
            }
            Self::LegacyRealm => {
                "A realm is somebody else's mesh. What it sends is checked by guards at the edge of this one; an administrator calls the tool in its stead, and the answer goes back in the form of the question. The older form (\"legacy\") is what realms wrote before MXENV/1."
            }
            Self::NewRealm => "The same with MXENV/1, the form that realms write today.",
        };
        let told = match (self, proves_callers) {
            (Self::Calls, true) => " The tool is told who calls.",
            (Self::Calls, false) => {
                " This broker lets through only whoever may call, and doesn't prove to the tool who it is."
            }
            _ => "",
        };
        format!("{about}{told}")
    }

    /// What the mesh lacks, where there was nothing to try.
    pub(super) fn missing(self, raised: &Raised) -> &'static str {
        let served = !raised.served().is_empty();
        match self {
            Self::Events => "no module that runs emits an event",
            Self::Causes if raised.a_consumed_event(0).is_some() => {
                "no module that consumes an event emits one that another consumes"
            }
            Self::Retry | Self::Redelivery | Self::Duplicate | Self::DeadLetter | Self::Causes => {
                "no module that runs consumes an event that another emits"
            }
            Self::Calls | Self::Refused if !served => NO_TOOL,
            Self::Calls => "nobody is granted a tool that is served",
            Self::Refused => "everybody may call every tool of another module that is served",
            Self::Unavailable => "nobody is granted a tool of a module that runs nowhere",
            Self::Grants => "no module that runs requires what another that runs provides",
            Self::LegacyRealm | Self::NewRealm if raised.administrator().is_none() => {
                "no person here is an administrator, so no realm can be let in"
            }
            Self::LegacyRealm | Self::NewRealm => NO_TOOL,
        }
    }

    /// The word for it on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Retry => "retry",
            Self::Redelivery => "redelivery",
            Self::Duplicate => "duplicate",
            Self::DeadLetter => "dead-letter",
            Self::Causes => "causes",
            Self::Calls => "calls",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Grants => "grants",
            Self::LegacyRealm => "legacy-realm",
            Self::NewRealm => "new-realm",
        }
    }
}
