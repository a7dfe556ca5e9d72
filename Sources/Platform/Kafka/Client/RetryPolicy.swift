internal import Glibc
internal import Lifecycle

/// The repetition of a call that a cluster cannot answer yet, until it succeeds or a deadline passes.
struct RetryPolicy {
    /// The pause between two attempts.
    static let pauseMicroseconds: UInt32 = 20_000

    private let startedAt = Instant.now()
    private let deadline: Deadline
    /// The error to throw at the deadline.
    private var reportedError: KafkaError?

    init(until deadline: Deadline) { self.deadline = deadline }

    /// Repeats a call until it succeeds, fails permanently, or the time is over.
    static func retry<Answer>(
        until deadline: Deadline, call: () throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        var policy = RetryPolicy(until: deadline)
        while true {
            do {
                return try call()
            } catch {
                try policy.waitForNextAttempt(after: error)
            }
        }
    }

    /// Waits until the next attempt. Throws if the error is permanent or the time is over.
    private mutating func waitForNextAttempt(after error: KafkaError) throws(KafkaError) {
        // A timeout says less than an earlier error of the cluster, so the earlier error is kept.
        if error.code != .timedOut || reportedError == nil { reportedError = error }
        guard isRetryable(error.code, at: .now()), deadline.millisecondsLeft > 0 else {
            throw reportedError ?? error
        }
        pause(microseconds: Self.pauseMicroseconds)
    }

    private func isRetryable(_ code: KafkaErrorCode, at now: Instant) -> Bool {
        switch code.retryability {
        case .never: false
        case .untilTopicSettles: now.milliseconds(since: startedAt) < KafkaErrorCode.topicSettleMilliseconds
        case .always: true
        }
    }
}

func pause(microseconds: UInt32) { usleep(microseconds) }
