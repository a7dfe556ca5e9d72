/// A scan for the path to a byte of a malformed document, such as `tokens[2].id`. It follows brackets, names
/// and commas without checking them. It stops early at a string with a control character, and at a string
/// without an end.
struct JSONFaultScan {
    /// An open object with the name of its current member, or an open array with the index of its current
    /// element.
    private enum Level {
        case object(name: String?)
        case array(index: Int)
    }

    /// The limit of the levels in a path. A document with more levels is refused anyway, by any `JSONLimits.depthMax`.
    private static let levelsMax = 64

    private var levels: [Level] = []
    /// Whether the next string is the name of a member.
    private var expectsName = false
    /// The byte where the scan ended.
    private(set) var stopOffset = 0

    static func scan(_ bytes: UnsafeRawBufferPointer, upTo end: Int) -> JSONFaultScan {
        var scan = JSONFaultScan()
        unsafe scan.scanBytes(UnsafeRawBufferPointer(rebasing: bytes.prefix(end)))
        return scan
    }

    var path: String {
        var path = JSONPath()
        for level in levels {
            switch level {
            case .object(let name?): path.append(name: name)
            case .object(nil): break
            case .array(let index): path.append(index: index)
            }
        }
        return path.text
    }

    private mutating func scanBytes(_ bytes: UnsafeRawBufferPointer) {
        while stopOffset < bytes.count {
            switch unsafe bytes[stopOffset] {
            case UInt8(ascii: "{"): open(.object(name: nil))
            case UInt8(ascii: "["): open(.array(index: 0))
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = levels.popLast()
                expectsName = false
            case UInt8(ascii: ","): advance()
            case UInt8(ascii: "\""):
                guard unsafe scanString(in: bytes) else { return }
            default: break
            }
            stopOffset += 1
        }
    }

    private mutating func open(_ level: Level) {
        if case .object = level { expectsName = true } else { expectsName = false }
        if levels.count < Self.levelsMax { levels.append(level) }
    }

    /// Moves to the next member or element.
    private mutating func advance() {
        switch levels.last {
        case .array(let index): levels[levels.count - 1] = .array(index: index + 1)
        case .object:
            levels[levels.count - 1] = .object(name: nil)
            expectsName = true
        case nil: break
        }
    }

    /// Scans a string. Returns true with `stopOffset` on the closing quote. Returns false with `stopOffset`
    /// on a control character, or on the opening quote of a string without an end.
    private mutating func scanString(in bytes: UnsafeRawBufferPointer) -> Bool {
        let start = stopOffset + 1
        var index = start
        while index < bytes.count, unsafe bytes[index] != UInt8(ascii: "\"") {
            if unsafe bytes[index] < 0x20 {
                stopOffset = index
                return false
            }
            // The byte after a backslash belongs to the escape, also if it is a quote.
            index += unsafe bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard index < bytes.count else { return false }
        if expectsName, case .object = levels.last {
            let name = unsafe String(decoding: bytes[start..<index], as: UTF8.self)
            levels[levels.count - 1] = .object(name: name)
            expectsName = false
        }
        stopOffset = index
        return true
    }
}
