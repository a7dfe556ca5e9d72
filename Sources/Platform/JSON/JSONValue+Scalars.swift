public import CSimdJSON

// Accessors for strings, Booleans and numbers. If the value has another kind, an accessor reports a problem
// and returns a placeholder. `optional?.` in front makes a field optional:
// `object["title"].optional?.string()`.

extension JSONValue {
    package func string() -> String {
        guard let bytes = unsafe utf8IfString() else { return "" }
        return unsafe string(from: bytes)
    }

    /// Makes a string of bytes of this document. Pass no other bytes, because only these are known to be UTF-8.
    package func string(from bytes: UnsafeBufferPointer<UInt8>) -> String {
        unsafe String(copying: UTF8Span(unchecked: bytes.span, isKnownASCII: isPlainASCII))
    }

    /// Whether all text of this document is known to be ASCII without control characters.
    @inlinable
    package var isPlainASCII: Bool { unsafe document.pointee.index.is_plain }

    /// Returns the unescaped bytes of a string, without a copy. They are valid as long as the value. Returns no bytes,
    /// and reports a problem, if this is not a string.
    @inlinable
    package func utf8() -> UnsafeBufferPointer<UInt8> {
        unsafe utf8IfString() ?? UnsafeBufferPointer(start: nil, count: 0)
    }

    /// Returns the bytes like `utf8`, but nil if this is not a string, which is also reported.
    @inlinable @inline(always)
    package func utf8IfString() -> UnsafeBufferPointer<UInt8>? {
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
    package func requireString() { _ = unsafe utf8IfString() }

    /// Returns a Boolean. The placeholder is false.
    @inlinable
    package func bool() -> Bool {
        if unsafe matchingNode(ofKind: JSON_TRUE) != nil { return true }
        let isFalse = unsafe matchingNode(ofKind: JSON_FALSE) != nil
        if !isFalse { reportWrongKind(wanted: "true or false") }
        return false
    }

    /// Returns an integer within the range. The placeholder is the lower bound. `1.0` and `1e3` are numbers but not
    /// integers.
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
        reportInteger(from: "\(range.lowerBound)", upTo: "\(range.upperBound)")
    }

    private func reportInteger(from lower: String, upTo upper: String) {
        let isInteger =
            unsafe matchingNode(ofKind: JSON_INTEGER) != nil || matchingNode(ofKind: JSON_UNSIGNED) != nil
        guard isInteger else { return reportWrongKind(wanted: "an integer") }
        report("must be from \(lower) to \(upper)", as: .outOfRange)
    }

    /// Returns an integer that is not negative. Integers above `Int64.max` are a separate kind (`JSON_UNSIGNED`).
    package func uint64() -> UInt64 {
        if let node = unsafe matchingNode(ofKind: JSON_UNSIGNED) { return unsafe bits(of: node) }
        if let node = unsafe matchingNode(ofKind: JSON_INTEGER) {
            let value = Int64(bitPattern: unsafe bits(of: node))
            if value >= 0 { return UInt64(value) }
        }
        reportInteger(from: "0", upTo: "\(UInt64.max)")
        return 0
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
