/// The search for a second process with this process's identity, in the records of the topic `members`.
///
/// Two processes with one identity fence each other in Kafka for ever, so the process that started later ends.
/// A lock on the data directory allows one process with its identity, so an earlier run has ended before this
/// run writes. A record of another run behind this run's own record is therefore of a copied directory.
package struct IdentityCheck {
    private let ownFacts: ProcessFacts
    /// Whether this run's own record has been read.
    private var hasReadOwn = false

    package init(of ownFacts: ProcessFacts) { self.ownFacts = ownFacts }

    /// Takes the next record of the topic. Returns an error if this process has to end.
    package mutating func check(_ facts: ProcessFacts) -> SharedIdentityError? {
        guard facts.process == ownFacts.process else { return nil }
        if facts.instance == ownFacts.instance {
            hasReadOwn = true
            return nil
        }
        let startedEarlier =
            (facts.startedAt, facts.instance) < (ownFacts.startedAt, ownFacts.instance)
        return hasReadOwn && startedEarlier ? SharedIdentityError(with: facts) : nil
    }
}
