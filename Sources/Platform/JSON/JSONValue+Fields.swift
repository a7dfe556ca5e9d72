// Accessors for kinds of fields that many documents share. Each notes problems and returns a placeholder.

extension JSONValue {
    /// Returns a time in milliseconds since 1970.
    @inlinable @inline(always)
    package func timeMilliseconds() -> Int64 { Int64(int(in: 0...(1 << 53))) }

    package func strings(countMax: Int) -> [String] {
        var list: [String] = []
        var elements = array(countMax: countMax)
        while let element = elements.next() { list.append(element.string()) }
        return list
    }
}
