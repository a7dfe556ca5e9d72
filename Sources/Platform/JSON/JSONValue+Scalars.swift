public import CSimdJSON

// Accessors for strings, Booleans and numbers. If the value has another kind, an accessor reports a problem
// and returns a placeholder. `optional?.` in front makes a field optional:
// `object["title"].optional?.string()`.

extension JSONValue {
    package func string() -> String {
        guard let bytes = unsafe text else { return "" }
        return unsafe string(from: bytes)
    }

    /// Makes a string of bytes of this document, which are known to be UTF-8.
    package func string(from text: UnsafeBufferPointer<UInt8>) -> String {
        unsafe String(copying: UTF8Span(unchecked: text.span, isKnownASCII: isPlain))
    }

    /// Whether all text of this document is known to be ASCII without control characters.
    @inlinable
    package var isPlain: Bool { unsafe document.pointee.index.is_plain }

    /// The unescaped text of a string, without a copy. It is valid as long as the value. Empty, with a
    /// reported problem, if this is not a string.
    @inlinable
    package var utf8: UnsafeBufferPointer<UInt8> {
        unsafe text ?? UnsafeBufferPointer(start: nil, count: 0)
    }

    /// The unescaped text like `utf8`, but nil, with a reported problem, if this is not a string.
    @inlinable @inline(always)
    package var text: UnsafeBufferPointer<UInt8>? {
        guard let node = unsafe matchingNode(ofKind: JSON_STRING) else {
            reportWrongKind(wanted: "a string")
            return nil
        }
        return unsafe UnsafeBufferPointer(
            start: document.pointee.index.text + Int(node.pointee.low),
            count: Int(node.pointee.high &- node.pointee.low))
    }

    /// Whether this is a string with exactly this text. Reports no problem.
    @inlinable @inline(always)
    package func isText(_ text: StaticString) -> Bool {
        guard let node = unsafe matchingNode(ofKind: JSON_STRING) else { return false }
        let (start, end) = unsafe (node.pointee.low, node.pointee.high)
        return unsafe text.isEqual(toTextAt: document.pointee.index.text + Int(start), length: end &- start)
    }

    /// Reports a problem if this is not a string, without making a `String`.
    package func requireString() { _ = unsafe text }

    /// Returns a Boolean.
    @inlinable
    package func bool() -> Bool {
        if unsafe matchingNode(ofKind: JSON_TRUE) != nil { return true }
        if unsafe matchingNode(ofKind: JSON_FALSE) == nil { reportWrongKind(wanted: "true or false") }
        return false
    }

    /// Returns an integer within the range. `1.0` and `1e3` are numbers but not integers.
    @inlinable @inline(always)
    package func int(in range: ClosedRange<Int> = Int.min...Int.max) -> Int {
        if let node = unsafe matchingNode(ofKind: JSON_INTEGER) {
            let value = Int(truncatingIfNeeded: unsafe bits(of: node))
            if range.contains(value) { return value }
        }
        reportInt(in: range)
        return range.lowerBound
    }

    /// Reports that this is not an integer or is outside the range.
    @usableFromInline
    func reportInt(in range: ClosedRange<Int>) {
        guard unsafe matchingNode(ofKind: JSON_INTEGER) != nil || matchingNode(ofKind: JSON_UNSIGNED) != nil
        else {
            return reportWrongKind(wanted: "an integer")
        }
        report("must be from \(range.lowerBound) to \(range.upperBound)", as: .outOfRange)
    }

    /// Returns an unsigned integer. Integers above `Int64.max` are a separate kind (`JSON_UNSIGNED`).
    package func uint64() -> UInt64 {
        if let node = unsafe matchingNode(ofKind: JSON_UNSIGNED) { return unsafe bits(of: node) }
        return UInt64(int(in: 0...Int.max))
    }

    /// Returns any number as a floating-point number.
    package func double() -> Double {
        if let node = unsafe matchingNode(ofKind: JSON_DOUBLE) {
            return unsafe Double(bitPattern: bits(of: node))
        }
        if let node = unsafe matchingNode(ofKind: JSON_INTEGER) {
            return unsafe Double(Int64(bitPattern: bits(of: node)))
        }
        if let node = unsafe matchingNode(ofKind: JSON_UNSIGNED) { return unsafe Double(bits(of: node)) }
        reportWrongKind(wanted: "a number")
        return 0
    }

    /// Returns the case of an enumeration whose raw value is this string, or nil with a reported problem.
    package func choice<Choice: RawRepresentable & CaseIterable>(
        of type: Choice.Type
    ) -> Choice? where Choice.RawValue == String {
        guard unsafe matchingNode(ofKind: JSON_STRING) != nil else {
            reportWrongKind(wanted: "a string")
            return nil
        }
        if let choice = Choice(rawValue: string()) { return choice }
        let names = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        report("must be one of \(names)", as: .invalid)
        return nil
    }

    /// Returns the 64 bits of a number, which a node holds in two fields.
    @inlinable @inline(always)
    func bits(of node: UnsafeMutablePointer<json_node>) -> UInt64 {
        unsafe UInt64(node.pointee.high) << 32 | UInt64(node.pointee.low)
    }
}
