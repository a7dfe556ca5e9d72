/// How many reports one transaction takes, where what they make is more than a transaction can hold or
/// the cluster takes in time: half as many after each failure, twice as many after each success.
struct TransactionBound {
    let reportsMax: Int
    private(set) var reports: Int

    init(reportsMax: Int) {
        self.reportsMax = reportsMax
        reports = reportsMax
    }

    /// A transaction of so many reports was too much.
    mutating func failed(_ count: Int) { reports = max(1, min(reports, count) / 2) }

    mutating func committed() { reports = min(reportsMax, 2 * reports) }
}
