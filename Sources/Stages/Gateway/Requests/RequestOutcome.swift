/// The end of a request that is no report, as a metric label.
enum RequestOutcome: String, Sendable, CaseIterable {
    /// The records are stored.
    case accepted
    /// There was nothing to store, or the scheduler replied.
    case answered
    /// The command to the scheduler is stored, but the scheduler did not reply in time.
    case underWay
    /// The request is invalid.
    case refused
    /// The records may not be stored. The answer is 503.
    case unstored
}
