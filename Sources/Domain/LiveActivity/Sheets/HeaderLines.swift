/// A writer of lines with a name and a value, for the headers of a sheet. Values are names and numbers. They
/// have no control characters, so they need no escape.
struct HeaderLinesWriter {
    private(set) var bytes: [UInt8] = []

    mutating func line(_ name: SheetLine, _ value: String) {
        bytes.append(contentsOf: name.rawValue.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: value.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }

    mutating func line(_ name: SheetLine, _ value: Int64) { line(name, String(value)) }

    /// Writes the line, or nothing if the value is nil.
    mutating func line(_ name: SheetLine, _ value: String?) {
        if let value { line(name, value) }
    }
}

/// A reader of these lines. It ignores lines with unknown names, because a newer process may have written
/// them.
struct HeaderLines {
    private var values: [SheetLine: String] = [:]

    init(_ bytes: Span<UInt8>) throws(SheetError) {
        values.reserveCapacity(Self.linesUsual)
        var start = 0
        while start < bytes.count {
            let end = Self.find(UInt8(ascii: "\n"), in: bytes, start..<bytes.count) ?? bytes.count
            guard let colon = Self.find(UInt8(ascii: ":"), in: bytes, start..<end), colon + 1 < end,
                bytes[colon + 1] == UInt8(ascii: " ")
            else { throw .notLines }
            if let name = SheetLine(rawValue: Self.text(bytes, start..<colon)) {
                values[name] = Self.text(bytes, colon + 2..<end)
            }
            start = end + 1
        }
    }

    private static let linesUsual = 16

    private static func find(_ byte: UInt8, in bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        range.first { bytes[$0] == byte }
    }

    private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
        unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    func optional(_ line: SheetLine) -> String? { values[line] }

    func text(_ line: SheetLine) throws(SheetError) -> String {
        guard let value = values[line] else { throw .missing(line) }
        return value
    }

    /// Reads a name that the app chose: a user, a group, an installation, an activity or a send.
    func name(_ line: SheetLine) throws(SheetError) -> String {
        let value = try text(line)
        guard Name.problem(value) == nil else { throw .wrong(line) }
        return value
    }

    func number(_ line: SheetLine, in range: ClosedRange<Int64> = 0...Int64.max) throws(SheetError) -> Int64 {
        guard let value = Int64(try text(line)), range.contains(value) else { throw .wrong(line) }
        return value
    }

    func choice<C: RawRepresentable<String>>(_ line: SheetLine, of type: C.Type) throws(SheetError) -> C {
        guard let value = C(rawValue: try text(line)) else { throw .wrong(line) }
        return value
    }
}
