/// The idempotency of a request, and the rule for its repetitions.
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

    package enum Comparison<Row> {
        /// No request with this key is known, or the known one is too old.
        case isNew
        case repeats(Row)
        /// The known request has another body.
        case conflicts
    }

    /// Compares a request with the earlier one of the same key.
    ///
    /// - Parameter stamp: the time of the request's record, in milliseconds since 1970.
    package static func compare<Row: IdempotencyRow>(
        fingerprint: String, with known: Row?, at stamp: Int64
    ) -> Comparison<Row> {
        guard let known, isKept(writtenAt: known.writtenAt, at: stamp) else { return .isNew }
        return known.fingerprint == fingerprint ? .repeats(known) : .conflicts
    }

    /// Whether a row is kept whose record was written at the given time.
    package static func isKept(writtenAt: Int64, at stamp: Int64) -> Bool {
        stamp - writtenAt < retentionMilliseconds
    }
}

/// A row about the first request with a key.
package protocol IdempotencyRow {
    var fingerprint: String { get }
    /// The timestamp of its record, in milliseconds since 1970.
    var writtenAt: Int64 { get }
}
