internal import JSON

/// Which of several reports was said later where their times are one: many phones say no time, a clock
/// that is wrong is cut to its bounds, and a cluster stamps a whole batch with one time.
///
/// The gateway writes each report's place in its body. A record that somebody else wrote without a place
/// has only where it lay; it counts as later than one with a place, so that there is one order.
package struct ReportOrder: Sendable, Hashable, Comparable {
    package static let first = ReportOrder(number: 0)

    /// Below `Report.sequenceEnd` a place in a body, from there on an offset.
    fileprivate let number: Int64

    private init(number: Int64) { self.number = number }

    /// - Parameter offset: where the report lay first, whoever has forwarded it since.
    package init(sequence: Int?, offset: Int64) {
        if let sequence {
            number = Int64(min(max(sequence, 0), Report.sequenceEnd - 1))
        } else {
            number =
                min(max(offset, 0), Self.numberMax - Int64(Report.sequenceEnd)) + Int64(Report.sequenceEnd)
        }
    }

    package static func < (a: ReportOrder, b: ReportOrder) -> Bool { a.number < b.number }

    /// What a number in JSON can hold.
    private static let numberMax: Int64 = 1 << 53

    fileprivate init(from value: JSONValue) { number = Int64(value.int(in: 0...Int(Self.numberMax))) }
}

extension JSONWriter {
    /// The elements with which a time ends. The order is mostly the first, and the claim the time itself.
    mutating func elements(of time: ReportTime) {
        value(time.event)
        value(time.received)
        let isCut = time.claimed != time.event
        if time.order != .first || isCut { value(time.order.number) }
        if isCut { value(time.claimed) }
    }
}

extension JSONArray {
    /// The elements that are left.
    @inline(__always)
    mutating func reportTime(of whole: JSONValue) -> ReportTime {
        guard let event = next(), let received = next() else {
            if whole.kind == .array { whole.report("must end with two times") }
            return ReportTime(event: 0, received: 0)
        }
        // A phone whose clock is wrong may have been clamped to before 1970 only by a server's that is.
        var time = ReportTime(
            event: Int64(event.int(in: -(1 << 53)...(1 << 53))), received: received.time())
        guard let order = next() else { return time }
        time.order = ReportOrder(from: order)
        if let claimed = next() { time.claimed = claimed.time() }
        return time
    }
}
