internal import LiveActivity

/// What a report did to what is known.
enum Heard: Sendable {
    /// It was older, or the same again.
    case nothing
    /// The same words, later.
    case repeated
    case changed
}

extension Said {
    /// - Returns: what became of it. On `repeated` the older value stays, with the newer time.
    mutating func hear(_ value: Value, at time: ReportTime) -> Heard {
        if time < at { return .nothing }
        if value.isExactly(self.value) {
            if time == at { return .nothing }
            at = time
            return .repeated
        }
        // Two reports of one time and order, as of two bodies in one millisecond, that contradict each
        // other: any choice will do that is always the same.
        if time == at, !value.outranks(self.value) { return .nothing }
        self.value = value
        at = time
        return .changed
    }
}

extension Optional {
    mutating func hear<Value>(_ value: Value, at time: ReportTime) -> Heard
    where Wrapped == Said<Value> {
        guard self != nil else {
            self = Said(value, at: time)
            return .changed
        }
        return self!.hear(value, at: time)
    }
}
