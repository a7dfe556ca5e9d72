internal import JSON

/// The order of reports with equal times, as one number: a position in a request body, or an offset. Equal
/// times are common: many phones send no time, a wrong clock is clamped to its bounds, and Kafka stamps a whole
/// batch with one time.
///
/// The gateway writes each report's position in its body. A record from another writer without a position has
/// only its offset. Such a record counts as later than any record with a position, so that the order is total.
package struct ReportOrder: Sendable, Hashable, Comparable {
    package static let first = ReportOrder(number: 0)

    /// A position in a body if below `Report.bodyPositionEnd`. Otherwise `Report.bodyPositionEnd` plus an
    /// offset.
    fileprivate let number: Int64

    private init(number: Int64) { self.number = number }

    /// - Parameter offset: the first offset of the report, also if it was forwarded later.
    package init(bodyPosition: Int?, offset: Int64) {
        let positionEnd = Int64(Report.bodyPositionEnd)
        if let bodyPosition {
            number = min(max(Int64(bodyPosition), 0), positionEnd - 1)
        } else {
            let offsetMax = Self.numberMax - positionEnd
            number = positionEnd + min(max(offset, 0), offsetMax)
        }
    }

    package static func < (a: ReportOrder, b: ReportOrder) -> Bool { a.number < b.number }

    /// The largest integer that a number in JSON can hold.
    fileprivate static let numberMax: Int64 = 1 << 53

    fileprivate init(from value: JSONValue) { number = Int64(value.int(in: 0...Int(Self.numberMax))) }
}

extension JSONWriter {
    /// Writes the elements of a time: `event,received`, then `order` and `claimed` if they are needed. Most
    /// times have the first order, and a claimed time equal to the event time.
    mutating func elements(of time: ReportTime) {
        value(time.event)
        value(time.received)
        let isClamped = time.claimed != time.event
        if time.order != .first || isClamped { value(time.order.number) }
        if isClamped { value(time.claimed) }
    }
}

extension JSONArray {
    /// Reads the remaining elements of `value` as a time.
    @inline(__always)
    mutating func reportTime(of value: JSONValue) -> ReportTime {
        guard let event = next(), let received = next() else {
            if value.kind == .array { value.report("must end with two times") }
            return ReportTime(event: 0, received: 0)
        }
        // A time before 1970 is possible only if the server's clock was wrong too, because the server clamps
        // the phone's time.
        let eventMax = Int(ReportOrder.numberMax)
        var time = ReportTime(
            event: Int64(event.int(in: -eventMax...eventMax)), received: received.timeMilliseconds())
        guard let order = next() else { return time }
        time.order = ReportOrder(from: order)
        if let claimed = next() { time.claimed = claimed.timeMilliseconds() }
        return time
    }
}
