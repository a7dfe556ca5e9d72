/// Which stretches of `receipts` are being read, lane by lane, and when each was read whole. It does no I/O: the
/// reader asks the cluster for ends, and brings what its consumer says.
package struct ReceiptsReading: Sendable {
    package struct Start: Sendable, Hashable {
        package let lane: Int32
        package let offset: Int64
    }

    private struct Stretch {
        var next: Int64
        let end: Int64
    }

    private var asked: [Int32: Int64] = [:]
    private var stretches: [Int32: Stretch] = [:]

    package init() {}

    package var isIdle: Bool { asked.isEmpty && stretches.isEmpty }

    /// Plans to read a lane from an offset to its present end. An earlier plan for the lane is forgotten.
    package mutating func ask(_ lane: Int32, from offset: Int64) {
        asked[lane] = offset
        stretches[lane] = nil
    }

    /// The lanes whose end has to be asked for.
    package var lanesWithoutEnd: [Int32] { asked.keys.sorted() }

    /// Notes that the next receipt of a lane was deleted: the lane is planned again from its first receipt. Returns false
    /// if the lane is not being read.
    package mutating func isGone(_ lane: Int32) -> Bool {
        guard let stretch = stretches.removeValue(forKey: lane) else { return false }
        asked[lane] = stretch.next
        return true
    }

    /// The cluster has said where a lane begins and ends, after it was asked for.
    package mutating func begin(_ lane: Int32, low: Int64, high: Int64) {
        guard let from = asked.removeValue(forKey: lane) else { return }
        stretches[lane] = Stretch(next: max(from, low), end: high)
    }

    /// The positions at which the consumer reads.
    package var starts: [Start] {
        stretches.filter { $0.value.next < $0.value.end }
            .map { Start(lane: $0.key, offset: $0.value.next) }.sorted { $0.lane < $1.lane }
    }

    /// Whether a record is one that was asked for. A consumer that is moved back brings some twice, and one that
    /// is moved on brings none of the stretch before.
    package mutating func take(_ lane: Int32, at offset: Int64) -> Bool {
        guard let stretch = stretches[lane], offset >= stretch.next, offset < stretch.end else {
            return false
        }
        stretches[lane]?.next = offset + 1
        return true
    }

    /// The consumer has brought everything of a lane below an offset: the last offsets may be no records.
    package mutating func reachedEnd(_ lane: Int32, at offset: Int64) {
        guard let stretch = stretches[lane], offset > stretch.next else { return }
        stretches[lane]?.next = offset
    }

    /// Returns the lanes that were read completely, with the ends that were asked for. Each lane is returned once.
    package mutating func takeEnded() -> [Start] {
        let ended = stretches.filter { $0.value.next >= $0.value.end }
            .map { Start(lane: $0.key, offset: $0.value.end) }.sorted { $0.lane < $1.lane }
        for stretch in ended { stretches[stretch.lane] = nil }
        return ended
    }

    /// The lanes are not ours any more.
    package mutating func stop() {
        asked.removeAll()
        stretches.removeAll()
    }
}
