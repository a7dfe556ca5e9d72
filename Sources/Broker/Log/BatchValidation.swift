extension BatchHeader {
    /// Records of one batch, so that a hostile count cannot buy memory with a few bytes.
    package static let recordsMax = 10_000_000

    /// Parses what a producer sent and checks that it is exactly one sound batch: lengths, format,
    /// checksum, counts. The records inside are looked at by `RecordReader` where a topic needs it.
    package static func parse(received bytes: UnsafeRawBufferPointer) throws(LogError) -> BatchHeader {
        guard bytes.count >= size else {
            throw .corruptBatch("it has \(bytes.count) bytes, fewer than a header")
        }
        let header = unsafe BatchHeader(bytes)
        if let flaw = header.flaw { throw .corruptBatch(flaw) }
        guard header.totalSize <= bytes.count else {
            throw .corruptBatch("it says \(header.totalSize) bytes and has \(bytes.count)")
        }
        guard header.totalSize == bytes.count else {
            throw .invalidRecord("a request must have one batch a partition, this one has more")
        }
        guard unsafe header.checksumHolds(bytes) else { throw .corruptBatch("its checksum does not match") }
        return header
    }

    /// What is wrong with the fields by themselves, nil if nothing.
    var flaw: String? {
        if magic != 2 { return "its format is \(magic), only 2 is known" }
        if totalSize < Self.size { return "its length is \(batchLength)" }
        if lastOffsetDelta < 0 { return "its last offset is \(lastOffsetDelta) after its first" }
        if recordCount < 0 || recordCount > Self.recordsMax { return "its record count is \(recordCount)" }
        if baseOffset < 0 { return "its offset is \(baseOffset)" }
        return nil
    }

    /// What a producer's batch must be beyond a stored one: compaction leaves holes, producers do not.
    func checkProduced() throws(LogError) {
        guard recordCount > 0, lastOffsetDelta == recordCount - 1 else {
            throw .invalidRecord("it says \(recordCount) records and \(lastOffsetDelta) as its last offset")
        }
        guard codec <= 4 else { throw .unsupportedCodec(codec) }
        guard !isControl else { throw .invalidRecord("only the broker writes control records") }
        guard !hasProducer || (producerEpoch >= 0 && baseSequence >= 0) else {
            throw .invalidRecord("it has a producer id without epoch or sequence")
        }
        guard !isTransactional || hasProducer else {
            throw .invalidRecord("it is transactional without a producer id")
        }
    }

    /// `bytes` is the whole batch, or more.
    func checksumHolds(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe CRC32C.of(UnsafeRawBufferPointer(rebasing: bytes[Self.checked..<totalSize])) == crc
    }

    /// Whether stored bytes are the whole batch that must come at `offset`; they are never served otherwise.
    /// The fields outside of the checksum have one right value each: offsets have no gaps.
    func isSound(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        flaw == nil && baseOffset == offset && leaderEpoch == 0 && totalSize <= bytes.count
            && (unsafe checksumHolds(bytes))
    }
}
