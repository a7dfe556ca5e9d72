internal import CSimdJSON
internal import Glibc

// Typed access. Each accessor notes a problem and returns a placeholder when the value is not what
// it wants; `optional?.` in front makes a field optional.

extension JSONValue {
    package func string() -> String {
        let utf8 = unsafe utf8
        return unsafe String(decoding: utf8, as: UTF8.self)
    }

    /// A string's text, unescaped, where it lies: valid as long as the value.
    package var utf8: UnsafeBufferPointer<UInt8> {
        guard let node = unsafe holds(JSON_STRING) else {
            reportKind(wanted: "a string")
            return unsafe UnsafeBufferPointer(start: nil, count: 0)
        }
        return unsafe UnsafeBufferPointer(
            start: document.pointee.index.text + Int(node.pointee.low),
            count: Int(node.pointee.high - node.pointee.low))
    }

    /// Whether it is this very string.
    package func isText(_ text: StaticString) -> Bool {
        guard let node = unsafe holds(JSON_STRING) else { return false }
        let length = unsafe Int(node.pointee.high - node.pointee.low)
        guard length == text.utf8CodeUnitCount else { return false }
        return unsafe memcmp(document.pointee.index.text + Int(node.pointee.low), text.utf8Start, length) == 0
    }

    /// Notes it when this is no string, as `string()` does, and makes none.
    package func requireString() { _ = unsafe utf8 }

    package func bool() -> Bool {
        if unsafe holds(JSON_TRUE) != nil { return true }
        if unsafe holds(JSON_FALSE) == nil { reportKind(wanted: "true or false") }
        return false
    }

    /// A whole number; `1.0` and `1e3` are numbers but not written as whole ones.
    package func int(in range: ClosedRange<Int> = Int.min...Int.max) -> Int {
        if let node = unsafe holds(JSON_INTEGER) {
            let value = Int(truncatingIfNeeded: unsafe bits(node))
            if range.contains(value) { return value }
        } else if unsafe holds(JSON_UNSIGNED) == nil {
            reportKind(wanted: "an integer")
            return range.lowerBound
        }
        report("must be from \(range.lowerBound) to \(range.upperBound)", as: .outOfRange)
        return range.lowerBound
    }

    package func uint64() -> UInt64 {
        if let node = unsafe holds(JSON_UNSIGNED) { return unsafe bits(node) }
        return UInt64(int(in: 0...Int.max))
    }

    package func double() -> Double {
        if let node = unsafe holds(JSON_DOUBLE) { return unsafe Double(bitPattern: bits(node)) }
        if let node = unsafe holds(JSON_INTEGER) { return unsafe Double(Int64(bitPattern: bits(node))) }
        if let node = unsafe holds(JSON_UNSIGNED) { return unsafe Double(bits(node)) }
        reportKind(wanted: "a number")
        return 0
    }

    /// One of an enumeration's raw values; nil, noted, when it is another.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        of type: Choice.Type
    ) -> Choice? where Choice.RawValue == String {
        guard unsafe holds(JSON_STRING) != nil else {
            reportKind(wanted: "a string")
            return nil
        }
        if let choice = Choice(rawValue: string()) { return choice }
        let names = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        report("must be one of \(names)", as: .invalid)
        return nil
    }

    private func bits(_ node: UnsafeMutablePointer<json_node>) -> UInt64 {
        unsafe UInt64(node.pointee.high) << 32 | UInt64(node.pointee.low)
    }
}
