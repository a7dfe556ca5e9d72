/// The limit of the records that one transaction takes. It halves after each failure and doubles after each success. So
/// a transaction whose output is too large or too slow for the cluster becomes smaller.
package struct TransactionSizeLimit: Sendable {
    package let recordsMax: Int
    /// The limit now.
    package private(set) var records: Int

    package init(recordsMax: Int) {
        self.recordsMax = recordsMax
        records = recordsMax
    }

    /// Halves the limit after a transaction of `count` records failed.
    package mutating func shrink(afterFailureOf count: Int) { records = max(1, min(records, count) / 2) }

    /// Doubles the limit after a transaction was committed.
    package mutating func grow() { records = min(recordsMax, 2 * records) }
}
