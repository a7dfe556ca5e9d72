/// The memory of a sender.
extension SenderSettings {
    /// The part of the bound that no setting changes: the program, its Kafka clients, the connections to APNs, and
    /// freed memory that the heaps keep.
    private static let fixedBytes = 128 << 20
    /// The memory of a job whose push has no stored outcome: its claims, its request on a connection, its receipt.
    private static let permitBytes = 4 << 10
    /// The most bytes in the headers of a sheet: the addresses of 1,000 jobs.
    private static let sheetHeaderBytes = 300 << 10
    /// The memory of a lane beside its sheets: its window, its ledger of receipts, its newest versions.
    private static let laneBytes = 4 << 20

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and has this many lanes.
    ///
    /// A sheet in hand counts twice, for its bytes and for the state of its lines.
    package func anonymousBytesMax(lanes: Int) -> Int {
        let fetchedAhead =
            prefetchKibibytesMax << 10 + prefetchSheetsMax * Self.sheetHeaderBytes + fetchKibibytesMax << 10
        let loopBytes = fetchedAhead + Self.batchBytesMax
        return Self.fixedBytes + 2 * limits.sheetBytesMax + Self.permitBytes * limits.permitsMax
            + loopBytes * loops + Self.laneBytes * lanes
    }
}
