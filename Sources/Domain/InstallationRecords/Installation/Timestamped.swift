internal import JSON

/// The newest reported value of one field, and the time of its report. The merge rule is: the later value
/// wins, and at equal times `Mergeable` decides. So any order and any repetition of the same reports give the same result.
@usableFromInline package struct Timestamped<Value: Mergeable>: Sendable, Hashable {
    package var value: Value
    package var at: ReportTime

    package init(_ value: Value, at: ReportTime) {
        self.value = value
        self.at = at
    }
}

extension JSONWriter {
    /// Writes the value and the elements of its time, for example `"os":["17.4",1764200000000,1764200000100]` with the
    /// time of the report and the time of its arrival.
    mutating func field<Value>(_ name: StaticString, _ timestamped: Timestamped<Value>?) {
        guard let timestamped else { return }
        self.name(name)
        beginArray()
        timestamped.value.write(to: &self)
        elements(of: timestamped.at)
        endArray()
    }
}

extension JSONValue {
    /// Reads a value and its time.
    func timestamped<Value>() -> Timestamped<Value> {
        var elements = array(countMax: 1 + ReportTime.elementsMax)
        // If the array is empty, it is itself reported as the wrong value.
        return Timestamped(Value(reported: elements.next() ?? self), at: elements.reportTime(of: self))
    }
}
