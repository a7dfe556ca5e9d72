/// A JSON scanner that calls a visitor with the requested leaves and their paths. A path is the list of keys
/// that lead to a leaf, with an empty key for an element of an array.
///
/// The text comes from the client library and not from outside. Still the scanner never traps on it.
struct StatisticsScanner: ~Escapable {
    enum Leaf: Equatable {
        case integer(Int)
        case text(String)
        /// A fraction, a Boolean or a null.
        case other

        var integer: Int? {
            guard case .integer(let value) = self else { return nil }
            return value
        }
    }

    static let depthMax = 16

    typealias RequestedKeys = (_ path: [String]) -> [StaticString]?
    typealias LeafVisitor = (_ path: [String], Leaf) -> Void

    private let json: Span<UInt8>
    private var index = 0
    private var path: [String] = []

    @_lifetime(copy json)
    init(json: Span<UInt8>) { self.json = json }

    /// Visits the requested leaves. Returns false if the text is not JSON; leaves before the fault were
    /// visited. In skipped values the scanner checks only brackets and quotes.
    ///
    /// - Parameter requestedKeys: returns the requested keys of the object at a path; nil means all keys.
    @discardableResult
    mutating func visit(only requestedKeys: RequestedKeys, visitor: LeafVisitor) -> Bool {
        scanValue(requestedKeys: requestedKeys, visitor: visitor)
    }

    /// The next byte, or nil at the end.
    private var byte: UInt8? { index < json.count ? json[index] : nil }

    /// Skips space and one byte. Returns false if another byte comes.
    private mutating func skipByte(_ expected: UInt8) -> Bool {
        skipSpace()
        guard byte == expected else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte, Self.isSpace(byte) { index += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            || byte == UInt8(ascii: "\t")
    }

    private static func endsScalar(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            || byte <= UInt8(ascii: " ")
    }

    private mutating func scanValue(requestedKeys: RequestedKeys, visitor: LeafVisitor) -> Bool {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return scanObject(requestedKeys: requestedKeys, visitor: visitor)
        case UInt8(ascii: "["): return scanArray(requestedKeys: requestedKeys, visitor: visitor)
        case UInt8(ascii: "\""):
            guard let text = scanString() else { return false }
            visitor(path, .text(string(in: text)))
            return true
        default: return scanScalar(visitor: visitor)
        }
    }

    private mutating func scanObject(requestedKeys: RequestedKeys, visitor: LeafVisitor) -> Bool {
        guard path.count < Self.depthMax else { return false }
        index += 1
        if skipByte(UInt8(ascii: "}")) { return true }
        let keys = requestedKeys(path)
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\""), let key = scanString(), skipByte(UInt8(ascii: ":")) else {
                return false
            }
            let isRequested = keys?.contains { isText(in: key, equalTo: $0) } ?? true
            if isRequested {
                path.append(string(in: key))
                defer { path.removeLast() }
                guard scanValue(requestedKeys: requestedKeys, visitor: visitor) else { return false }
            } else {
                guard skipValue() else { return false }
            }
        } while skipByte(UInt8(ascii: ","))
        return skipByte(UInt8(ascii: "}"))
    }

    private mutating func scanArray(requestedKeys: RequestedKeys, visitor: LeafVisitor) -> Bool {
        guard path.count < Self.depthMax else { return false }
        index += 1
        if skipByte(UInt8(ascii: "]")) { return true }
        repeat {
            path.append("")
            defer { path.removeLast() }
            guard scanValue(requestedKeys: requestedKeys, visitor: visitor) else { return false }
        } while skipByte(UInt8(ascii: ","))
        return skipByte(UInt8(ascii: "]"))
    }

    /// Skips a value. It ends at a comma, or where the surrounding object or list ends.
    private mutating func skipValue() -> Bool {
        var depth = 0
        while let byte {
            switch byte {
            case UInt8(ascii: "\""):
                guard scanString() != nil else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return true }
                depth -= 1
            case UInt8(ascii: ","): if depth == 0 { return true }
            default: break
            }
            index += 1
        }
        return false
    }

    /// Returns the range of the text between quotes. Escapes are kept, because no requested name contains
    /// any.
    private mutating func scanString() -> Range<Int>? {
        index += 1
        let start = index
        while let byte, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard index < json.count else { return nil }
        defer { index += 1 }
        return start..<index
    }

    /// Scans a number, `true`, `false` or `null`.
    private mutating func scanScalar(visitor: LeafVisitor) -> Bool {
        let start = index
        while let byte, !Self.endsScalar(byte) { index += 1 }
        guard index > start else { return false }
        visitor(path, Int(string(in: start..<index)).map { .integer($0) } ?? .other)
        return true
    }

    private func isText(in range: Range<Int>, equalTo name: StaticString) -> Bool {
        guard range.count == name.utf8CodeUnitCount else { return false }
        return range.indices.allSatisfy { unsafe json[$0] == name.utf8Start[$0 - range.lowerBound] }
    }

    private func string(in range: Range<Int>) -> String {
        unsafe json.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }
}
