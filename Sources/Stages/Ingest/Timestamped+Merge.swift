internal import InstallationRecords

/// The effect of a report on a known value.
enum MergeEffect: Sendable {
    /// The report was older or identical.
    case ignored
    /// The report repeated the value at a later time.
    case repeated
    case changed
}

extension Timestamped {
    /// Merges a reported value: the later one wins. An equal value gets the later time.
    mutating func merge(_ value: Value, at time: ReportTime) -> MergeEffect {
        if time < at { return .ignored }
        if value.isExactlyEqual(to: self.value) {
            if time == at { return .ignored }
            at = time
            return .repeated
        }
        // Two reports with the same time and order contradict each other. Any choice is correct if it is always the
        // same choice.
        if time == at, !value.takesPrecedence(over: self.value) { return .ignored }
        self.value = value
        at = time
        return .changed
    }
}

extension Optional {
    /// Merges a reported value into a value that may be unknown.
    mutating func merge<Value>(_ value: Value, at time: ReportTime) -> MergeEffect
    where Wrapped == Timestamped<Value> {
        guard self != nil else {
            self = Timestamped(value, at: time)
            return .changed
        }
        return self!.merge(value, at: time)
    }
}
