internal import Lifecycle

/// The takeover markers that the loop has to write, until it knows their offsets.
///
/// Before a lane is taken over, its `receipts` must be read to an end that is certain. The end that Kafka reports would
/// not do: a new leader may report one that is too low. So the loop writes a marker there. All in-sync replicas
/// acknowledge it, so everything that was acknowledged before lies below its offset.
struct TakeoverMarkers {
    /// The pause before a marker is written again after its write has failed.
    private static let retryMilliseconds = 250
    /// The first tag of a marker's delivery. Records of outcomes have lower tags.
    private static let firstTag: UInt64 = 1 << 63

    /// The lanes whose marker is not handed to the producer.
    private var unwrittenLanes: Set<Int32> = []
    /// The lanes of the markers that wait for their delivery, by its tag.
    private var lanesInFlight: [UInt64: Int32] = [:]
    private var nextTag = TakeoverMarkers.firstTag
    private var nextWrite = Instant(nanoseconds: 0)

    static func isMarkerTag(_ tag: UInt64) -> Bool { tag >= firstTag }

    /// Asks for a marker. The delivery of an earlier one of the lane is ignored.
    mutating func request(inLane lane: Int32) {
        lanesInFlight = lanesInFlight.filter { $0.value != lane }
        unwrittenLanes.insert(lane)
    }

    /// Forgets all markers, because the lanes are given back.
    mutating func removeAll() {
        unwrittenLanes = []
        lanesInFlight = [:]
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
            lanesInFlight[nextTag] = lane
            nextTag += 1
        }
    }

    /// Notes that a marker is stored. Returns its lane and offset, or nil if the lane needs no marker any more, or
    /// needs a new one.
    ///
    /// - Parameter offset: nil if the producer does not know it. Then another marker is written.
    mutating func noteStored(_ tag: UInt64, at offset: Int64?) -> (lane: Int32, offset: Int64)? {
        guard let lane = lanesInFlight.removeValue(forKey: tag) else { return nil }
        guard let offset else {
            unwrittenLanes.insert(lane)
            return nil
        }
        return (lane, offset)
    }

    /// Notes that the write of a marker has failed. Returns the lane for which another one is written after a pause, or
    /// nil if the lane needs no marker any more.
    mutating func noteFailed(_ tag: UInt64, at now: Instant) -> Int32? {
        guard let lane = lanesInFlight.removeValue(forKey: tag) else { return nil }
        unwrittenLanes.insert(lane)
        nextWrite = now.advanced(byMilliseconds: Self.retryMilliseconds)
        return lane
    }

    /// Notes that the producer is gone. All its markers are written again.
    mutating func noteAllFailed() {
        unwrittenLanes.formUnion(lanesInFlight.values)
        lanesInFlight = [:]
    }
}
