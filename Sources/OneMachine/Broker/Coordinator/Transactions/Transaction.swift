internal import Lifecycle

/// One transactional id at run time: its durable state and its pending change.
final class Transaction {
    let id: String
    var facts: TransactionFacts
    /// Whether a change is not confirmed by the log yet. Until then, other requests must be repeated.
    var isChanging = false
    var deadline: Instant?
    /// The markers under way.
    var markers: MarkersID?
    var ending: ReplyToken?
    /// The rest after the last attempt at the markers; nil before the first attempt.
    var remainingMarkers: RemainingMarkers?
    /// Number of attempts that left markers out.
    var failedAttempts = 0

    /// Begins the markers of another decision.
    func forgetAttempts() {
        remainingMarkers = nil
        failedAttempts = 0
    }

    init(id: String, facts: TransactionFacts) {
        self.id = id
        self.facts = facts
    }
}
