package import Telemetry

/// The offsets of an appended batch.
package struct AppendResult: Equatable, Sendable {
    package var baseOffset: Int64
    /// The append is safe when the log is durable up to this offset.
    package var nextOffset: Int64
    /// The time that the broker gave the records, in milliseconds since 1970; -1 if they keep their own.
    package var logAppendTime: Int64
    /// Whether the log had the batch already and wrote nothing.
    package var isDuplicate: Bool
}

extension PartitionLog {
    /// Appends one batch from a producer. On any error, nothing is appended.
    package func append(_ batch: UnsafeRawBufferPointer, now: WallTime) throws(LogError) -> AppendResult {
        try checkOpen()
        var header = try unsafe BatchHeader.parse(received: batch)
        try header.checkProduced()
        guard batch.count <= settings.maxMessageBytes else {
            throw .batchTooLarge(bytes: batch.count, limit: settings.maxMessageBytes)
        }
        // -1 means no time. Smaller values would overflow when ages are computed.
        guard settings.usesAppendTime || header.maxTimestamp >= -1 else {
            throw .timestampOutOfRange(header.maxTimestamp)
        }
        if settings.isCompacted { try unsafe checkKeys(of: header, batch: batch) }
        if case .duplicate(let offset, let time) = try producers.checkAppend(header) {
            return AppendResult(
                baseOffset: offset, nextOffset: offset + Int64(header.lastOffsetDelta) + 1,
                logAppendTime: settings.usesAppendTime ? time : -1, isDuplicate: true)
        }
        header.baseOffset = endOffset
        header.leaderEpoch = 0
        if settings.usesAppendTime { unsafe header.setAppendTime(now.milliseconds, batch: batch) }
        try unsafe write(header, batch: batch, now: now)
        producers.recordAppend(header, now: now.milliseconds)
        finishAppend()
        return AppendResult(
            baseOffset: header.baseOffset, nextOffset: endOffset,
            logAppendTime: settings.usesAppendTime ? header.maxTimestamp : -1, isDuplicate: false)
    }

    /// Appends the marker that ends a producer's transaction here.
    package func appendMarker(
        producerID: Int64, epoch: Int16, commit: Bool, coordinatorEpoch: Int32 = 0, now: WallTime
    ) throws(LogError) -> AppendResult {
        try checkOpen()
        try producers.checkMarker(producerID: producerID, epoch: epoch)
        let batch = BatchBuilder.marker(
            producerID: producerID, epoch: epoch, commit: commit, coordinatorEpoch: coordinatorEpoch,
            time: now.milliseconds)
        let offset = endOffset
        try unsafe batch.withBytes { (bytes) throws(LogError) in
            var header = unsafe BatchHeader(parsing: bytes)
            header.baseOffset = offset
            try unsafe write(header, batch: bytes, now: now)
        }
        producers.recordMarker(
            producerID: producerID, epoch: epoch, commit: commit, at: offset, now: now.milliseconds)
        finishAppend()
        return AppendResult(baseOffset: offset, nextOffset: endOffset, logAppendTime: -1, isDuplicate: false)
    }

    /// Writes `header` and the records of `batch` at the end of the log. Begins another segment first if
    /// the active one is full.
    private func write(_ header: BatchHeader, batch: UnsafeRawBufferPointer, now: WallTime) throws(LogError) {
        try rollIfDue(adding: header, now: now)
        let segment = activeSegment
        var headerBytes = BatchHeader.EncodedBytes(repeating: 0)
        do throws(DiskError) {
            let file = try segment.openFile(with: environment.openSegments)
            var span = headerBytes.mutableSpan
            try unsafe span.withUnsafeMutableBytes { (buffer) throws(DiskError) in
                unsafe header.write(to: buffer)
                try unsafe environment.disk.write(
                    UnsafeRawBufferPointer(buffer),
                    body: UnsafeRawBufferPointer(rebasing: batch[BatchHeader.size..<header.totalSize]),
                    to: file, at: segment.size)
            }
        } catch {
            undoWrite(to: segment, error: error)
            throw .disk(error)
        }
        isAppendFailing = false
        segment.isDirty = true
        segment.recordAppend(header, now: now.milliseconds)
        endOffset = header.nextOffset
        checkpoints.recordAppend(byteCount: header.totalSize)
        environment.counters.appendedBytes.add(header.totalSize)
    }

    /// Number of offsets that a log skips when acknowledged records may be lost. A log cannot append so many records in
    /// the time for which the operating system keeps written pages only in memory.
    static let skippedOffsets: Int64 = 10_000_000

    /// Skips offsets that lost records may have had, with an empty batch. If new records got the same
    /// offsets, a reader that is ahead of the log would take them for records that it has read.
    func skipOffsets() throws(LogError) {
        var header = BatchHeader(baseOffset: endOffset)
        header.lastOffsetDelta = Int32(Self.skippedOffsets - 1)
        let batch = BatchBuilder.assemble(header: header, body: [])
        try unsafe batch.withBytes { (bytes) throws(LogError) in
            try unsafe write(BatchHeader(parsing: bytes), batch: bytes, now: environment.clock())
        }
        environment.log.warning(
            "the machine stopped, and acknowledged records may be lost; their offsets are not used again",
            .field("topic", topic), .field("partition", Int(partition)), .field("next", Int(endOffset)))
    }

    /// Cuts off a batch that was written in part. The next append would overwrite it, but a start after
    /// a crash needs a clean end, and a full disk needs the space.
    private func undoWrite(to segment: Segment, error: DiskError) {
        environment.counters.diskFailures.add()
        logAppendFailure(error)
        guard let file = segment.file else { return }
        do throws(DiskError) {
            try environment.disk.truncate(file, to: segment.size)
        } catch {
            // The file keeps a torn tail. The next write overwrites it, or recovery cuts it.
            segment.isDirty = true
        }
    }

    /// Logs the first failure, and no other until an append succeeds.
    func logAppendFailure(_ error: DiskError) {
        guard !isAppendFailing else { return }
        isAppendFailing = true
        environment.log.error(
            "appends fail, and producers try again", .field("topic", topic),
            .field("partition", Int(partition)), .field("error", error.description))
    }

    private func finishAppend() {
        // Without syncs, readers see a record as soon as it is written.
        if environment.flushPolicy == .os { advanceLastStableOffset() }
        requestFlush()
    }

    /// Advances the last stable offset and calls `onAdvance`, after the high watermark has grown.
    func advanceLastStableOffset() {
        lastStableOffset = max(lastStableOffset, producers.stableOffset(highWatermark: highWatermark))
        onAdvance?()
    }
}

extension BatchHeader {
    /// Gives all records of the batch the broker's time.
    mutating func setAppendTime(_ time: Int64, batch: UnsafeRawBufferPointer) {
        attributes |= Self.appendTimeBit
        maxTimestamp = time
        unsafe updateChecksum(body: UnsafeRawBufferPointer(rebasing: batch[Self.size..<totalSize]))
    }

    /// Computes the checksum over the header's fields and the records.
    mutating func updateChecksum(body: UnsafeRawBufferPointer) {
        var headerBytes = EncodedBytes(repeating: 0)
        var span = headerBytes.mutableSpan
        crc = unsafe span.withUnsafeMutableBytes { buffer in
            unsafe write(to: buffer)
            let headerChecksum = unsafe CRC32C.checksum(
                of: UnsafeRawBufferPointer(rebasing: buffer[Self.firstCheckedByte...]))
            return unsafe CRC32C.checksum(of: body, continuing: headerChecksum)
        }
    }
}
