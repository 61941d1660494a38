use mesh_core::topology::DurableQueueError;

/// Why a text is no definitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionsError {
    /// It is no JSON object; the reader's words.
    #[error("definitions: {0}")]
    Json(String),
    /// A section that no definitions have.
    #[error("definitions: no section is called {0}")]
    Section(String),
    /// A section that is no list of rows.
    #[error("definitions: {0} is no list")]
    NoList(String),
    /// A row that does not say which it is.
    #[error("definitions: a row of {section} has no {field}")]
    Row {
        /// The section.
        section: &'static str,
        /// What is missing, or is no text.
        field: &'static str,
    },
}

/// Why somebody or something has no place on a RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A virtual host's name that is empty, too long, or has a control character in it.
    #[error("virtual host {0:?}: 1 to 255 bytes without control characters")]
    VirtualHost(String),
    /// Two members of one name.
    #[error("{0} is there twice")]
    Twice(String),
    /// A queue's name that would be longer than RabbitMQ takes.
    #[error("queue {name}: {found} bytes long, at most 255 are allowed")]
    QueueName {
        /// The name.
        name: String,
        /// Its bytes.
        found: usize,
    },
    /// A topology that AMQP has no form for.
    #[error(transparent)]
    Topology(#[from] DurableQueueError),
}

/// Why a mesh has no definitions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RabbitError {
    /// Users without a hash of a password, by name.
    #[error("no hash of a password is known of {}", .0.join(", "))]
    NoHash(Vec<String>),
    /// Somebody or something has no place there.
    #[error(transparent)]
    Host(#[from] HostError),
}
