/// The segments of all logs that hold a file descriptor or an index in memory, at most `limit` of
/// them: beyond it the one unused for longest gives both back.
///
/// Segments with bytes that are not synced stay open, so that a failed sync is reported where it happened.
package final class OpenSegments {
    package static let limitDefault = 512

    let disk: Disk
    private let limit: Int
    private var clock: UInt64 = 0
    private var segments: [Segment] = []

    package init(disk: Disk, limit: Int = OpenSegments.limitDefault) {
        self.disk = disk
        self.limit = limit
    }

    package var count: Int { segments.count }

    func used(_ segment: Segment) {
        clock += 1
        segment.lastUse = clock
    }

    func opened(_ segment: Segment) {
        segments.append(segment)
        guard segments.count > limit else { return }
        var oldest: Int?
        for (index, each) in segments.enumerated() where !each.isDirty && each !== segment {
            if oldest.map({ each.lastUse < segments[$0].lastUse }) ?? true { oldest = index }
        }
        if let oldest { release(at: oldest) }
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
