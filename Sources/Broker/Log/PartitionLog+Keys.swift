extension PartitionLog {
    /// A compacted topic keeps the newest record of each key, so every record must have one.
    func checkKeys(_ header: BatchHeader, _ batch: UnsafeRawBufferPointer) throws(LogError) {
    }
}
