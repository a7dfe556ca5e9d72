/// The memory of an insight process.
extension InsightSettings {
    /// The part of the bound that no setting changes: the program, its Kafka clients, one query with its answer, and
    /// freed memory that the heaps keep.
    private static let fixedBytes = 128 << 20
    /// The most bytes of a receipt with its headers: 1,000 jobs that name their phone, entry and user.
    private static let receiptBytes = 96 << 10
    /// The pages of a lane's file that SQLite keeps.
    private static let laneBytes = 5 << 20

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and has this many lanes. The
    /// mapped parts of files do not count.
    ///
    /// A batch counts twice, for its records and for the rows made from them.
    package func anonymousBytesMax(lanes: Int) -> Int {
        Self.fixedBytes + 2 * batchBytesMax + Self.receiptBytes * prefetchRecordsMax
            + Self.laneBytes * lanes
    }
}
