internal import Identifiers
internal import Payloads

/// A writer of the value of a Kafka record header that consists of lines with a name and a value, for example
/// `apns-priority: 10`. A sheet's record has three such headers: `apns`, `flotilla` and `origin`. Values are names
/// and numbers without control characters, so they need no escape.
struct HeaderLinesWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ name: SheetLineName, value: String) {
        bytes.append(contentsOf: name.rawValue.utf8)
        bytes.append(contentsOf: ": ".utf8)
        bytes.append(contentsOf: value.utf8)
        bytes.append(UInt8(ascii: "\n"))
    }

    mutating func append(_ name: SheetLineName, value: Int64) { append(name, value: String(value)) }

    /// Writes the line, or nothing if the value is nil.
    mutating func append(_ name: SheetLineName, value: String?) {
        if let value { append(name, value: value) }
    }
}

/// A reader of the lines of a header that `HeaderLinesWriter` wrote: the values by name. Lines with unknown names
/// are ignored, because a newer process may have written them.
struct HeaderLines {
    /// The largest header, `flotilla`, has about this many lines.
    private static let expectedLineCount = 16
    /// The values that `apns-priority` can have at all. So a number fits into an `Int`.
    private static let priorities: ClosedRange<Int64> = 0...10

    private var values: [SheetLineName: String] = [:]

    init(parsing bytes: Span<UInt8>) throws(SheetError) {
        values.reserveCapacity(Self.expectedLineCount)
        var start = 0
        while start < bytes.count {
            let end = Self.find(UInt8(ascii: "\n"), in: bytes, within: start..<bytes.count) ?? bytes.count
            // Each line is "name: value". The value may be empty.
            guard let colon = Self.find(UInt8(ascii: ":"), in: bytes, within: start..<end), colon + 1 < end,
                bytes[colon + 1] == UInt8(ascii: " ")
            else { throw .malformedLines }
            if let name = SheetLineName(rawValue: Self.decodedText(in: bytes, range: start..<colon)) {
                values[name] = Self.decodedText(in: bytes, range: colon + 2..<end)
            }
            start = end + 1
        }
    }

    private static func find(_ byte: UInt8, in bytes: Span<UInt8>, within range: Range<Int>) -> Int? {
        range.first { bytes[$0] == byte }
    }

    private static func decodedText(in bytes: Span<UInt8>, range: Range<Int>) -> String {
        unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the value of a line, or nil if the header lacks the line.
    func optionalText(of line: SheetLineName) -> String? { values[line] }

    /// Returns the value of a line that the header must have. The functions below throw, too, if their line is missing,
    /// except `optionalNumber`.
    func text(of line: SheetLineName) throws(SheetError) -> String {
        guard let value = values[line] else { throw .missing(line) }
        return value
    }

    /// Reads a name that the app chose: a user, a group, an installation, an activity or a send.
    func name(of line: SheetLineName) throws(SheetError) -> String {
        let value = try text(of: line)
        guard NameRules.problem(value) == nil else { throw .invalid(line) }
        return value
    }

    func number(of line: SheetLineName, in range: ClosedRange<Int64> = 0...Int64.max) throws(SheetError)
        -> Int64
    {
        guard let value = Int64(try text(of: line)), range.contains(value) else { throw .invalid(line) }
        return value
    }

    /// Returns nil if the header lacks the line.
    func optionalNumber(of line: SheetLineName, in range: ClosedRange<Int64>) throws(SheetError) -> Int64? {
        if values[line] == nil { return nil }
        return try number(of: line, in: range)
    }

    func pushPriority() throws(SheetError) -> PushPriority {
        let number = try number(of: .priority, in: Self.priorities)
        guard let priority = PushPriority(rawValue: Int(number)) else { throw .invalid(.priority) }
        return priority
    }

    /// Reads the raw value of an enumeration.
    func choice<C: RawRepresentable<String>>(of line: SheetLineName, as type: C.Type) throws(SheetError) -> C
    {
        guard let value = C(rawValue: try text(of: line)) else { throw .invalid(line) }
        return value
    }
}
