internal import LiveActivity

/// The effect of a report on a known value.
enum Heard: Sendable {
    /// The report was older or identical.
    case nothing
    /// The report repeated the value at a later time.
    case repeated
    case changed
}

extension Said {
    /// Merges a reported value.
    ///
    /// - Returns: The effect. On `repeated` the older value stays and gets the newer time.
    mutating func hear(_ value: Value, at time: ReportTime) -> Heard {
        if time < at { return .nothing }
        if value.isExactly(self.value) {
            if time == at { return .nothing }
            at = time
            return .repeated
        }
        // Two reports with equal time and order, such as two bodies in one millisecond, contradict each
        // other. Any choice is correct if it is always the same choice.
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
