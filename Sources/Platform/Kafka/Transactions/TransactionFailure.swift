/// A failure of a transactional call, with advice on the next step.
package struct TransactionFailure: Error, Equatable, CustomStringConvertible {
    /// A call of the library. The raw value completes "cannot …" in an error.
    package enum Operation: String, Sendable {
        case initialize = "start transactions"
        case begin = "begin a transaction"
        case sendOffsets = "send offsets to the transaction"
        case flush = "deliver the records of the transaction"
        case commit = "commit the transaction"
        case abort = "abort the transaction"
    }

    /// The class that the client library gives the error.
    package enum ErrorClass: Sendable {
        /// Nothing is lost. The same call may be repeated.
        case retriable
        /// This transaction is lost. The producer can still be used.
        case abortable
        /// This producer is lost. Another producer may have taken its place.
        case fatal
        /// The library gave no class: the call does not fit the producer's state.
        case unclassified
    }

    /// The next step of the caller.
    package enum Advice: Sendable, Equatable {
        /// Repeat the same call until a deadline.
        case retryCall
        /// Abort, then do the same work again.
        case abortAndRetry
        /// Abort and drop the work, because its partitions belong to another process.
        case abortAndDiscard
        /// Make a new producer with the same id if this process still holds the slot and the assignment.
        /// Then trust the committed offsets and not the memory, because the outcome of this transaction is
        /// unknown.
        case replaceProducer
    }

    package let operation: Operation
    package let code: KafkaErrorCode
    package let text: String
    package let errorClass: ErrorClass

    package init(operation: Operation, code: KafkaErrorCode, text: String, errorClass: ErrorClass) {
        self.operation = operation
        self.code = code
        self.text = text
        self.errorClass = errorClass
    }

    package var advice: Advice {
        switch (errorClass, operation) {
        case (.fatal, _): .replaceProducer
        // The outcome is unknown, and comes later. If the call is repeated, the library can take the late answer for
        // the answer to another call. It then ends the process (librdkafka 2.0.2). A new producer ends the
        // transaction.
        case (.retriable, .commit), (_, .abort): .replaceProducer
        case (.retriable, _): .retryCall
        case (.abortable, _): hasLostPartitions ? .abortAndDiscard : .abortAndRetry
        case (.unclassified, .flush): .abortAndRetry
        case (.unclassified, _): .replaceProducer
        }
    }

    /// Whether some partitions did not take the records of the transaction in time.
    var isDeliveryFailure: Bool {
        switch code {
        case .messageTimedOut, .notEnoughReplicas, .notEnoughReplicasAfterAppend: true
        case .timedOut: operation == .flush
        default: false
        }
    }

    /// Whether the group gave the consumed partitions to another member.
    private var hasLostPartitions: Bool {
        switch code {
        case .fencedInstance, .illegalGeneration, .unknownMember, .assignmentLost: true
        default: false
        }
    }

    package var description: String { "cannot \(operation.rawValue): \(text) (\(code.name)); \(code.remedy)" }
}
