internal import Glibc

/// The segments of all logs that hold a file descriptor or an index in memory.
///
/// There are at most `limit` of them; beyond that, the one that was not used for longest is closed. A
/// segment without use for a minute or two is closed anyway. To open one again costs a system call.
/// With `--flush every-ack`, segments with bytes that are not synced stay open, so that a failed sync is
/// reported there.
package final class OpenSegments {
    let disk: Disk
    private let limit: Int
    private let keepsDirty: Bool
    private var clock: UInt64 = 0
    private var clockAtSweep: UInt64 = 0
    private var segments: [Segment] = []

    package init(
        disk: Disk, limit: Int = OpenSegments.limitDefault, flush: FlushPolicy = .everyAck
    ) {
        self.disk = disk
        self.limit = limit
        keepsDirty = flush == .everyAck
    }

    private func canClose(_ segment: Segment) -> Bool { !segment.isDirty || !keepsDirty }

    package var count: Int { segments.count }

    func markUsed(_ segment: Segment) {
        clock += 1
        segment.lastUse = clock
    }

    func register(_ segment: Segment) {
        segments.append(segment)
        guard segments.count > limit else { return }
        // Closes several at once, so that not every open has to search.
        let uses = segments.filter { canClose($0) && $0 !== segment }.map(\.lastUse).sorted()
        guard !uses.isEmpty else { return }
        let newest = uses[min(uses.count - 1, segments.count - limit + limit / Self.spareShare)]
        closeClean { $0 !== segment && $0.lastUse <= newest }
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
    /// The most that are open by default.
    private static let limitMax = 128
    private static let limitMin = 16
    /// The share of the limit that is free after a search.
    private static let spareShare = 8
    /// The share of the process's descriptors: connections and state files need the others.
    private static let descriptorsShare = 8

    /// The limit for the process as it is now.
    package static var limitDefault: Int {
        var process = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &process) == 0 else {
            return limitMin
        }
        return limit(ofDescriptors: Int(clamping: process.rlim_cur))
    }

    static func limit(ofDescriptors descriptors: Int) -> Int {
        min(limitMax, max(limitMin, descriptors / descriptorsShare))
    }

    /// Closes the segments without use since the last sweep.
    func sweep() {
        closeClean { $0.lastUse <= clockAtSweep }
        clockAtSweep = clock
    }

    /// Calls `body`, which needs a descriptor. If the process has none left, it closes unused segments
    /// and calls `body` once more: an append must not fail because others hold files open.
    func withDescriptor<Result>(_ body: () throws(DiskError) -> Result) throws(DiskError) -> Result {
        do throws(DiskError) {
            return try body()
        } catch {
            guard error.isOutOfDescriptors, closeClean(where: { _ in true }) > 0 else { throw error }
        }
        return try body()
    }

    @discardableResult
    func closeClean(where isWanted: (Segment) -> Bool = { _ in true }) -> Int {
        let before = segments.count
        for index in segments.indices.reversed() {
            let segment = segments[index]
            if canClose(segment), isWanted(segment) { release(at: index) }
        }
        return before - segments.count
    }
}
