/// A transactional call that did not do its work, and what to do about it.
package struct TransactionFailure: Error, Equatable, CustomStringConvertible {
    package enum Operation: String, Sendable {
        case initialise = "start transactions"
        case begin = "begin a transaction"
        case offsets = "send offsets to the transaction"
        case flush = "deliver the records of the transaction"
        case commit = "commit the transaction"
        case abort = "abort the transaction"
    }

    /// How the client library classes the error.
    package enum Class: Sendable {
        /// Nothing is lost: the same call may be made again.
        case retriable
        /// This transaction is lost, the producer is not.
        case abortable
        /// This producer is lost. Another one has, perhaps, taken its place.
        case fatal
        /// None of the three: a call that does not fit the producer's state.
        case unclassed
    }

    package enum Advice: Sendable, Equatable {
        /// Make the same call again, to a deadline.
        case callAgain
        /// Abort, then do the same work again.
        case abortAndRepeat
        /// Abort, and drop the work: its partitions belong to another process.
        case abortAndDrop
        /// Make a new producer with the same id if slot and assignment are still held, then trust
        /// the committed offsets, not the memory: the outcome of this transaction is unknown.
        case rebuild
    }

    package let operation: Operation
    package let code: ErrorCode
    package let text: String
    package let kind: Class

    package init(_ operation: Operation, _ code: ErrorCode, text: String, as kind: Class) {
        self.operation = operation
        self.code = code
        self.text = text
        self.kind = kind
    }

    package var advice: Advice {
        switch (kind, operation) {
        case (.fatal, _): .rebuild
        case (_, .abort) where code == .timedOut: .callAgain
        case (.retriable, _): .callAgain
        case (.abortable, .abort): .rebuild
        case (.abortable, _): losesItems ? .abortAndDrop : .abortAndRepeat
        case (.unclassed, .flush): .abortAndRepeat
        case (.unclassed, _): .rebuild
        }
    }

    /// The group has given the consumed partitions to another member.
    private var losesItems: Bool {
        switch code {
        case .fencedInstance, .illegalGeneration, .unknownMember, .assignmentLost: true
        default: false
        }
    }

    package var description: String { "cannot \(operation.rawValue): \(text) (\(code.name)); \(code.remedy)" }
}
