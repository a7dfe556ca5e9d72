/// The reports of one partition in a batch.
struct BatchPart {
    let partition: Int32
    /// Where they lie in the batch, in their order.
    var places: [Int] = []
    /// How many of them are in a transaction.
    var taken = 0

    var isTaken: Bool { taken == places.count }
}
