internal import Glibc

/// The segments of all logs that hold a file descriptor or an index in memory.
///
/// If more than `limit` are open, those that were not used for longest are closed. So is a segment that was not used
/// between two sweeps (`TopicStore+Upkeep`). To open a segment again costs a system call. With `--flush every-ack`,
/// segments with bytes that are not synced stay open, because the system reports a failed write to the disk only to
/// descriptors that were open at the time of the failure.
package final class OpenSegments {
    let disk: Disk
    private let limit: Int
    /// Whether segments with unsynced bytes stay open.
    private let keepsDirty: Bool
    /// Number of uses so far, which orders the uses in time.
    private var useCount: UInt64 = 0
    private var useCountAtSweep: UInt64 = 0
    private var segments: [Segment] = []

    package init(
        disk: Disk, limit: Int = OpenSegments.limitDefault, flush: FlushPolicy = .everyAck
    ) {
        self.disk = disk
        self.limit = limit
        keepsDirty = flush == .everyAck
    }

    /// Whether the segment may be closed: no failed sync of its bytes would go unseen.
    private func canClose(_ segment: Segment) -> Bool { !segment.isDirty || !keepsDirty }

    package var count: Int { segments.count }

    func markUsed(_ segment: Segment) {
        useCount += 1
        segment.lastUse = useCount
    }

    /// Adds a segment that was opened, and closes others if there are more than the limit.
    func register(_ segment: Segment) {
        segments.append(segment)
        guard segments.count > limit else { return }
        // Closes several at once, so that the next openings need no search.
        let usesInOrder = segments.filter { canClose($0) && $0 !== segment }.map(\.lastUse).sorted()
        guard !usesInOrder.isEmpty else { return }
        let surplusCount = segments.count - limit + limit / Self.spareDivisor
        let newestClosed = usesInOrder[min(usesInOrder.count - 1, surplusCount)]
        closeSegments { $0 !== segment && $0.lastUse <= newestClosed }
    }

    func close(_ segment: Segment) {
        if let index = segments.firstIndex(where: { $0 === segment }) { release(at: index) }
        segment.file = nil
    }

    private func release(at index: Int) {
        let segment = segments[index]
        segments.swapAt(index, segments.count - 1)
        segments.removeLast()
        segment.file = nil
        if !segment.isActive { segment.index = nil }
    }
}

extension OpenSegments {
    // The bounds of the default limit.
    private static let limitMax = 128
    private static let limitMin = 16
    /// After a search an eighth of the limit is free.
    private static let spareDivisor = 8
    /// Segments may use an eighth of the process's descriptors. Connections and other files need the rest.
    private static let descriptorsDivisor = 8

    /// The limit that suits the number of descriptors which the process may open.
    package static var limitDefault: Int {
        var process = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &process) == 0 else {
            return limitMin
        }
        return limit(ofDescriptors: Int(clamping: process.rlim_cur))
    }

    static func limit(ofDescriptors descriptors: Int) -> Int {
        min(limitMax, max(limitMin, descriptors / descriptorsDivisor))
    }

    /// Closes the segments without use since the last sweep.
    func sweep() {
        closeSegments { $0.lastUse <= useCountAtSweep }
        useCountAtSweep = useCount
    }

    /// Calls `body`, which needs a descriptor. If the process has none left, closes other segments and
    /// calls `body` once more, because an append must not fail while idle logs hold files open.
    func withDescriptor<Result>(_ body: () throws(DiskError) -> Result) throws(DiskError) -> Result {
        do throws(DiskError) {
            return try body()
        } catch {
            guard error.isOutOfDescriptors, closeSegments(where: { _ in true }) > 0 else { throw error }
        }
        return try body()
    }

    /// Closes the segments that may be closed and for which `isIncluded` holds. Returns their number.
    @discardableResult
    func closeSegments(where isIncluded: (Segment) -> Bool = { _ in true }) -> Int {
        let countBefore = segments.count
        for index in segments.indices.reversed() {
            let segment = segments[index]
            if canClose(segment), isIncluded(segment) { release(at: index) }
        }
        return countBefore - segments.count
    }
}
