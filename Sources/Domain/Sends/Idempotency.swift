/// The idempotency key of a request with a hash of its body, and the rule for repeated requests.
///
/// A caller that got no answer repeats its request under the same `Idempotency-Key`. The planner keeps a row for
/// each send with a key, and the scheduler keeps one for each schedule. Within a day, a repetition does nothing
/// and gets the first answer. The same key with another body is a conflict.
package struct Idempotency: Sendable, Hashable {
    /// The time after which a repeated request counts as a new one.
    package static let retentionMilliseconds: Int64 = 86_400_000

    package var key: String
    /// A hash of the request's body.
    package var fingerprint: String

    package init(key: String, fingerprint: String) {
        self.key = key
        self.fingerprint = fingerprint
    }

    /// The result of comparing a request with the earlier one of the same key.
    package enum Comparison<Row> {
        /// No earlier request is known, or it is too old.
        case isNew
        /// The earlier request had the same body. The value is its row.
        case repeats(Row)
        /// The earlier request had another body. The value is its row.
        case conflicts(Row)
    }

    /// Compares a request with the earlier one of the same key.
    ///
    /// - Parameters:
    ///   - earlier: the row of the earlier request, if there is one.
    ///   - timestamp: the time of the request's record, in milliseconds since 1970.
    package static func compare<Row: IdempotencyRow>(
        fingerprint: String, with earlier: Row?, at timestamp: Int64
    ) -> Comparison<Row> {
        guard let earlier, isKept(writtenAt: earlier.writtenAt, at: timestamp) else { return .isNew }
        return earlier.fingerprint == fingerprint ? .repeats(earlier) : .conflicts(earlier)
    }

    /// Whether a row that was written at `writtenAt` still counts at `timestamp`, both in milliseconds since
    /// 1970.
    package static func isKept(writtenAt: Int64, at timestamp: Int64) -> Bool {
        timestamp - writtenAt < retentionMilliseconds
    }
}

/// A row about the first request with an idempotency key.
package protocol IdempotencyRow {
    /// A hash of the request's body.
    var fingerprint: String { get }
    /// The timestamp of the row's record, in milliseconds since 1970.
    var writtenAt: Int64 { get }
}
