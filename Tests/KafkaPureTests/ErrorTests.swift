import Lifecycle
import Testing

@testable import Kafka

@Test(arguments: [
    ErrorCode.illegalGeneration, .rebalanceInProgress, .unknownMember, .fencedInstance, .assignmentLost,
    .timedOut, .transport, .waitCoordinator, .notCoordinator, .requestTimedOut,
])
func `a commit that fails in a rebalance or an outage is never fatal, and its records are read again`(
    code: ErrorCode
) {
    #expect(CommitOutcome(code) == .willBeReadAgain(code))
}

@Test(arguments: [ErrorCode.groupAuthorizationFailed, .metadataTooLarge])
func `a commit that can never succeed is refused`(code: ErrorCode) {
    #expect(CommitOutcome(code) == .refused(code))
}

@Test func `a commit without offsets succeeds`() {
    #expect(CommitOutcome(.none) == .committed)
    #expect(CommitOutcome(.noOffset) == .committed)
}

private struct Case: CustomTestStringConvertible {
    let operation: TransactionFailure.Operation
    let code: ErrorCode
    let kind: TransactionFailure.Class
    let advice: TransactionFailure.Advice

    var testDescription: String { "\(operation.rawValue): \(code.rawValue), \(kind) -> \(advice)" }
}

@Test(arguments: [
    Case(operation: .offsets, code: .transport, kind: .retriable, advice: .callAgain),
    Case(operation: .offsets, code: .timedOut, kind: .abortable, advice: .abortAndRepeat),
    Case(operation: .commit, code: .timedOut, kind: .abortable, advice: .abortAndRepeat),
    Case(operation: .commit, code: .timedOut, kind: .retriable, advice: .callAgain),
    Case(operation: .flush, code: .timedOut, kind: .abortable, advice: .abortAndRepeat),
    Case(operation: .offsets, code: .fencedInstance, kind: .abortable, advice: .abortAndDrop),
    Case(operation: .offsets, code: .illegalGeneration, kind: .abortable, advice: .abortAndDrop),
    Case(operation: .offsets, code: .unknownMember, kind: .abortable, advice: .abortAndDrop),
    Case(operation: .abort, code: .timedOut, kind: .retriable, advice: .callAgain),
    Case(operation: .abort, code: .timedOut, kind: .unclassed, advice: .callAgain),
    Case(operation: .abort, code: .invalidTransactionState, kind: .abortable, advice: .rebuild),
    Case(operation: .abort, code: .invalidTransactionState, kind: .fatal, advice: .rebuild),
    Case(operation: .commit, code: .fenced, kind: .fatal, advice: .rebuild),
    Case(operation: .offsets, code: .producerFenced, kind: .fatal, advice: .rebuild),
    Case(operation: .initialise, code: .timedOut, kind: .retriable, advice: .callAgain),
    Case(operation: .initialise, code: .transactionalIDAuthorizationFailed, kind: .fatal, advice: .rebuild),
    Case(operation: .begin, code: .state, kind: .unclassed, advice: .rebuild),
    Case(operation: .commit, code: .outOfOrderSequence, kind: .fatal, advice: .rebuild),
])
private func `each transaction failure advises the next action`(one: Case) {
    #expect(TransactionFailure(one.operation, one.code, text: "text", as: one.kind).advice == one.advice)
}

@Test func `a fenced consumer makes new clients after growing pauses until a quiet minute`() {
    let start = Instant(nanoseconds: 0)
    var renewal = ClientRenewal(now: start)
    var now = start.advanced(byMilliseconds: 60_000)
    for pause in [1000, 2000, 5000, 10_000, 10_000] {
        #expect(renewal.ended(at: now) == pause)
        #expect(renewal.dueAt == now.advanced(byMilliseconds: pause))
        now = now.advanced(byMilliseconds: pause)
        renewal.renewed(at: now)
        #expect(renewal.dueAt == nil)
    }
    #expect(renewal.ended(at: now.advanced(byMilliseconds: 59_999)) == 10_000)
    renewal.renewed(at: now)
    #expect(renewal.ended(at: now.advanced(byMilliseconds: 60_000)) == 1000)
}

@Test func `a record that is too large is refused, but a full queue is not a refusal`() {
    #expect(SendResult(.none) == .queued)
    #expect(SendResult(.queueFull) == .full)
    #expect(SendResult(.recordTooLarge) == .refused(.recordTooLarge))
    #expect(SendResult(.fatal) == .rebuild(.fatal))
}

@Test func `an error is one sentence with its code and its remedy`() {
    let error = KafkaError("create topic jobs", .transport, text: "broker transport failure")
    #expect(
        error.description
            == "cannot create topic jobs: broker transport failure (_TRANSPORT); check that the brokers in kafka.brokers run and can be reached"
    )
}
