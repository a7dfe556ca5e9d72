/// A failure of a transactional call, with advice on the next step.
package struct TransactionFailure: Error, Equatable, CustomStringConvertible {
    package enum Operation: String, Sendable {
        case initialise = "start transactions"
        case begin = "begin a transaction"
        case offsets = "send offsets to the transaction"
        case flush = "deliver the records of the transaction"
        case commit = "commit the transaction"
        case abort = "abort the transaction"
    }

    /// The class that the client library gives the error.
    package enum Class: Sendable {
        /// Nothing is lost. The same call may be repeated.
        case retriable
        /// This transaction is lost. The producer can still be used.
        case abortable
        /// This producer is lost. Another producer may have taken its place.
        case fatal
        /// The library gave no class: the call does not fit the producer's state.
        case unclassed
    }

    package enum Advice: Sendable, Equatable {
        /// Repeat the same call until a deadline.
        case callAgain
        /// Abort, then do the same work again.
        case abortAndRepeat
        /// Abort and drop the work, because its partitions belong to another process.
        case abortAndDrop
        /// Make a new producer with the same id if this process still holds the slot and the assignment.
        /// Then trust the committed offsets and not the memory, because the outcome of this transaction is
        /// unknown.
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

    /// Whether the group gave the consumed partitions to another member.
    private var losesItems: Bool {
        switch code {
        case .fencedInstance, .illegalGeneration, .unknownMember, .assignmentLost: true
        default: false
        }
    }

    package var description: String { "cannot \(operation.rawValue): \(text) (\(code.name)); \(code.remedy)" }
}
