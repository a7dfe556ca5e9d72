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

/// A failure of a transaction call, and the advice that it must give.
private struct FailureCase: CustomTestStringConvertible {
    let operation: TransactionFailure.Operation
    let code: KafkaErrorCode
    let errorClass: TransactionFailure.ErrorClass
    let advice: TransactionFailure.Advice

    var testDescription: String { "\(operation.rawValue): \(code.rawValue), \(errorClass) -> \(advice)" }
}

@Test(arguments: [
    FailureCase(operation: .sendOffsets, code: .transport, errorClass: .retriable, advice: .retryCall),
    FailureCase(operation: .sendOffsets, code: .timedOut, errorClass: .abortable, advice: .abortAndRetry),
    FailureCase(operation: .commit, code: .timedOut, errorClass: .abortable, advice: .abortAndRetry),
    FailureCase(operation: .commit, code: .timedOut, errorClass: .retriable, advice: .replaceProducer),
    FailureCase(operation: .commit, code: .transport, errorClass: .retriable, advice: .replaceProducer),
    FailureCase(operation: .flush, code: .timedOut, errorClass: .abortable, advice: .abortAndRetry),
    FailureCase(
        operation: .sendOffsets, code: .fencedInstance, errorClass: .abortable, advice: .abortAndDiscard),
    FailureCase(
        operation: .sendOffsets, code: .illegalGeneration, errorClass: .abortable, advice: .abortAndDiscard),
    FailureCase(
        operation: .sendOffsets, code: .unknownMember, errorClass: .abortable, advice: .abortAndDiscard),
    FailureCase(operation: .abort, code: .timedOut, errorClass: .retriable, advice: .replaceProducer),
    FailureCase(operation: .abort, code: .timedOut, errorClass: .unclassified, advice: .replaceProducer),
    FailureCase(
        operation: .abort, code: .invalidTransactionState, errorClass: .abortable, advice: .replaceProducer),
    FailureCase(
        operation: .abort, code: .invalidTransactionState, errorClass: .fatal, advice: .replaceProducer),
    FailureCase(operation: .commit, code: .fenced, errorClass: .fatal, advice: .replaceProducer),
    FailureCase(operation: .sendOffsets, code: .producerFenced, errorClass: .fatal, advice: .replaceProducer),
    FailureCase(operation: .initialize, code: .timedOut, errorClass: .retriable, advice: .retryCall),
    FailureCase(
        operation: .initialize, code: .transactionalIDAuthorizationFailed, errorClass: .fatal,
        advice: .replaceProducer),
    FailureCase(operation: .begin, code: .state, errorClass: .unclassified, advice: .replaceProducer),
    FailureCase(operation: .commit, code: .outOfOrderSequence, errorClass: .fatal, advice: .replaceProducer),
])
private func `each transaction failure advises the next action`(failure: FailureCase) {
    #expect(
        TransactionFailure(
            operation: failure.operation, code: failure.code, text: "text", errorClass: failure.errorClass
        ).advice == failure.advice)
}

@Test
func `a fenced consumer makes new clients after growing pauses, which begin again after a quiet minute`() {
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

@Test func `a new client that cannot be made is tried again after growing pauses, also after a long life`() {
    let end = Instant(nanoseconds: 0).advanced(byMilliseconds: 3_600_000)
    var renewal = ClientRenewalBackoff(now: Instant(nanoseconds: 0))
    for pause in [1000, 2000, 5000, 10_000] { #expect(renewal.recordEnd(at: end) == pause) }
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
