internal import JSON

/// The time of a report: by the phone's clock within bounds, then by the server's clock. Both are
/// milliseconds since
/// 1970. If both are equal, the phone's unclamped time decides, then the order.
///
/// The later report wins, independently of the order of arrival. Sending, forwarding or reading a report twice
/// changes nothing, because the report itself carries all these values.
@usableFromInline package struct ReportTime: Sendable, Hashable, Comparable {
    /// The longest time that a phone may hold a report back. An older time means that the phone's clock is
    /// wrong.
    package static let delayMillisecondsMax: Int64 = 48 * 3_600_000

    package var event: Int64
    package var received: Int64
    /// The phone's time without bounds. Equal to `event` if it is within the bounds.
    package var claimed: Int64
    package var order = ReportOrder.first

    package init(event: Int64, received: Int64) {
        self.event = event
        self.received = received
        claimed = event
    }

    /// - Parameter claimed: the phone's time, or nil if the report has none.
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
