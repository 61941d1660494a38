/// What a broker holds at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Connections that somebody still holds.
    pub connections: usize,
    /// Live subscriptions and servers of calls.
    pub subscriptions: usize,
    /// Requests that wait for their answer.
    pub pending_requests: usize,
    /// Answers that came when nobody waited for them any more, since the broker began.
    pub late_answers: u64,
    /// Answers that were denied when they were on their way, since the broker began.
    pub lost_answers: u64,
    /// Points in time that the broker waits for.
    pub timers: usize,
}
