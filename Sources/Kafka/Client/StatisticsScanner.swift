/// Walks a JSON text and shows each leaf with the keys that lead to it. It reads what the client
/// library wrote about itself, not what comes from outside, and yet never traps on it.
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
    init(_ json: Span<UInt8>) { self.json = json }

    /// False when the text is not JSON; what came before the fault was shown.
    @discardableResult
    mutating func visit(_ show: ([String], Leaf) -> Void) -> Bool { value(show) }

    private var byte: UInt8? { index < json.count ? json[index] : nil }

    private mutating func skip(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard byte == wanted else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { index += 1 }
    }

    private mutating func value(_ show: ([String], Leaf) -> Void) -> Bool {
        skipSpace()
        switch byte {
        case UInt8(ascii: "{"): return members(UInt8(ascii: "}"), named: true, show)
        case UInt8(ascii: "["): return members(UInt8(ascii: "]"), named: false, show)
        case UInt8(ascii: "\""):
            guard let text = text() else { return false }
            show(path, .text(text))
            return true
        default: return scalar(show)
        }
    }

    private mutating func members(_ end: UInt8, named: Bool, _ show: ([String], Leaf) -> Void) -> Bool {
        guard path.count < Self.depthMax else { return false }
        index += 1
        if skip(end) { return true }
        repeat {
            if named {
                skipSpace()
                guard byte == UInt8(ascii: "\""), let key = text(), skip(UInt8(ascii: ":")) else {
                    return false
                }
                path.append(key)
            } else {
                path.append("")
            }
            defer { path.removeLast() }
            guard value(show) else { return false }
        } while skip(UInt8(ascii: ","))
        return skip(end)
    }

    /// The text between quotes as it stands; names that need escapes are nobody's here.
    private mutating func text() -> String? {
        index += 1
        let start = index
        while let byte, byte != UInt8(ascii: "\"") { index += byte == UInt8(ascii: "\\") ? 2 : 1 }
        guard index < json.count else { return nil }
        defer { index += 1 }
        return string(start..<index)
    }

    private mutating func scalar(_ show: ([String], Leaf) -> Void) -> Bool {
        let start = index
        while let byte, byte != 0x2C, byte != 0x7D, byte != 0x5D, byte > 0x20 { index += 1 }
        guard index > start else { return false }
        show(path, Int(string(start..<index)).map { .integer($0) } ?? .other)
        return true
    }

    private func string(_ range: Range<Int>) -> String {
        String(decoding: range.map { json[$0] }, as: UTF8.self)
    }
}
