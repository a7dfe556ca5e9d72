internal import JSON

/// When something was said: by the phone's clock, within bounds, then by the server's. Both are
/// milliseconds since 1970. Where both are one, the phone's clock without bounds decides, then the order.
///
/// What is said later stands, whatever order it arrives in. A report that is sent twice, forwarded or read
/// again comes to the same, because all of this is the report's own and goes with it.
@usableFromInline package struct ReportTime: Sendable, Hashable, Comparable {
    /// How long a phone may keep a report to itself: an older clock is a wrong clock.
    package static let delayMillisecondsMax: Int64 = 48 * 3_600_000

    package var event: Int64
    package var received: Int64
    /// The phone's word without bounds; `event` where it is within them.
    package var claimed: Int64
    package var order = ReportOrder.first

    package init(event: Int64, received: Int64) {
        self.event = event
        self.received = received
        claimed = event
    }

    /// - Parameter claimed: the phone's word, or nil where it says nothing.
    package init(claimed: Int64?, received: Int64, order: ReportOrder) {
        let oldest = received - ReportTime.delayMillisecondsMax
        event = min(max(claimed ?? received, oldest), received)
        self.received = received
        self.claimed = claimed ?? received
        self.order = order
    }

    @usableFromInline package static func < (a: ReportTime, b: ReportTime) -> Bool {
        if a.event != b.event { return a.event < b.event }
        if a.received != b.received { return a.received < b.received }
        return a.claimed != b.claimed ? a.claimed < b.claimed : a.order < b.order
    }
}

extension JSONWriter {
    mutating func field(_ name: StaticString, _ time: ReportTime?) {
        guard let time else { return }
        self.name(name)
        beginArray()
        elements(of: time)
        endArray()
    }
}

extension JSONValue {
    func reportTime() -> ReportTime {
        var elements = array(countMax: 4)
        return elements.reportTime(of: self)
    }
}
