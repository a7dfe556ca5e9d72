/// A scanner that walks a JSON text and shows the requested leaves with the keys that lead to them. The text
/// comes from the client library and not from outside. Still the scanner never traps on it.
struct StatisticsScanner: ~Escapable {
    enum Leaf: Equatable {
        case integer(Int)
        case text(String)
        case other

        var integer: Int? {
            guard case .integer(let value) = self else { return nil }
            return value
        }
    }

    static let depthMax = 16

    private let json: Span<UInt8>
    private var index = 0
    private var path: [String] = []

    @_lifetime(copy json)
    init(json: Span<UInt8>) { self.json = json }

    /// Shows the requested leaves. Returns false if the text is not JSON; leaves before the fault were shown.
    /// In skipped values the scanner checks only brackets and quotes.
    ///
    /// - Parameter names: Returns the requested keys of the object at a path; nil means all keys.
    @discardableResult
    mutating func visit(only names: RequestedKeys, visitor show: LeafVisitor) -> Bool {
        scanValue(requestedKeys: names, visitor: show)
    }

    typealias RequestedKeys = (_ path: [String]) -> [StaticString]?
    typealias LeafVisitor = (_ path: [String], Leaf) -> Void

    private var byte: UInt8? { index < json.count ? json[index] : nil }

    private mutating func skipByte(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard byte == wanted else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    private mutating func scanValue(requestedKeys names: RequestedKeys, visitor show: LeafVisitor) -> Bool {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return scanObject(requestedKeys: names, visitor: show)
        case UInt8(ascii: "["): return scanArray(requestedKeys: names, visitor: show)
        case UInt8(ascii: "\""):
            guard let text = scanString() else { return false }
            show(path, .text(string(in: text)))
            return true
        default: return scanScalar(visitor: show)
        }
    }

    private mutating func scanObject(requestedKeys names: RequestedKeys, visitor show: LeafVisitor) -> Bool {
        guard path.count < Self.depthMax else { return false }
        index += 1
        if skipByte(UInt8(ascii: "}")) { return true }
        let wanted = names(path)
        repeat {
            skipSpace()
            guard byte == UInt8(ascii: "\""), let key = scanString(), skipByte(UInt8(ascii: ":")) else {
                return false
            }
            if let wanted, !wanted.contains(where: { isText(in: key, equalTo: $0) }) {
                guard skipValue() else { return false }
                continue
            }
            path.append(string(in: key))
            defer { path.removeLast() }
            guard scanValue(requestedKeys: names, visitor: show) else { return false }
        } while skipByte(UInt8(ascii: ","))
        return skipByte(UInt8(ascii: "}"))
    }

    private mutating func scanArray(requestedKeys names: RequestedKeys, visitor show: LeafVisitor) -> Bool {
        guard path.count < Self.depthMax else { return false }
        index += 1
        if skipByte(UInt8(ascii: "]")) { return true }
        repeat {
            path.append("")
            defer { path.removeLast() }
            guard scanValue(requestedKeys: names, visitor: show) else { return false }
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

    private mutating func scanScalar(visitor show: LeafVisitor) -> Bool {
        let start = index
        while let byte, byte != 0x2C, byte != 0x7D, byte != 0x5D, byte > 0x20 { index += 1 }
        guard index > start else { return false }
        show(path, Int(string(in: start..<index)).map { .integer($0) } ?? .other)
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
