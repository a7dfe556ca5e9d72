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

    init(id: String, facts: TransactionFacts) {
        self.id = id
        self.facts = facts
    }
}
