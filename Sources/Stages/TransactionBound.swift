/// How many records one transaction takes, where what they make is more than a transaction can hold or
/// the cluster takes in time: half as many after each failure, twice as many after each success.
package struct TransactionBound: Sendable {
    package let recordsMax: Int
    package private(set) var records: Int

    package init(recordsMax: Int) {
        self.recordsMax = recordsMax
        records = recordsMax
    }

    /// A transaction of so many records was too much.
    package mutating func failed(_ count: Int) { records = max(1, min(records, count) / 2) }

    package mutating func committed() { records = min(recordsMax, 2 * records) }
}
