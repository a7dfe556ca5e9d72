internal import Lifecycle

/// One transactional id at run time: what is durable of it, and what is on its way.
final class Transaction {
    let id: String
    var facts: TransactionFacts
    /// A change that the log has not confirmed. Until it has, everybody else is told to come again.
    var isChanging = false
    var deadline: Instant?
    /// The markers under way, and who waits for them.
    var markers: MarkersID?
    var ending: ReplyToken?
    /// The rest after the last attempt at the markers; nil before the first attempt.
    var left: MarkersLeft?
    /// Attempts that did not mark everything.
    var failedAttempts = 0

    /// Begins the markers of another decision.
    func forgetAttempts() {
        left = nil
        failedAttempts = 0
    }

    init(id: String, facts: TransactionFacts) {
        self.id = id
        self.facts = facts
    }
}
