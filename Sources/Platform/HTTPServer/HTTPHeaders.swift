/// The header lines of a request or an answer, in order. Names are case-insensitive.
package struct HTTPHeaders: Sendable, ExpressibleByDictionaryLiteral {
    package private(set) var lines: [(name: String, value: String)]

    package init() { lines = [] }

    package init(dictionaryLiteral elements: (String, String)...) {
        lines = elements.map { (name: $0.0, value: $0.1) }
    }

    package mutating func add(_ name: String, value: String) { lines.append((name, value)) }

    /// Returns these lines, and the lines of `others` whose names do not occur in these.
    package func adding(_ others: HTTPHeaders) -> HTTPHeaders {
        var headers = self
        for line in others.lines where self[line.name] == nil { headers.add(line.name, value: line.value) }
        return headers
    }

    /// Returns the first value of this name.
    package subscript(_ name: String) -> String? { lines.first { Self.equal($0.name, name) }?.value }

    /// Returns all values of this name.
    package func all(named name: String) -> [String] {
        lines.compactMap { Self.equal($0.name, name) ? $0.value : nil }
    }

    private static func equal(_ a: String, _ b: String) -> Bool {
        a.utf8.count == b.utf8.count && zip(a.utf8, b.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
