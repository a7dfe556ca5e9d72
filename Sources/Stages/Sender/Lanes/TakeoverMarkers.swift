internal import Lifecycle

/// The takeover markers that the loop has to write, each in the `receipts` of one lane, until it knows their offsets.
///
/// A marker is written with all acknowledgements. So its partition then has everything that was acknowledged before,
/// also if its leader has just changed. An end that a new leader reports may be too low.
struct TakeoverMarkers {
    /// The pause before a marker that may not be stored is written again.
    private static let retryMilliseconds = 250
    /// The first tag of a marker's delivery. Records of outcomes have lower tags.
    private static let firstTag: UInt64 = 1 << 63

    /// The lanes whose marker is not handed to the producer.
    private var unwrittenLanes: Set<Int32> = []
    /// The lanes of the markers that the producer has, by the tag of the delivery.
    private var lanesByTag: [UInt64: Int32] = [:]
    private var nextTag = TakeoverMarkers.firstTag
    private var nextWrite = Instant(nanoseconds: 0)

    static func isTagOfMarker(_ tag: UInt64) -> Bool { tag >= firstTag }

    /// Asks for a marker. An earlier one of the lane does not count any more.
    mutating func request(inLane lane: Int32) {
        lanesByTag = lanesByTag.filter { $0.value != lane }
        unwrittenLanes.insert(lane)
    }

    /// Forgets all markers, because the lanes belong to other processes.
    mutating func removeAll() {
        unwrittenLanes = []
        lanesByTag = [:]
    }

    /// Hands the markers that are due to the producer.
    ///
    /// - Parameter write: returns false if the producer did not take the marker.
    mutating func writeDue(at now: Instant, write: (_ lane: Int32, _ tag: UInt64) -> Bool) {
        guard !unwrittenLanes.isEmpty, now >= nextWrite else { return }
        for lane in unwrittenLanes.sorted() {
            guard write(lane, nextTag) else {
                nextWrite = now.advanced(byMilliseconds: Self.retryMilliseconds)
                return
            }
            unwrittenLanes.remove(lane)
            lanesByTag[nextTag] = lane
            nextTag += 1
        }
    }

    /// Notes that a marker is stored. Returns its lane, or nil if the marker does not count. Without an offset another
    /// one is written.
    mutating func markStored(_ tag: UInt64, at offset: Int64?) -> Int32? {
        guard let lane = lanesByTag.removeValue(forKey: tag) else { return nil }
        if offset == nil { unwrittenLanes.insert(lane) }
        return offset == nil ? nil : lane
    }

    /// Notes that a marker may not be stored. Returns the lane for which another one is written after a pause.
    mutating func markFailed(_ tag: UInt64, at now: Instant) -> Int32? {
        guard let lane = lanesByTag.removeValue(forKey: tag) else { return nil }
        unwrittenLanes.insert(lane)
        nextWrite = now.advanced(byMilliseconds: Self.retryMilliseconds)
        return lane
    }

    /// Notes that the producer is gone. All its markers are written again.
    mutating func markAllFailed() {
        unwrittenLanes.formUnion(lanesByTag.values)
        lanesByTag = [:]
    }
}
