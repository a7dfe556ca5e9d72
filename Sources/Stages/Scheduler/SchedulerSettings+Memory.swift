/// The memory of a scheduler.
extension SchedulerSettings {
    /// The part of the bound that no setting changes: the program, what its Kafka clients fetch ahead, the records of
    /// one transaction, and freed memory that the heaps keep.
    private static let fixedBytes = 128 << 20
    /// The memory of an overlay's row beside its key and record.
    private static let overlayRowBytes = 256
    /// The memory of a command in a batch, decoded, beside the bytes that other limits count.
    private static let batchCommandBytes = 4 << 10
    /// The memory of a timer that fires in a batch, decoded.
    private static let firedTimerBytes = 8 << 10
    /// The pages of a view's largest transaction, which LMDB keeps, and the buffers of its rows.
    private static let partitionBytes = 4 << 20

    /// The most anonymous memory of a process (`RssAnon`) that runs only this stage and has this many partitions. The
    /// files of the views are mapped and do not count.
    package func anonymousBytesMax(partitions: Int) -> Int {
        Self.fixedBytes + 2 * (overlayBytesMax + batchBytesMax) + Self.overlayRowBytes * overlayRowsMax
            + Self.batchCommandBytes * batchCommandsMax + Self.firedTimerBytes * firesMax
            + Self.partitionBytes * partitions
    }
}
