internal import JSON

/// When something was said: by the phone's clock, within bounds, then by the server's. Both are
/// milliseconds since 1970.
///
/// What is said later stands, whatever order it arrives in. A record's position in its topic has no say:
/// a report that is sent twice, forwarded or redriven has several, and all must come to the same.
package struct ReportTime: Sendable, Hashable, Comparable {
    /// How long a phone may keep a report to itself: an older clock is a wrong clock.
    package static let delayMillisecondsMax: Int64 = 48 * 3_600_000

    package var event: Int64
    package var received: Int64

    package init(event: Int64, received: Int64) {
        self.event = event
        self.received = received
    }

    /// - Parameter claimed: the phone's word, or nil where it says nothing.
    package init(claimed: Int64?, received: Int64) {
        let oldest = received - ReportTime.delayMillisecondsMax
        event = min(max(claimed ?? received, oldest), received)
        self.received = received
    }

    package static func < (a: ReportTime, b: ReportTime) -> Bool {
        a.event != b.event ? a.event < b.event : a.received < b.received
    }
}

extension JSONWriter {
    mutating func field(_ name: StaticString, _ time: ReportTime?) {
        guard let time else { return }
        self.name(name)
        beginArray()
        value(time.event)
        value(time.received)
        endArray()
    }
}

extension JSONValue {
    func reportTime() -> ReportTime {
        var elements = array(countMax: 2)
        return elements.reportTime(of: self)
    }
}

extension JSONArray {
    /// The next two elements.
    @inline(always)
    mutating func reportTime(of whole: JSONValue) -> ReportTime {
        guard let event = next(), let received = next() else {
            if whole.kind == .array { whole.report("must end with two times") }
            return ReportTime(event: 0, received: 0)
        }
        // A phone whose clock is wrong may have been clamped to before 1970 only by a server's that is.
        return ReportTime(event: Int64(event.int(in: -(1 << 53)...(1 << 53))), received: received.time())
    }
}
