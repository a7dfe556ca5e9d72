import Lifecycle
import Testing

@testable import Kafka

// The meaning of Kafka's errors for commits, transactions and sends.

@Test(arguments: [
    KafkaErrorCode.illegalGeneration, .rebalanceInProgress, .unknownMember, .fencedInstance, .assignmentLost,
    .timedOut, .transport, .waitCoordinator, .notCoordinator, .requestTimedOut,
])
func `a commit that fails in a rebalance or an outage is never fatal, and its records are read again`(
    code: KafkaErrorCode
) {
    #expect(CommitOutcome(code: code) == .willBeReadAgain(code))
}

@Test(arguments: [KafkaErrorCode.groupAuthorizationFailed, .metadataTooLarge])
func `a commit that can never succeed is refused`(code: KafkaErrorCode) {
    #expect(CommitOutcome(code: code) == .refused(code))
}

@Test func `a commit without offsets succeeds`() {
    #expect(CommitOutcome(code: .none) == .committed)
    #expect(CommitOutcome(code: .noOffset) == .committed)
}

private struct Case: CustomTestStringConvertible {
    let operation: TransactionFailure.Operation
    let code: KafkaErrorCode
    let kind: TransactionFailure.ErrorClass
    let advice: TransactionFailure.Advice

    var testDescription: String { "\(operation.rawValue): \(code.rawValue), \(kind) -> \(advice)" }
}

@Test(arguments: [
    Case(operation: .sendOffsets, code: .transport, kind: .retriable, advice: .retryCall),
    Case(operation: .sendOffsets, code: .timedOut, kind: .abortable, advice: .abortAndRetry),
    Case(operation: .commit, code: .timedOut, kind: .abortable, advice: .abortAndRetry),
    Case(operation: .commit, code: .timedOut, kind: .retriable, advice: .retryCall),
    Case(operation: .flush, code: .timedOut, kind: .abortable, advice: .abortAndRetry),
    Case(operation: .sendOffsets, code: .fencedInstance, kind: .abortable, advice: .abortAndDiscard),
    Case(operation: .sendOffsets, code: .illegalGeneration, kind: .abortable, advice: .abortAndDiscard),
    Case(operation: .sendOffsets, code: .unknownMember, kind: .abortable, advice: .abortAndDiscard),
    Case(operation: .abort, code: .timedOut, kind: .retriable, advice: .retryCall),
    Case(operation: .abort, code: .timedOut, kind: .unclassified, advice: .retryCall),
    Case(operation: .abort, code: .invalidTransactionState, kind: .abortable, advice: .replaceProducer),
    Case(operation: .abort, code: .invalidTransactionState, kind: .fatal, advice: .replaceProducer),
    Case(operation: .commit, code: .fenced, kind: .fatal, advice: .replaceProducer),
    Case(operation: .sendOffsets, code: .producerFenced, kind: .fatal, advice: .replaceProducer),
    Case(operation: .initialize, code: .timedOut, kind: .retriable, advice: .retryCall),
    Case(
        operation: .initialize, code: .transactionalIDAuthorizationFailed, kind: .fatal,
        advice: .replaceProducer),
    Case(operation: .begin, code: .state, kind: .unclassified, advice: .replaceProducer),
    Case(operation: .commit, code: .outOfOrderSequence, kind: .fatal, advice: .replaceProducer),
])
private func `each transaction failure advises the next action`(one: Case) {
    #expect(
        TransactionFailure(operation: one.operation, code: one.code, text: "text", errorClass: one.kind)
            .advice == one.advice)
}

@Test func `a fenced consumer makes new clients after growing pauses until a quiet minute`() {
    let start = Instant(nanoseconds: 0)
    var renewal = ClientRenewalBackoff(now: start)
    var now = start.advanced(byMilliseconds: 60_000)
    for pause in [1000, 2000, 5000, 10_000, 10_000] {
        #expect(renewal.recordEnd(at: now) == pause)
        #expect(renewal.dueAt == now.advanced(byMilliseconds: pause))
        now = now.advanced(byMilliseconds: pause)
        renewal.recordRenewal(at: now)
        #expect(renewal.dueAt == nil)
    }
    #expect(renewal.recordEnd(at: now.advanced(byMilliseconds: 59_999)) == 10_000)
    renewal.recordRenewal(at: now)
    #expect(renewal.recordEnd(at: now.advanced(byMilliseconds: 60_000)) == 1000)
}

@Test func `a record that is too large is refused, but a full queue is not a refusal`() {
    #expect(SendResult(code: .none) == .queued)
    #expect(SendResult(code: .queueFull) == .full)
    #expect(SendResult(code: .recordTooLarge) == .refused(.recordTooLarge))
    #expect(SendResult(code: .fatal) == .unusable(.fatal))
}

@Test func `an error is one sentence with its code and its remedy`() {
    let error = KafkaError(action: "create topic jobs", code: .transport, text: "broker transport failure")
    #expect(
        error.description
            == "cannot create topic jobs: broker transport failure (_TRANSPORT); check that the brokers in kafka.brokers run and can be reached"
    )
}
