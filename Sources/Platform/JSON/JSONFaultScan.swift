/// A scan for the path to a byte of a broken document. It follows brackets, names and commas without checking
/// them. It stops at a string that a control character or the end of the document cuts.
struct JSONFaultScan {
    private enum Level {
        case object(name: String?)
        case array(index: Int)
    }

    /// The remembered levels. No limit allows more.
    private static let levelsMax = 64

    private var levels: [Level] = []
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
            case UInt8(ascii: ","): nextElement()
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

    private mutating func nextElement() {
        switch levels.last {
        case .array(let index): levels[levels.count - 1] = .array(index: index + 1)
        case .object:
            levels[levels.count - 1] = .object(name: nil)
            expectsName = true
        case nil: break
        }
    }

    /// Scans a string. Returns true with `stop` on the closing quote. Returns false if the string is cut,
    /// with `stop` on the control character, or on the opening quote of an unterminated string.
    private mutating func scanString(in bytes: UnsafeRawBufferPointer) -> Bool {
        let start = stopOffset + 1
        var at = start
        while at < bytes.count, unsafe bytes[at] != UInt8(ascii: "\"") {
            if unsafe bytes[at] < 0x20 {
                stopOffset = at
                return false
            }
            at += unsafe bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard at < bytes.count else { return false }
        if expectsName, case .object = levels.last {
            let name = unsafe String(decoding: bytes[start..<at], as: UTF8.self)
            levels[levels.count - 1] = .object(name: name)
            expectsName = false
        }
        stopOffset = at
        return true
    }
}
