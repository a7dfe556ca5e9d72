internal import Telemetry

/// A run of offsets whose batches are damaged.
package struct DamagedRange: Equatable, Sendable {
    package var path: String
    package var from: Int64
    /// The offset of the next sound batch.
    package var to: Int64
}

extension DamagedRange: CustomStringConvertible {
    package var description: String {
        "file \(path) is damaged from offset \(from) to \(to - 1): an empty batch takes their place"
    }
}

extension PartitionLog {
    /// Limit for the damaged offsets that are remembered, so that each is reported once and not for each
    /// read.
    private static let reportedDamageMax = 1_000

    /// Reports a damaged batch once, and returns the error for its reader.
    func reportDamage(at offset: Int64, in segment: Segment) -> LogError {
        let error = LogError.damaged(path: segment.path, offset: offset)
        guard reportedDamageOffsets.insert(offset).inserted else { return error }
        if reportedDamageOffsets.count > Self.reportedDamageMax { reportedDamageOffsets = [offset] }
        environment.counters.damaged.add()
        environment.log.error("stored batch is damaged and is not served", .field("error", error.description))
        return error
    }

    /// Returns the offset of the first sound batch above a damaged offset, or the end of the log.
    func soundOffset(above offset: Int64) throws(LogError) -> Int64 {
        let segment = segment(holding: offset)
        let indexEntry = try index(of: segment).floor(relativeOffset: offset - segment.baseOffset)
        var reader = try reader(of: segment, from: indexEntry, end: segment.size)
        while let base = try unsafe reader.nextSkippingDamage({ (header, _) throws(LogError) in
            header.baseOffset
        }) {
            if base > offset { return base }
        }
        return segment.endOffset
    }

    /// Finds the damaged ranges of a segment.
    func findDamage(in segment: Segment) throws(LogError) -> [DamagedRange] {
        let reader = try reader(of: segment, position: 0, offset: segment.baseOffset, end: segment.size)
        return try reader.findDamage(until: segment.endOffset)
    }
}

extension SegmentReader {
    /// Skips damage, and gives the next sound batch to `body`. Returns nil at the end.
    mutating func nextSkippingDamage<Result>(
        _ body: (BatchHeader, UnsafeRawBufferPointer) throws(LogError) -> Result
    ) throws(LogError) -> Result? {
        do throws(LogError) {
            return try unsafe next(body)
        } catch {
            guard case .damaged = error else { throw error }
            guard let soundBatch = try findNextSoundBatch() else { return nil }
            skip(to: soundBatch)
        }
        return try unsafe next(body)
    }

    /// Finds the damaged ranges from here to the end of the file. If the last batch ends before
    /// `endOffset`, the missing offsets are a range too.
    consuming func findDamage(until endOffset: Int64?) throws(LogError) -> [DamagedRange] {
        var ranges: [DamagedRange] = []
        var expectedOffset = offset
        while let baseOffset = try unsafe nextSkippingDamage({ (header, _) throws(LogError) in
            header.baseOffset
        }) {
            if baseOffset > expectedOffset {
                ranges.append(DamagedRange(path: path, from: expectedOffset, to: baseOffset))
            }
            expectedOffset = offset
        }
        if let endOffset, expectedOffset < endOffset {
            ranges.append(DamagedRange(path: path, from: expectedOffset, to: endOffset))
        }
        return ranges
    }
}
