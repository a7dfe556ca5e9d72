/// The reports of one partition in a batch.
struct BatchPart {
    let partition: Int32
    /// The indices of the reports in the batch, in order.
    var places: [Int] = []
    /// The number of them that a transaction has taken.
    var taken = 0

    var isTaken: Bool { taken == places.count }
}
