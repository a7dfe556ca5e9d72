// Accessors for fields of many documents. If the value has another kind, an accessor reports a problem with
// the value's path and returns a placeholder: zero or an empty list.

extension JSONValue {
    /// The largest whole number up to which a program with floating-point numbers reads all whole numbers
    /// exactly.
    @inlinable @inline(always)
    static var exactIntegerMax: Int { 1 << 53 }

    /// Returns a time in milliseconds since 1970.
    @inlinable @inline(always)
    package func timeMilliseconds() -> Int64 { Int64(int(in: 0...Self.exactIntegerMax)) }

    /// Returns a time in seconds since 1970.
    @inlinable @inline(always)
    package func seconds() -> Int64 { Int64(int(in: 0...Self.exactIntegerMax)) }

    /// Returns the value as its author wrote it.
    package func rawJSON() -> RawJSON { unsafe RawJSON(accepted: raw) }

    /// Returns a list of strings. More than `countMax` elements are a problem.
    package func strings(countMax: Int) -> [String] {
        var strings: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { strings.append(element.string()) }
        return strings
    }

    /// Reads an array of objects. A missing array is empty.
    @inlinable
    package func objects<Element>(countMax: Int, read: (JSONObject) -> Element) -> [Element] {
        guard let value = optional else { return [] }
        var list: [Element] = []
        var elements = value.array(countMax: countMax)
        while let element = elements.next() { list.append(read(element.object())) }
        return list
    }
}
