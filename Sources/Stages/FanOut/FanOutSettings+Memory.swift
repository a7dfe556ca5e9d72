/// The memory of fan-out.
extension FanOutSettings {
    /// The part of the bound that no setting changes: the program, what its Kafka clients fetch ahead and send, the
    /// catalog, one transaction of each loop, and freed memory that the heaps keep. A transaction of the planner has at
    /// most 16 MiB of rows and 24 MiB of output, or one send with more. A page of the expander has at most 100,000
    /// tokens.
    private static let fixedBytes = 448 << 20
    /// The memory of an overlay's row beside its key and record.
    private static let overlayRowBytes = 256
    /// The memory of a send in a batch, decoded and planned, beside the bytes that other limits count.
    private static let batchSendBytes = 8 << 10
    /// The memory of a lane: the requests of both its topics that are read ahead, decoded, the changes of its registry,
    /// and the pages of the largest transactions of its three files, which LMDB keeps.
    private static let laneBytes = 12 << 20

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and has this many lanes. The files
    /// of the views and of the registry are mapped and do not count.
    ///
    /// Planner and expander have an overlay each.
    package func anonymousBytesMax(lanes: Int) -> Int {
        Self.fixedBytes + 2 * (overlayBytesMax + Self.overlayRowBytes * overlayRowsMax)
            + Self.batchSendBytes * batchSendsMax + Self.laneBytes * lanes
    }
}
