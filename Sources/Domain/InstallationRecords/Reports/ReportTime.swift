internal import JSON

/// The time of a report, which decides which of two reports is the later one. Times are compared by `event`,
/// then `received`, then `claimed`, then `order`. The first three are milliseconds since 1970.
///
/// The later report wins, independently of the order of arrival. Sending, forwarding or reading a report twice
/// changes nothing, because all these values are stored with the report.
@usableFromInline package struct ReportTime: Sendable, Hashable, Comparable {
    /// The longest time that a phone may hold a report back. An older time means that the phone's clock is
    /// wrong.
    package static let delayMillisecondsMax: Int64 = 48 * 3_600_000

    /// The maximum number of elements of a time in JSON: `event`, `received`, `order` and `claimed`.
    static let elementsMax = 4

    /// The time by the phone's clock, clamped to the 48 hours before `received`.
    package var event: Int64
    /// The time by the server's clock.
    package var received: Int64
    /// The time by the phone's clock, unclamped. Equal to `event` if it is within the bounds.
    package var claimed: Int64
    /// The order among reports whose three times are equal.
    package var order = ReportOrder.first

    /// Creates a time that is within the bounds.
    package init(event: Int64, received: Int64) {
        self.event = event
        self.received = received
        claimed = event
    }

    /// Creates the time of a report and clamps the phone's time.
    ///
    /// - Parameter claimed: the phone's time, or nil if the report has none.
    package init(claimed: Int64?, received: Int64, order: ReportOrder) {
        let claimed = claimed ?? received
        let oldest = received - ReportTime.delayMillisecondsMax
        event = min(max(claimed, oldest), received)
        self.received = received
        self.claimed = claimed
        self.order = order
    }

    @usableFromInline package static func < (a: ReportTime, b: ReportTime) -> Bool {
        if a.event != b.event { return a.event < b.event }
        if a.received != b.received { return a.received < b.received }
        return a.claimed != b.claimed ? a.claimed < b.claimed : a.order < b.order
    }
}

extension JSONWriter {
    /// Writes the field, or nothing if the time is nil.
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
        var elements = array(countMax: ReportTime.elementsMax)
        return elements.reportTime(of: self)
    }
}
