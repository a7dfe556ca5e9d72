internal import Lifecycle

/// One transactional id with its current or last transaction.
final class Transaction {
    let id: String
    /// The durable state.
    var facts: TransactionFacts
    /// Whether a change of the facts is being appended to the log. Until its outcome is known, other
    /// requests are answered with CONCURRENT_TRANSACTIONS, and the client repeats them.
    var isChanging = false
    /// The end of the open transaction's timeout, or the time of the next attempt at markers.
    var deadline: Instant?
    /// The waiting EndTxn request. It is answered after the first attempt at the markers.
    var pendingEnd: ReplyToken?

    // The markers of the decision.

    /// The attempt under way.
    var markersUnderWay: MarkersID?
    /// The partitions and groups that the last attempt left without a marker; nil before the first attempt.
    var remainingMarkers: RemainingMarkers?

    init(id: String, facts: TransactionFacts) {
        self.id = id
        self.facts = facts
    }
}
