import Jobs
import Lifecycle
import Testing

@testable import Sender

/// Tests of the takeover markers that a loop has to write. Each test plays the producer.
@Suite struct TakeoverMarkersTests {
    private var markers = TakeoverMarkers()
    private var now = Instant(nanoseconds: 1_000_000_000)

    /// Lets the producer take all markers that are due, and returns them.
    private mutating func write() -> [(lane: Int32, tag: UInt64)] {
        var written: [(lane: Int32, tag: UInt64)] = []
        markers.writeDue(at: now) { lane, tag in
            written.append((lane, tag))
            return true
        }
        return written
    }

    @Test mutating func `each lane gets one marker, with a tag of its own`() {
        for lane: Int32 in [3, 1, 3] { markers.request(inLane: lane) }
        let written = write()
        #expect(written.map(\.lane) == [1, 3])
        #expect(Set(written.map(\.tag)).count == 2)
        #expect(written.allSatisfy { TakeoverMarkers.isMarkerTag($0.tag) })
        #expect(write().isEmpty)
        #expect(markers.noteStored(written[0].tag, at: 7)?.lane == 1)
        #expect(markers.noteStored(written[0].tag, at: 7)?.lane == nil)
    }

    @Test mutating func `a marker of an earlier request does not count`() {
        markers.request(inLane: 0)
        let earlierTag = write()[0].tag
        markers.request(inLane: 0)
        let laterTag = write()[0].tag
        #expect(markers.noteStored(earlierTag, at: 1)?.lane == nil)
        #expect(markers.noteStored(laterTag, at: 2)?.lane == 0)
        markers.request(inLane: 0)
        let tag = write()[0].tag
        markers.removeAll()
        #expect(markers.noteStored(tag, at: 3)?.lane == nil)
    }

    @Test mutating func `a marker whose offset is unknown is written again`() {
        markers.request(inLane: 0)
        #expect(markers.noteStored(write()[0].tag, at: nil)?.lane == nil)
        #expect(markers.noteStored(write()[0].tag, at: 5)?.lane == 0)
    }

    @Test mutating func `a marker whose write failed is written again after a pause`() {
        markers.request(inLane: 0)
        #expect(markers.noteFailed(write()[0].tag, at: now) == 0)
        #expect(write().isEmpty)
        now = now.advanced(byMilliseconds: 250)
        #expect(write().map(\.lane) == [0])
        // The producer is gone.
        markers.noteAllFailed()
        #expect(write().map(\.lane) == [0])
    }

    @Test mutating func `a producer that takes no marker is asked again after a pause`() {
        for lane: Int32 in 0..<2 { markers.request(inLane: lane) }
        var askedLanes: [Int32] = []
        markers.writeDue(at: now) { lane, _ in
            askedLanes.append(lane)
            return false
        }
        #expect(askedLanes == [0])
        #expect(write().isEmpty)
        now = now.advanced(byMilliseconds: 250)
        #expect(write().map(\.lane) == [0, 1])
    }

    @Test func `the header of a marker names its owner`() {
        let marker = TakeoverMarker(owner: 0x9f3a)
        #expect(marker.headerValue == Array("9f3a".utf8))
        #expect(TakeoverMarker(headerValue: marker.headerValue) == marker)
        #expect(TakeoverMarker(headerValue: Array("owner".utf8)) == nil)
    }
}
